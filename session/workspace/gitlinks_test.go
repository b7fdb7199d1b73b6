package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const victimText = "a secret of the account\n"

// victim is another repository of the account, beside the one that is started
// in, and a file in its home.
func (b *bench) victim() (git, file string) {
	dir := filepath.Join(filepath.Dir(b.repo), "victim")
	b.writeIn(dir, "key", victimText)
	b.gitIn(dir, "init", "-q", "-b", "main")
	b.gitIn(dir, "add", "-A")
	b.gitIn(dir, "-c", "user.name=x", "-c", "user.email=x@host.test", "commit", "-q", "-m", "x")
	b.writeIn(b.home, "key", victimText)
	return filepath.Join(dir, ".git"), filepath.Join(b.home, "key")
}

// wantNoVictim looks through all that went in, objects too.
func (b *bench) wantNoVictim() {
	b.t.Helper()
	err := filepath.WalkDir(b.dirs.Workspace, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), victimText) {
			b.t.Errorf("%s has it", path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return // nothing was made at all
	}
	b.ok(err)
	for _, id := range strings.Fields(b.inside("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
		if strings.Contains(b.inside("cat-file", "-p", id), victimText) {
			b.t.Errorf("object %s has it", id)
		}
	}
}

// What an unpacked archive can have in its .git that leads to another repository
// of the account: none of it comes in.
func TestAGitFolderThatTakesFromAnotherRepositoryIsRefused(t *testing.T) {
	for name, lay := range map[string]func(b *bench, victim string){
		"common folder": func(b *bench, victim string) {
			b.write(".git/commondir", victim+"\n")
		},
		"a work tree that is none": func(b *bench, victim string) {
			b.ok(os.Rename(filepath.Join(b.repo, ".git"), filepath.Join(b.repo, "git")))
			b.write(".git", "gitdir: git\n")
			b.write("git/gitdir", filepath.Join(b.repo, ".git")+"\n")
			b.write("git/commondir", victim+"\n")
		},
		"one that names the work tree": func(b *bench, victim string) {
			b.host("config", "core.worktree", b.repo)
			b.ok(os.Rename(filepath.Join(b.repo, ".git"), filepath.Join(b.repo, "git")))
			b.write(".git", "gitdir: git\n")
			b.write("git/commondir", victim+"\n")
		},
		"a branch by a link": func(b *bench, victim string) {
			b.ok(os.Remove(filepath.Join(b.repo, ".git/refs/heads/main")))
			b.ok(os.Symlink(filepath.Join(victim, "refs/heads/main"), filepath.Join(b.repo, ".git/refs/heads/main")))
			b.write(".git/objects/info/alternates", filepath.Join(victim, "objects")+"\n")
		},
		"all references by a link": func(b *bench, victim string) {
			b.ok(os.RemoveAll(filepath.Join(b.repo, ".git/refs")))
			b.ok(os.Symlink(filepath.Join(victim, "refs"), filepath.Join(b.repo, ".git/refs")))
			b.write(".git/objects/info/alternates", filepath.Join(victim, "objects")+"\n")
		},
		"the index by a link": func(b *bench, victim string) {
			b.ok(os.Remove(filepath.Join(b.repo, ".git/index")))
			b.ok(os.Symlink(filepath.Join(victim, "index"), filepath.Join(b.repo, ".git/index")))
			b.write(".git/objects/info/alternates", filepath.Join(victim, "objects")+"\n")
		},
		"objects by links": func(b *bench, victim string) {
			entries, err := os.ReadDir(filepath.Join(victim, "objects"))
			b.ok(err)
			for _, e := range entries {
				to := filepath.Join(b.repo, ".git/objects", e.Name())
				if _, err := os.Lstat(to); err != nil {
					b.ok(os.Symlink(filepath.Join(victim, "objects", e.Name()), to))
				}
			}
			b.opts.History = "all"
		},
		"an ignore file by a link": func(b *bench, _ string) {
			b.ok(os.RemoveAll(filepath.Join(b.repo, ".git/info")))
			b.ok(os.Mkdir(filepath.Join(b.repo, ".git/info"), 0o755))
			b.ok(os.Symlink(filepath.Join(b.home, "key"), filepath.Join(b.repo, ".git/info/exclude")))
		},
		"attributes by a linked folder": func(b *bench, _ string) {
			b.writeIn(b.home, "info/attributes", victimText)
			b.ok(os.RemoveAll(filepath.Join(b.repo, ".git/info")))
			b.ok(os.Symlink(filepath.Join(b.home, "info"), filepath.Join(b.repo, ".git/info")))
		},
		"a log of stashes by a link": func(b *bench, _ string) {
			b.ok(os.MkdirAll(filepath.Join(b.repo, ".git/logs/refs"), 0o755))
			b.ok(os.Symlink(filepath.Join(b.home, "key"), filepath.Join(b.repo, ".git/logs/refs/stash")))
			b.opts.History = "all"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			victim, _ := b.victim()
			b.init()
			b.write("a", "a\n")
			b.commit()
			lay(b, victim)
			_, err := b.tryCopyIn()
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Hint == "" {
				t.Errorf("got %v, want it refused with what to do", err)
			}
			b.wantNoVictim()
		})
	}
}

// The whole of an object store that another repository has a part in is not
// all this one's.
func TestObjectsOfAnotherStoreComeInByReferencesAlone(t *testing.T) {
	b := newBench(t)
	victim, _ := b.victim()
	b.init()
	b.write("a", "a\n")
	b.commit()
	b.write("a", "b\n")
	b.host("stash", "-q")
	b.write(".git/objects/info/alternates", filepath.Join(victim, "objects")+"\n")
	b.opts.History = "all"
	b.copyIn()
	b.wantNoVictim()
	if got := b.inside("stash", "show", "-p"); !strings.Contains(got, "+b") {
		t.Errorf("got %q, want the stash", got)
	}
	if notes := strings.Join(b.sel.Notes, "\n"); !strings.Contains(notes, "shares that of another") {
		t.Errorf("got notes %q", notes)
	}
}

func TestAnIgnoreFileOfTheRepositorysChoiceIsItsOwn(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		comes      bool
	}{
		{"in the work tree", "rules", true},
		{"in the work tree, in full", "", true},
		{"the account's", "~/key", false},
		{"the account's, in full", "HOME/key", false},
		{"above", "../home/key", false},
		{"by a link", "link", false},
		{"by a linked folder", "folder/key", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.victim()
			b.init()
			b.write("rules", "*.own\n")
			b.ok(os.Symlink("../home/key", filepath.Join(b.repo, "link")))
			b.ok(os.Symlink("../home", filepath.Join(b.repo, "folder")))
			b.commit()
			file := strings.Replace(tt.file, "HOME", b.home, 1)
			if file == "" {
				file = filepath.Join(b.repo, "rules")
			}
			b.host("config", "core.excludesFile", file)
			b.copyIn()
			b.wantNoVictim()
			notes := strings.Join(b.sel.Notes, "\n")
			if said := strings.Contains(notes, "core.excludesFile names"); said == tt.comes {
				t.Errorf("got notes %q", notes)
			}
			text, err := os.ReadFile(filepath.Join(b.dirs.Workspace, ".git/info/exclude"))
			if came := strings.Contains(string(text), "*.own"); err != nil || came != tt.comes {
				t.Errorf("got %q, %v, want the rules: %v", text, err, tt.comes)
			}
		})
	}
}

// What the account itself has set is the account's to give.
func TestTheAccountsIgnoreFileComesIn(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a", "a\n")
	b.commit()
	b.writeIn(b.home, "rules", "*.mine\n")
	b.host("config", "--global", "core.excludesFile", "~/rules")
	b.copyIn()
	if text, err := os.ReadFile(filepath.Join(b.dirs.Workspace, ".git/info/exclude")); err != nil || !strings.Contains(string(text), "*.mine") {
		t.Errorf("got %q, %v, want the account's rules", text, err)
	}
	if notes := strings.Join(b.sel.Notes, "\n"); strings.Contains(notes, "core.excludesFile") {
		t.Errorf("got notes %q", notes)
	}
}
