package isolate_test

import (
	"testing"
)

// Agents look for instructions, settings and secrets in every folder above the
// workspace: these are empty and can't be written, wherever it lies. The same
// write in the workspace works.
func TestFoldersAboveTheWorkspaceAreEmptyAndReadOnly(t *testing.T) {
	for _, inside := range []string{"/home/someone/src/project", "/tmp/a/b/project", "/var/tmp/a/project"} {
		t.Run(inside, func(t *testing.T) {
			sp := spec(t)
			sp.Workspace.Inside = inside
			s := start(t, sp)
			o := runIn(t, s, inside, "sh", "-c", `
				echo ok > here || exit 3
				ls -A .. | wc -l
				chmod 777 .. 2>/dev/null
				echo x > ../beside && exit 4
				mkdir ../folder && exit 5
				exit 0`)
			if o.status.Code != 0 || o.out != "1" {
				t.Errorf("got status %+v, out %q, err %q; want 0 and one name above", o.status, o.out, o.err)
			}
		})
	}
}
