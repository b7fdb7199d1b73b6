package diffreview

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Group is the part of the list of files that one belongs to. Risky files come
// before all groups.
type Group string

// The groups, in the order of the list.
const (
	GroupCode      Group = "code"
	GroupTests     Group = "tests"
	GroupDocs      Group = "docs"
	GroupGenerated Group = "lock and generated"
)

var groupOrder = []Group{GroupCode, GroupTests, GroupDocs, GroupGenerated}

// Group says by its name what a file mostly is. It decides order and folding,
// never whether something is risky.
func (f *File) Group() Group {
	dir, base := path.Split(strings.ToLower(f.Path))
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	under := groupOfDirs(dir)
	name := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
	switch {
	case under == GroupGenerated, lockNames[base], ext == ".lock", ext == ".snap", ext == ".map",
		strings.Contains(base, ".min."), strings.Contains(base, ".pb."), strings.Contains(base, "_pb2."),
		strings.Contains(base, ".generated."), strings.Contains(base, ".gen."), strings.HasPrefix(base, "zz_generated"):
		return GroupGenerated
	case under == GroupTests, strings.HasSuffix(stem, "_test"), strings.HasPrefix(base, "test_"),
		strings.Contains(base, ".test."), strings.Contains(base, ".spec."), strings.HasSuffix(stem, "_spec"),
		ext == ".t", ext == ".bats", testClass(name, ext):
		return GroupTests
	case under == GroupDocs, docExt[ext], docNames[stem]:
		return GroupDocs
	}
	return GroupCode
}

// testClass says whether a file is named as a class of tests is in some languages:
// "MoneyTest.java", but not "Contest.java". A class called a specification is one of
// tests where frameworks name them so.
func testClass(name, ext string) bool {
	switch ext {
	case ".scala", ".groovy", ".hs":
		if strings.HasSuffix(name, "Spec") {
			return true
		}
	case ".java", ".kt", ".cs", ".fs", ".vb", ".swift", ".m", ".php", ".cpp", ".cc":
	default:
		return false
	}
	for _, end := range []string{"Test", "Tests", "TestCase", "TestSuite"} {
		if strings.HasSuffix(name, end) && name != end {
			return true
		}
	}
	return false
}

// groupOfDirs says what the folders of a path make of a file: what one of them
// makes generated is that, whatever the others are.
func groupOfDirs(dir string) Group {
	out := GroupCode
	for part := range strings.SplitSeq(dir, "/") {
		switch part {
		case "vendor", "node_modules", "third_party", "dist", "__snapshots__":
			return GroupGenerated
		case "test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "e2e":
			out = GroupTests
		case "doc", "docs":
			if out == GroupCode {
				out = GroupDocs
			}
		default:
			if strings.HasSuffix(part, ".tests") || strings.HasSuffix(part, ".unittests") {
				out = GroupTests // a project of tests
			}
		}
	}
	return out
}

var (
	lockNames = map[string]bool{
		"go.sum": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "pnpm-lock.yaml": true,
		"gradle.lockfile": true, "packages.lock.json": true, "bun.lockb": true, "composer.lock": true,
	}
	docExt   = map[string]bool{".md": true, ".markdown": true, ".rst": true, ".adoc": true, ".txt": true, ".org": true}
	docNames = map[string]bool{"readme": true, "license": true, "licence": true, "copying": true, "changelog": true, "authors": true, "notice": true}
)

// Severity is the strongest of the file's findings, or "" when it has none.
func (f *File) Severity() Severity {
	var s Severity
	stands := f.Standing()
	for i := range f.Findings {
		if x := &f.Findings[i]; x.Severity.Rank() > s.Rank() && stands(x) {
			s = x.Severity
		}
	}
	return s
}

// Rank orders severities: 0 for none, 1 note, 2 warn, 3 danger. A word that is
// not known ranks as danger.
func (s Severity) Rank() int {
	switch s {
	case "":
		return 0
	case Note:
		return 1
	case Warn:
		return 2
	case Danger:
		return 3
	}
	return 3
}

// order puts the files as a reviewer should meet them.
func (cs *ChangeSet) order() {
	key := func(f *File) int {
		if r := f.Severity().Rank(); r > Note.Rank() {
			return -r
		}
		return slices.Index(groupOrder, f.Group())
	}
	type place struct{ key, file int }
	places := make([]place, len(cs.Files))
	for i := range cs.Files {
		places[i] = place{key(&cs.Files[i]), i}
	}
	// A file is several hundred bytes: each is moved once.
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(a.key-b.key, strings.Compare(cs.Files[a.file].Path, cs.Files[b.file].Path), a.file-b.file)
	})
	files := make([]File, len(cs.Files))
	for i, p := range places {
		files[i] = cs.Files[p.file]
	}
	cs.Files = files
}
