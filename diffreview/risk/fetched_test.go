package risk

import (
	"slices"
	"strings"
	"testing"

	"fumehood/diffreview"
)

// Many fetches of data do not hide the one whose file is started.
func TestAFetchThatIsStartedIsFoundBehindManyOthers(t *testing.T) {
	many := strings.Repeat("curl -fsSo data.json https://x.test/data.json\n", fetchedMany-1)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"data alone":       {many, false},
		"started":          {many + "curl -fsSo tool https://x.test/tool\nchmod +x tool\n", true},
		"too many":         {many + many, true},
		"a part of a name": {"curl -fsSo tool https://x.test/tool\nsh tools/build.sh\n", false},
		"out of reach":     {"curl -fsSo tool https://x.test/tool\n" + strings.Repeat("x\n", fetchedReach) + "sh tool\n", false},
		"a comment":        {"curl -fsSo tool https://x.test/tool\n# sh tool\n", false},
	} {
		cs := look(t, tree{}, tree{"a.sh": {data: c.text}})
		got := slices.ContainsFunc(cs.Files[0].Findings, func(x diffreview.Finding) bool { return x.Rule == "fetched-then-run" })
		if got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
