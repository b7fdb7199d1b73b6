package diffreview

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// oddNames are file names that git quotes, that end a name in git's own
// reading, or that look like something else.
var oddNames = []string{
	"a", "b/c", "b/d/e", "with space", " lead", "trail ", "tab\there", "new\nline", "q\"uote", "back\\slash",
	"ü.txt", "\xff\xfe", "-n", "a b/c d", "x => y", "{a,b}", "dev/null", "\x1b[2J", "z\u202ename",
}

func randomNode(s *seq) node {
	switch s.next(10) {
	case 0:
		return node{data: pick(s, "target", "../x y", "t\nwo", "\xff", "/abs"), link: true}
	case 1:
		b := make([]byte, s.next(5000))
		for i := range b {
			b[i] = byte(s.next(256))
		}
		return node{data: "\x00" + string(b), exec: s.next(3) == 0}
	case 2:
		return node{data: "", exec: s.next(3) == 0}
	case 3:
		return node{data: strings.ReplaceAll(randomText(s), "\n", "\r\n")}
	case 4:
		return node{data: wideText(s)}
	}
	return node{data: randomText(s), exec: s.next(3) == 0}
}

func randomTrees(s *seq) (old, new tree) {
	old, new = tree{}, tree{}
	for _, p := range oddNames {
		if s.next(2) == 0 {
			continue
		}
		n := randomNode(s)
		if s.next(4) > 0 {
			old[p] = n
		}
		switch s.next(6) {
		case 0: // deleted
		case 1:
			new[p] = n
		case 2:
			new[p] = randomNode(s)
		case 3:
			m := n
			m.exec = !m.exec && !m.link
			new[p] = m
		default:
			m := n
			if !m.link {
				m.data = wideEdit(s, m.data)
			}
			if to := "moved/" + p; s.next(3) == 0 {
				p = to
			}
			new[p] = m
		}
	}
	return old, new
}

func write(t *testing.T, dir string, tr tree) {
	t.Helper()
	for p, n := range tr {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if n.link {
			err = os.Symlink(n.data, full)
		} else {
			mode := os.FileMode(0o644)
			if n.exec {
				mode = 0o755
			}
			err = os.WriteFile(full, []byte(n.data), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.Type()&os.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			out[rel] = node{data: to, link: true}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		out[rel] = node{data: string(b), exec: info.Mode()&0o100 != 0}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gitApply(t *testing.T, dir string, patch []byte, flags ...string) error {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "apply", "--whitespace=nowarn"}, flags...)...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(patch)
	// The folder is no repository, so that neither configuration nor index of
	// one decides.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("got no git (%v), want one to apply patches", err)
	}
}

func TestPatchGivesTheWorkspacesBytesWithGitApply(t *testing.T) {
	needGit(t)
	s := seq(23)
	renamed, inPart := 0, 0
	for i := range 60 {
		old, new := randomTrees(&s)
		src := newSource(old, new)
		cs := build(t, src)
		for k := range cs.Files {
			if cs.Files[k].Status == Renamed {
				renamed++
			}
		}
		want := new
		which := Which{}
		if i%3 == 0 { // some of it
			want = decideSome(t, &s, cs, old, src)
			which.ApprovedOnly = true
			for k := range cs.Files {
				for _, h := range cs.Files[k].Hunks {
					if h.Part != nil || h.Edit != "" {
						inPart++
					}
				}
			}
		}
		var patch bytes.Buffer
		if err := Patch(&patch, cs, src.all, which); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write(t, dir, old)
		if patch.Len() == 0 {
			continue
		}
		if err := gitApply(t, dir, patch.Bytes()); err != nil {
			t.Fatalf("tree %d: %v\n%s", i, err, patch.Bytes())
		}
		compare(t, read(t, dir), want)
		if err := gitApply(t, dir, patch.Bytes(), "-R"); err != nil {
			t.Fatalf("tree %d, back: %v", i, err)
		}
		compare(t, read(t, dir), old)
	}
	if renamed < 20 || inPart < 20 {
		t.Errorf("got %d renames and %d hunks in part, want tens: the test does not test", renamed, inPart)
	}
}

// decideSome decides units at random and gives the tree that results.
func decideSome(t *testing.T, s *seq, cs *ChangeSet, old tree, src *memSource) tree {
	t.Helper()
	want := tree{}
	for p, n := range old {
		want[p] = n
	}
	for i := range cs.Files {
		f := &cs.Files[i]
		edits := map[Blob]string{}
		decideAtRandom(t, s, f, edits)
		for b, text := range edits {
			src.blobs[b] = []byte(text)
		}
		todo, err := Outcomes(f, src.all)
		var join *JoinError
		if errors.As(err, &join) {
			for _, id := range f.UnitIDs() {
				f.Decide(id, Decision{Verdict: Approved})
			}
			todo, err = Outcomes(f, src.all)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range todo {
			content := o.Content
			if o.Want.Blob != "" {
				content = src.blobs[o.Want.Blob]
			}
			switch o.Want.Kind {
			case KindAbsent:
				delete(want, o.Path)
			case KindSymlink:
				want[o.Path] = node{data: o.Want.Target, link: true}
			case KindFile:
				want[o.Path] = node{data: string(content), exec: o.Want.Exec}
			}
		}
	}
	return want
}

func compare(t *testing.T, got, want tree) {
	t.Helper()
	for p, n := range want {
		if got[p] != n {
			t.Errorf("%q: got %.200q, want %.200q", p, fmt.Sprint(got[p]), fmt.Sprint(n))
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("got %q, want no such file", p)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// TestPatchNamesObjectsAsGitDoes applies through an index, where git compares
// the names of the index line with its own, in both object formats.
func TestPatchNamesObjectsAsGitDoes(t *testing.T) {
	needGit(t)
	old := tree{"a": text("one\n"), "b": text("\x00\x01"), "gone": text("x\n")}
	new := tree{"a": text("two\n"), "b": text("\x00\x02"), "new": {data: "y\n", exec: true}, "l": {data: "a", link: true}}
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		write(t, dir, old)
		git := func(in []byte, args ...string) string {
			t.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
			return string(out)
		}
		git(nil, "init", "-q", "--object-format="+format)
		git(nil, "add", ".")
		src := newSource(old, new)
		var patch bytes.Buffer
		if err := Patch(&patch, build(t, src), src.all, Which{SHA256: format == "sha256"}); err != nil {
			t.Fatal(err)
		}
		git(patch.Bytes(), "apply", "--index")
		for line := range strings.SplitSeq(patch.String(), "\n") {
			rest, ok := strings.CutPrefix(line, "index ")
			if !ok {
				continue
			}
			_, oid, _ := strings.Cut(strings.Fields(rest)[0], "..")
			if strings.Trim(oid, "0") == "" {
				continue
			}
			if kind := git(nil, "cat-file", "-t", oid); kind != "blob\n" {
				t.Errorf("%s: got %q for %s, want blob", format, kind, oid)
			}
		}
	}
}

func TestPatchNarrows(t *testing.T) {
	src := newSource(tree{}, tree{"a": text("x\n"), "b": text("y\n")})
	var patch bytes.Buffer
	err := Patch(&patch, build(t, src), src.all, Which{Only: func(p string) bool { return p == "b" }})
	if err != nil || strings.Contains(patch.String(), "a/a") || !strings.Contains(patch.String(), "b/b") {
		t.Errorf("got %v\n%s\nwant b alone", err, patch.String())
	}
}

func TestPatchOfAFileThatBecameAFolder(t *testing.T) {
	needGit(t)
	for _, c := range []struct{ old, new tree }{
		{tree{"a": text("x\n")}, tree{"a/b": text("y\n")}},
		{tree{"a/b": text("y\n")}, tree{"a": text("x\n")}},
		{tree{"a/b": text("y\n")}, tree{"a": {data: "c", link: true}}},
		{tree{"a": {data: "c", link: true}}, tree{"a/b": text("y\n")}},
		{tree{"a": text("moved\n")}, tree{"a/b": text("moved\n")}},
		{tree{"a/b": text("moved\n")}, tree{"a": text("moved\n")}},
		{tree{"b": text("one\n"), "a": text("two\n")}, tree{"a/x": text("one\n"), "b/x": text("two\n")}},
	} {
		src := newSource(c.old, c.new)
		var patch bytes.Buffer
		if err := Patch(&patch, build(t, src), src.all, Which{}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write(t, dir, c.old)
		if err := gitApply(t, dir, patch.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, patch.String())
			continue
		}
		compare(t, read(t, dir), c.new)
	}
}
