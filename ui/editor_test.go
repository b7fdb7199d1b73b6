package ui

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheEditorIsThePersonsOwn(t *testing.T) {
	has := func(names ...string) func(string) (string, error) {
		return func(n string) (string, error) {
			for _, x := range names {
				if x == n {
					return "/nowhere/" + x, nil
				}
			}
			return "", exec.ErrNotFound
		}
	}
	vim := []string{"--cmd", "set nomodeline modelines=0"}
	sh := func(v string, args ...string) []string {
		return append(append([]string{"/bin/sh", "-c", v + ` "$@"`, "editor"}, args...), "/p/hunk")
	}
	cases := []struct {
		name string
		env  map[string]string
		look func(string) (string, error)
		want []string
	}{
		{"VISUAL comes first", map[string]string{"VISUAL": "code -w", "EDITOR": "ed"}, has("code", "ed"), sh("code -w")},
		{"an empty one is none", map[string]string{"VISUAL": " ", "EDITOR": "ed"}, has("ed"), sh("ed")},
		{"quotes are the shell's", map[string]string{"EDITOR": `"/opt/my ed/ed" -x`}, has(), sh(`"/opt/my ed/ed" -x`)},
		{"vim reads no modelines", map[string]string{"EDITOR": "vim -u mine"}, has("vim"), sh("vim -u mine", vim...)},
		{"nor does nvim", map[string]string{"EDITOR": "/usr/bin/nvim"}, has(), sh("/usr/bin/nvim", vim...)},
		{"emacs reads no file variables", map[string]string{"EDITOR": "emacs -nw"}, has("emacs"), sh("emacs -nw", "--eval", "(setq enable-local-variables nil enable-local-eval nil enable-dir-local-variables nil)")},
		{"its client has no such option", map[string]string{"EDITOR": "emacsclient -t"}, has("emacsclient"), sh("emacsclient -t")},
		{"vi where none is named", nil, has("vi", "nano"), []string{"/nowhere/vi", "/p/hunk"}},
		{"else nano", nil, has("nano"), []string{"/nowhere/nano", "/p/hunk"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := func(n string) (string, bool) { v, ok := c.env[n]; return v, ok }
			got, err := editor(env, c.look, "/p/hunk")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Args); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			if got.Dir != "/p" {
				t.Errorf("got it begun in %q, want the file's own folder", got.Dir)
			}
		})
	}
	if _, err := editor(func(string) (string, bool) { return "", false }, has(), "/p/hunk"); !errors.Is(err, errNoEditor) {
		t.Errorf("got %v, want %v", err, errNoEditor)
	}
}

// A vi that is vim under another name reads modelines as vim does.
func TestViThatIsVimIsTakenForVim(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "vim.basic")
	if err := os.WriteFile(real, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "vi")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	got, err := editor(func(string) (string, bool) { return "", false }, func(n string) (string, error) {
		if n == "vi" {
			return link, nil
		}
		return "", exec.ErrNotFound
	}, "/p/hunk")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(got.Args, " "), "nomodeline") {
		t.Errorf("got %q, want modelines off", got.Args)
	}
}
