package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSealCoversWhatIsAboveAWorkspaceInAPrivatePlace(t *testing.T) {
	dir := func(target string) Step { return Step{Do: Dir, Target: target, Mode: 0o755} }
	tests := []struct {
		name, workspace string
		ro              []Place
		want            []Step
	}{
		{name: "in the home", workspace: "/home/ann/src/repo"},
		{name: "right below /tmp", workspace: "/tmp/repo"},
		{name: "deeper", workspace: "/tmp/a/b/repo", want: []Step{dir("tmp/a/b/repo"), {Do: ReadOnly, Target: "tmp/a"}}},
		{
			name: "beside an input", workspace: "/var/tmp/a/repo", ro: []Place{{Inside: "/var/tmp/a/lib"}, {Inside: "/var/tmp/other"}, {Inside: "/var/tmp/a/f", File: true}},
			want: []Step{dir("var/tmp/a/repo"), dir("var/tmp/a/lib"), {Do: ReadOnly, Target: "var/tmp/a"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, seal(tt.workspace, tt.ro)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
