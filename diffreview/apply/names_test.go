package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// foldCase is a file system that keeps names as they were made and takes them
// for one without regard to case.
func foldCase(names []string, name string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return name
}

// foldMarks is one that takes a letter with a combining mark for the one that has
// it already.
func foldMarks(names []string, name string) string {
	flat := strings.NewReplacer("e\u0301", "\u00e9")
	for _, n := range names {
		if flat.Replace(n) == flat.Replace(name) {
			return n
		}
	}
	return name
}

// foldCases are what must never come of names that are one: something else
// written over, or half of it done.
func foldCases(s *site, o func() Options) error {
	f := s.store.file
	s.write("README", "mine", 0o644)
	s.write("Src/a.go", "a", 0o644)
	s.write("plain", "0", 0o644)
	before := s.snap()
	plain := Target{Path: "plain", Base: f("0"), Want: f("1")}
	for _, c := range []struct {
		name string
		ts   []Target
		want string // path and part of the reason
	}{
		{"a new file where another stands", []Target{{Path: "readme", Want: f("agent")}}, `readme: stands there as "README"`},
		{"one with the same bytes", []Target{{Path: "readme", Want: f("mine")}}, `readme: stands there as "README"`},
		{"a change", []Target{{Path: "readme", Base: f("mine"), Want: f("agent")}}, `readme: stands there as "README"`},
		{"a deletion", []Target{{Path: "readme", Base: f("mine")}}, `readme: stands there as "README"`},
		{"a rename of what is another's by now", []Target{{Path: "README", Base: f("other")}, {Path: "readme", Want: f("other")}}, `README: the host's file changed after the copy`},
		{"a new name while the old one's file stays", []Target{{Path: "README", Base: f("mine"), Want: f("more")}, {Path: "readme", Want: f("mine")}}, `readme: stands there as "README"`},
		{"a folder's change of case alone", []Target{{Path: "Src/a.go", Base: f("a")}, {Path: "src/a.go", Want: f("a")}}, `src/a.go: the folder "src" stands there as "Src"`},
		{"a folder above", []Target{{Path: "src/b.go", Want: f("b")}}, `src/b.go: the folder "src" stands there as "Src"`},
		{"two new files", []Target{{Path: "New", Want: f("1")}, {Path: "new", Want: f("2")}}, `new: stands there as "New"`},
		{"two new files with the same bytes", []Target{{Path: "New", Want: f("1")}, {Path: "new", Want: f("1")}}, `new: stands there as "New"`},
		{"two new folders", []Target{{Path: "Dir/a", Want: f("1")}, {Path: "dir/b", Want: f("2")}}, `dir: the folder stands there as "Dir"`},
		{"two new links", []Target{{Path: "Ln", Want: link("a")}, {Path: "ln", Want: link("b")}}, `ln: stands there as "Ln"`},
	} {
		res, err := Apply(context.Background(), o(), append(c.ts, plain))
		if err != nil || len(res.Conflicts) == 0 || len(res.Applied) > 0 {
			return fmt.Errorf("%s: got %+v, %v, want a conflict", c.name, res, err)
		}
		if got := res.Conflicts[0].Path + ": " + res.Conflicts[0].Why; !strings.Contains(got, c.want) {
			return fmt.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		s.wantSame(before)
		if n := s.temps(); len(n) > 0 {
			return fmt.Errorf("%s: left over: %v", c.name, n)
		}
	}
	// A change of case alone is carried out: also with an edit, of a link, again when
	// it is there already, and when what it became changes further. Then it is taken
	// back.
	s.symlink("Link", "plain")
	before = s.snap()
	for _, want := range []string{"mine", "mine, edited"} {
		ts := []Target{{Path: "README", Base: f("mine")}, {Path: "readme", Want: f(want)}, {Path: "Link", Base: link("plain")}, {Path: "LINK", Want: link("plain")}, plain}
		res, err := Apply(context.Background(), o(), ts)
		if err != nil || len(res.Written) != len(ts) {
			return fmt.Errorf("a change of case: got %+v, %v", res, err)
		}
		names := s.snap()
		for _, p := range []string{"readme", "LINK"} {
			if _, ok := names[p]; !ok {
				return fmt.Errorf("a change of case: got %v, want %s", names, p)
			}
		}
		s.wantFile("readme", want, 0o644)
		if res, err = Apply(context.Background(), o(), ts); err != nil || len(res.Conflicts)+len(res.Written) > 0 {
			return fmt.Errorf("a change of case again: got %+v, %v", res, err)
		}
		ts[1].Want = f("later")
		if res, err = Apply(context.Background(), o(), ts); err != nil || len(res.Written) != 1 {
			return fmt.Errorf("an edit after a change of case: got %+v, %v", res, err)
		}
		s.wantFile("readme", "later", 0o644)
		for range 2 {
			if res, err = Undo(context.Background(), o()); err != nil || len(res.Conflicts) > 0 {
				return fmt.Errorf("undo of a change of case: got %+v, %v", res, err)
			}
		}
		s.wantSame(before)
		if n := s.temps(); len(n) > 0 {
			return fmt.Errorf("a change of case left over: %v", n)
		}
	}
	// What has its own name is written as ever, and taken back.
	ts := []Target{{Path: "README", Base: f("mine"), Want: f("agent")}, {Path: "Src/b.go", Want: f("b")}, {Path: "Src/a.go", Base: f("a")}, plain}
	res, err := Apply(context.Background(), o(), ts)
	if err != nil || len(res.Written) != len(ts) {
		return fmt.Errorf("ordinary changes: got %+v, %v", res, err)
	}
	if res, err = Undo(context.Background(), o()); err != nil || len(res.Conflicts) > 0 {
		return fmt.Errorf("undo: got %+v, %v", res, err)
	}
	s.wantSame(before)
	return nil
}

// TestNamesThatAreOne pretends, since most kernels have no such file system.
func TestNamesThatAreOne(t *testing.T) {
	for _, nameless := range []bool{false, true} {
		s := newFastSite(t)
		o := func() Options {
			o := s.options()
			o.lacks.names, o.lacks.nameless = foldCase, nameless
			return o
		}
		if err := foldCases(s, o); err != nil {
			t.Errorf("without nameless files %v: %v", nameless, err)
		}
	}
}

func TestNamesThatAreOneInANormalForm(t *testing.T) {
	s := newFastSite(t)
	s.write("caf\u00e9", "mine", 0o644)
	before := s.snap()
	o := s.options()
	o.lacks.names = foldMarks
	res, err := Apply(context.Background(), o, []Target{{Path: "cafe\u0301", Want: s.store.file("agent")}})
	if err != nil || len(res.Conflicts) != 1 || !strings.Contains(res.Conflicts[0].Why, "caf\u00e9") {
		t.Errorf("got %+v, %v", res, err)
	}
	s.wantSame(before)
}

// TestNamesOfARealFoldingFolder is for an empty folder on a file system that
// takes names for one, such as an ext4 made with "mkfs.ext4 -O casefold" and one
// of its folders after "chattr +F". With FUMEHOOD_FOLDS it names one.
func TestNamesOfARealFoldingFolder(t *testing.T) {
	dir := os.Getenv("FUMEHOOD_FOLDS")
	if dir == "" {
		t.Skip("got no folder in FUMEHOOD_FOLDS, want one on a file system that folds case")
	}
	s := siteIn(t, dir)
	s.journal = filepath.Join(t.TempDir(), "journal")
	must(t, os.WriteFile(filepath.Join(s.repo, "Probe"), nil, 0o600))
	if _, err := os.Lstat(filepath.Join(s.repo, "probe")); err != nil {
		t.Fatalf("%s: got %v, want that it folds case", s.repo, err)
	}
	if err := foldCases(s, s.options); err != nil {
		t.Error(err)
	}
}

// TestNamesOfACasefoldedFolder is on a real one where the kernel has it.
func TestNamesOfACasefoldedFolder(t *testing.T) { runCell(t, "casefold", true) }

func cellCasefold(dir string) error {
	s := cellSite(dir)
	s.t = tb{}
	if err := mountTmpfs(s.repo, "casefold,size=8m,mode=755"); err != nil {
		return err
	}
	d, err := os.Open(s.repo)
	if err != nil {
		return err
	}
	defer d.Close()
	const casefold = 0x40000000 // FS_CASEFOLD_FL
	err = control(d, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, casefold) })
	if err != nil {
		return &skipError{err}
	}
	if err := os.WriteFile(filepath.Join(s.repo, "Probe"), nil, 0o600); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(s.repo, "probe")); err != nil {
		return &skipError{err}
	}
	return foldCases(s, s.options)
}

// TestHardLinksAreTwoNames: two names of one file that differ in case are not one
// name.
func TestHardLinksAreTwoNames(t *testing.T) {
	s := newSite(t)
	s.write("readme", "0", 0o644)
	must(t, os.Link(filepath.Join(s.repo, "readme"), filepath.Join(s.repo, "README")))
	f := s.store.file
	s.apply(Target{Path: "readme", Base: f("0"), Want: f("1")})
	s.wantFile("readme", "1", 0o644)
	s.wantFile("README", "0", 0o644)
}

func TestNameInTheOtherCaseTellsWhereListingCannot(t *testing.T) {
	s := newFastSite(t)
	s.write("d/readme", "0", 0o644)
	tr, err := openTree(s.root())
	must(t, err)
	defer tr.close()
	if got := tr.swapped("d/readme"); got != "" {
		t.Errorf("got %q, want none", got)
	}
	tr.folds = foldCase
	if got := tr.swapped("d/README"); got == "" {
		t.Error("got none where case is folded")
	}
	if got := tr.swapped("d/12"); got != "" {
		t.Errorf("got %q for a name without letters", got)
	}
}
