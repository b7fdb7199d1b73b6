package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
)

// oddNames are what a file may be called: whoever prints, quotes or splits names
// has to get them right.
var oddNames = []string{
	"plain", "with space", "-dash", "tab\there", "new\nline", "quo\"te", "back\\slash", "caf\u00e9", "bad\xff\xfeutf8", ":(top)x", "*", "a b/c d", "deep/er/still/f", "~", "%s", "b/b", "\u202egpj.exe",
}

// oddText is content of the kinds that are got wrong.
func oddText(r *rand.Rand) string {
	line := func() string { return fmt.Sprintf("line %d", r.IntN(40)) }
	var b strings.Builder
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	for range 1 + r.IntN(40) {
		b.WriteString(line() + end)
	}
	s := b.String()
	switch r.IntN(8) {
	case 0:
		return strings.TrimRight(s, "\r\n")
	case 1:
		return s + "\x00\x01\x02" + s
	case 2:
		return s + "\xff\xfe invalid \xc3\x28\n" + s
	case 3:
		return strings.Replace(s, "\n", "\r", 1) + "\n\n\n"
	case 4:
		if r.IntN(4) == 0 {
			return strings.Repeat("x", 5<<20) + "\n" + s
		}
	}
	return s
}

// oddEdit changes a few places of a text, or its end.
func oddEdit(r *rand.Rand, s string) string {
	lines := strings.SplitAfter(s, "\n")
	for range 1 + r.IntN(4) {
		at := r.IntN(len(lines))
		lines[at] = []string{"", "new\n", lines[at] + "more\n", "new\r\n"}[r.IntN(4)]
	}
	out := strings.Join(lines, "")
	switch r.IntN(6) {
	case 0:
		out = strings.TrimRight(out, "\r\n")
	case 1:
		out = strings.ReplaceAll(strings.ReplaceAll(out, "\r\n", "\n"), "\n", "\r\n")
	}
	return out
}

// picture is every path of a tree with kind, permissions, time and content.
func picture(t *testing.T, root string, times bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		what := ""
		if fi.Mode()&fs.ModeSymlink != 0 {
			what, err = os.Readlink(p)
		} else {
			var b []byte
			b, err = os.ReadFile(p)
			what = fmt.Sprintf("%v %d %x", fi.Mode(), len(b), sha256.Sum256(b))
		}
		if times {
			what += fmt.Sprint(" ", fi.ModTime().UnixNano())
		}
		out[fmt.Sprintf("%q", rel)] = what
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestApplyIsThePatchAndUndoIsItsInverse: over random trees and random decisions,
// down to lines, what apply writes is what git makes of the patch; and undo gives
// back bytes, modes and times.
func TestApplyIsThePatchAndUndoIsItsInverse(t *testing.T) {
	_, err := exec.LookPath("git")
	haveGit := err == nil
	applied, refused, seeds := 0, 0, uint64(6)
	if os.Getenv("FUMEHOOD_LONG") != "" {
		seeds = 150
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(9, seed))
		files := map[string]string{}
		for _, n := range oddNames {
			if r.IntN(2) == 0 {
				files[n] = oddText(r)
			}
		}
		files["always"] = oddText(r)
		k := newDesk(t, files)
		edits := map[string]string{}
		mode := map[string]os.FileMode{}
		for _, n := range oddNames {
			old, there := files[n]
			switch {
			case !there && r.IntN(2) == 0:
				edits[n] = oddText(r)
			case there && r.IntN(6) == 0:
				edits[n] = "" // gone
			case there && r.IntN(6) == 0: // moved, perhaps edited
				edits[n], edits["moved "+filepath.Base(n)] = "", old
				if e := oddEdit(r, old); e != "" && r.IntN(2) == 0 {
					edits["moved "+filepath.Base(n)] = e
				}
			case there && r.IntN(3) > 0:
				if e := oddEdit(r, old); e != "" {
					edits[n] = e
				}
			}
			if there && edits[n] == "" && r.IntN(5) == 0 {
				if _, gone := edits[n]; !gone {
					mode[n] = 0o755
				}
			}
		}
		k.agent(edits)
		for n, m := range mode {
			k.must(os.Chmod(filepath.Join(k.d.Workspace(), n), m))
		}
		rev, err := k.h.Review(context.Background(), k.d, true)
		k.must(err)
		k.must(k.h.Decide(k.d, oddDecisions(r, rev.Set)))

		before := picture(t, k.repo, true)
		patch := filepath.Join(t.TempDir(), "patch")
		_, perr := k.h.Apply(context.Background(), k.d, ApplyOptions{To: ApplyTo{Patch: patch}})
		a, err := k.h.Apply(context.Background(), k.d, ApplyOptions{})
		var join *diffreview.JoinError
		if errors.As(err, &join) { // lines that can't be chosen without their neighbours
			if perr == nil {
				t.Errorf("seed %d: a patch was written, apply says %v", seed, err)
			}
			if diff := cmp.Diff(before, picture(t, k.repo, true)); diff != "" {
				t.Errorf("seed %d: refused, yet (-before +after):\n%s", seed, diff)
			}
			refused++
			continue
		}
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err != nil || perr != nil || len(a.Conflicts) > 0 {
			t.Fatalf("seed %d: got %+v, %v; patch: %v", seed, a, err, perr)
		}
		applied++
		after := picture(t, k.repo, false)
		if haveGit {
			other := filepath.Join(t.TempDir(), "other")
			if _, err := k.h.Undo(context.Background(), k.d, ""); err != nil {
				t.Fatalf("seed %d: undo: %v", seed, err)
			}
			k.must(os.Mkdir(other, 0o755))
			for n, text := range files {
				k.write(other, map[string]string{n: text})
			}
			if out, err := exec.Command("git", "-C", other, "apply", "--whitespace=nowarn", "--unsafe-paths", patch).CombinedOutput(); err != nil {
				t.Fatalf("seed %d: git apply: %v: %s", seed, err, out)
			}
			if diff := cmp.Diff(after, picture(t, other, false)); diff != "" {
				t.Errorf("seed %d: git makes another tree of the patch (-apply +git):\n%s", seed, diff)
			}
		} else if _, err := k.h.Undo(context.Background(), k.d, ""); err != nil {
			t.Fatalf("seed %d: undo: %v", seed, err)
		}
		if diff := cmp.Diff(before, picture(t, k.repo, true)); diff != "" {
			t.Errorf("seed %d: undo is not the inverse (-before +after):\n%s", seed, diff)
		}
		// What was rejected or left open was never touched, and is not now.
		for i := range rev.Set.Files {
			f := &rev.Set.Files[i]
			if slices.Contains(a.Applied, f.Path) && f.Decision() == diffreview.Rejected {
				t.Errorf("seed %d: %q was rejected and is listed as applied", seed, f.Path)
			}
		}
	}
	if !haveGit {
		t.Log("got no git, wanted one to compare with")
	}
	t.Logf("%d applied, %d refused", applied, refused)
	if applied < int(seeds)/2 {
		t.Errorf("only %d were applied", applied)
	}
}

// oddDecisions approves some units, some by lines.
func oddDecisions(r *rand.Rand, set *diffreview.ChangeSet) (out []Choice) {
	for i := range set.Files {
		f := &set.Files[i]
		f.Each(func(id string, _ *diffreview.Mark, h *diffreview.Hunk) {
			c := Choice{Unit: id, Path: f.Path}
			switch k := r.IntN(10); {
			case k < 6:
				c.Verdict = diffreview.Approved
			case k < 8 && h != nil && f.Status == diffreview.Modified:
				var b bytes.Buffer
				for _, l := range h.Lines {
					if l.Op != ' ' {
						b.WriteByte("ar"[r.IntN(2)])
					}
				}
				c.Lines = b.String()
				if strings.Trim(c.Lines, c.Lines[:1]) == "" { // all alike
					c.Lines, c.Verdict = "", diffreview.Approved
				}
			default:
				c.Verdict = diffreview.Rejected
			}
			out = append(out, c)
		})
	}
	return out
}
