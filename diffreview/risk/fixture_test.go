package risk

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fumehood/diffreview"
)

// A fixture is an archive: files fires/old/PATH and fires/new/PATH are a change
// where the rule fires, silent/... one where it does not. Lines of the comment add what an
// archive can't hold: "fires new link PATH TARGET", "... exec PATH TEXT",
// "... file PATH TEXT", quoted; "fires long PATH" is a text too long to compare;
// "want note" is for rules whose least finding is meant; "hookspath DIR".
type fixture struct {
	want     diffreview.Severity
	trees    map[string]tree // "fires/old"
	hooks    string
	problems []string
}

func readFixture(name string) (*fixture, error) {
	a, err := txtar.ParseFile(name)
	if err != nil {
		return nil, err
	}
	fx := &fixture{trees: map[string]tree{"fires/old": {}, "fires/new": {}, "silent/old": {}, "silent/new": {}}}
	for _, f := range a.Files {
		parts := strings.SplitN(f.Name, "/", 3)
		if len(parts) != 3 || fx.trees[parts[0]+"/"+parts[1]] == nil {
			fx.problems = append(fx.problems, "file "+f.Name)
			continue
		}
		fx.trees[parts[0]+"/"+parts[1]][parts[2]] = node{data: string(f.Data)}
	}
	for l := range strings.Lines(string(a.Comment)) {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		if !fx.directive(l) {
			fx.problems = append(fx.problems, "line "+l)
		}
	}
	return fx, nil
}

func (fx *fixture) directive(l string) bool {
	word, rest, _ := strings.Cut(l, " ")
	switch word {
	case "want":
		fx.want = diffreview.Severity(rest)
		return true
	case "hookspath":
		fx.hooks = rest
		return true
	}
	if p, ok := strings.CutPrefix(rest, "long "); ok {
		path, err := strconv.Unquote(p)
		fx.trees[word+"/new"][path] = node{data: strings.Repeat("x\n", 400_001)}
		return err == nil
	}
	f := strings.SplitN(rest, " ", 3)
	if len(f) != 3 || fx.trees[word+"/"+f[0]] == nil {
		return false
	}
	q, err := strconv.QuotedPrefix(f[2])
	if err != nil {
		return false
	}
	path, err1 := strconv.Unquote(q)
	text, err2 := strconv.Unquote(strings.TrimSpace(f[2][len(q):]))
	fx.trees[word+"/"+f[0]][path] = node{data: text, exec: f[1] == "exec", link: f[1] == "link"}
	return err1 == nil && err2 == nil
}

func (fx *fixture) look(t *testing.T, side string) *diffreview.ChangeSet {
	t.Helper()
	cs := look(t, fx.trees[side+"/old"], fx.trees[side+"/new"])
	if fx.hooks == "" {
		return cs
	}
	none := func(diffreview.Blob) ([]byte, error) { return nil, nil }
	if err := Run(cs, none, Env{HooksPath: fx.hooks}); err != nil {
		t.Fatal(err)
	}
	return cs
}

// TestEveryRuleFiresAndStaysSilent: one fixture for each rule, none without.
func TestEveryRuleFiresAndStaysSilent(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Rules() {
		if known[r.Name] {
			t.Errorf("%s: got two rules of this name, want one", r.Name)
		}
		known[r.Name] = true
		fx, err := readFixture(filepath.Join("testdata", r.Name+".txtar"))
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		for _, p := range fx.problems {
			t.Errorf("%s: fixture: can't read %s", r.Name, p)
		}
		want := r.Severity
		if fx.want != "" {
			want = fx.want
		}
		if got := strongestOf(fx.look(t, "fires"), r.Name); got != want {
			t.Errorf("%s: got %q where it fires, want %q", r.Name, got, want)
		}
		if got := strongestOf(fx.look(t, "silent"), r.Name); got.Rank() > note.Rank() || got == want {
			t.Errorf("%s: got %q where it is silent, want nothing", r.Name, got)
		}
		if len(fx.trees["silent/new"]) == 0 {
			t.Errorf("%s: got no silent side, want one", r.Name)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".txtar"); ok && !known[name] {
			t.Errorf("testdata/%s: got a fixture of no rule", f.Name())
		}
	}
}

// TestPatternsCanMatch: a pattern that is not lower-case, or that does not parse,
// would never fire and nobody would notice.
func TestPatternsCanMatch(t *testing.T) {
	for _, r := range Rules() {
		for _, p := range slices.Concat(r.Paths, r.Not, r.Plain) {
			if p != strings.ToLower(p) || p == "" || strings.HasSuffix(p, "/") {
				t.Errorf("%s: got pattern %q, want lower case and no slash at the end", r.Name, p)
			}
			for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
				if _, err := path.Match(part, "x"); err != nil {
					t.Errorf("%s: pattern %q: %v", r.Name, p, err)
				}
			}
			sample := strings.NewReplacer("**", "a", "*", "a", "?", "a").Replace(strings.TrimPrefix(p, "/"))
			if !compilePatterns([]string{p}).match(strings.Split(sample, "/")) {
				t.Errorf("%s: pattern %q does not match %q", r.Name, p, sample)
			}
		}
		if r.Why == "" || strings.ToLower(r.Why[:1]) != r.Why[:1] && !strings.HasPrefix(r.Why, "MSBuild") && !strings.HasPrefix(r.Why, "Python") && !strings.HasPrefix(r.Why, "PHP") && !strings.HasPrefix(r.Why, "Ruby") || strings.HasSuffix(r.Why, ".") {
			t.Errorf("%s: got reason %q, want one sentence in lower case without period", r.Name, r.Why)
		}
	}
}

func TestPatternsMatchParts(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"makefile", "a/b/makefile", true},
		{"makefile", "a/makefile/b", false},
		{"*.mk", "a/b.mk", true},
		{".vscode/tasks.json", "x/.vscode/tasks.json", true},
		{".vscode/tasks.json", ".vscode/tasks.json/x", false},
		{".husky/**", "x/.husky/a/b", true},
		{".husky/**", ".husky", false},
		{"/tasks.py", "tasks.py", true},
		{"/tasks.py", "app/tasks.py", false},
		{"/a/**", "a/b/c", true},
		{"/a/**", "b/a/c", false},
		{"hooks/post-*", "hooks/post-merge", true},
		{"roles/*/tasks/**", "x/roles/web/tasks/main.yml", true},
	} {
		if got := compilePatterns([]string{c.pattern}).match(strings.Split(c.path, "/")); got != c.want {
			t.Errorf("%s on %s: got %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func strongestOf(cs *diffreview.ChangeSet, rule string) diffreview.Severity {
	var s diffreview.Severity
	for i := range cs.Files {
		for _, x := range cs.Files[i].Findings {
			if x.Rule == rule {
				s = strongest(s, x.Severity)
			}
		}
	}
	return s
}
