package main

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the longest that a file may be: beyond it nobody reads it whole.
// A table or a test may be longer.
const maxLines = 600

// longFiles are the exceptions, each with its reason.
var longFiles = map[string]string{}

func TestFilesAreShort(t *testing.T) {
	long := map[string]bool{}
	for _, s := range tree(t) {
		if s.lines <= maxLines || s.test() {
			continue
		}
		long[s.path] = true
		if longFiles[s.path] == "" {
			t.Errorf("%s has %d lines, want at most %d: split it by idea", s.path, s.lines, maxLines)
		}
	}
	for name := range longFiles {
		if !long[name] {
			t.Errorf("%s is listed as an exception and is none", name)
		}
	}
}

// One package comment, in one file: two would contradict each other one day.
func TestEveryPackageHasOneComment(t *testing.T) {
	docs := map[string][]string{}
	for _, s := range tree(t) {
		dir := path.Dir(s.path)
		if s.test() {
			if s.ast.Doc != nil {
				t.Errorf("%s: a test file carries a package comment; it belongs into the package", s.path)
			}
			continue
		}
		if _, ok := docs[dir]; !ok {
			docs[dir] = nil
		}
		if s.ast.Doc == nil {
			continue
		}
		docs[dir] = append(docs[dir], s.path)
		want := "Package " + s.ast.Name.Name + " "
		if s.ast.Name.Name == "main" {
			want = "Command " + path.Base(dir) + " "
		}
		if got := s.ast.Doc.Text(); !strings.HasPrefix(got, want) {
			first, _, _ := strings.Cut(got, "\n")
			t.Errorf("%s: got the package comment %q, want it to begin with %q", s.path, first, want)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s: got package comments in %q, want exactly one", dir, files)
		}
	}
}

// A type whose name says nothing gathers what has no place.
func TestNamesSaySomething(t *testing.T) {
	empty := regexp.MustCompile(`(Manager|Helper|Helpers|Util|Utils|Service|Data|Info)$`)
	// Words of the system's own interfaces.
	known := []string{"internal/beneath.Info"}
	for _, s := range tree(t) {
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE || s.test() {
				continue
			}
			for _, spec := range g.Specs {
				id := spec.(*ast.TypeSpec).Name
				if empty.MatchString(id.Name) && id.IsExported() && !slices.Contains(known, path.Dir(s.path)+"."+id.Name) {
					t.Errorf("%s: got the type %s, want a name that says what it is", s.at(id.Pos()), id.Name)
				}
			}
		}
	}
}

// A regular expression compiled in a package variable is paid by every start
// of the binary, and every session starts it three times.
func TestNothingIsCompiledAtStart(t *testing.T) {
	for _, s := range tree(t) {
		local := localName(s.ast, "regexp")
		if s.test() || local == "" {
			continue
		}
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			ast.Inspect(g, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					return false // runs when it is called
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					if id, ok := sel.X.(*ast.Ident); ok && id.Name == local {
						t.Errorf("%s: compiled at package init, want sync.OnceValue", s.at(call.Pos()))
					}
				}
				return true
			})
		}
	}
}

// callsElsewhere are the exceptions, each with its reason.
var callsElsewhere = map[string]string{
	"session/client.go": "not moved yet: the long path to a socket",
}

// System calls stand in files named *_linux.go, so that a reader who asks what
// the program does to the kernel knows where to look.
func TestSystemCallsStandInLinuxFiles(t *testing.T) {
	used := map[string]bool{}
	for _, s := range tree(t) {
		if s.test() || strings.HasSuffix(s.path, "_linux.go") {
			continue
		}
		for _, pkg := range []string{"syscall", "golang.org/x/sys/unix"} {
			for _, call := range systemCalls(s.ast, pkg) {
				if used[s.path] = true; callsElsewhere[s.path] != "" {
					continue
				}
				t.Errorf("%s makes the system call %s, want it in a file named *_linux.go", s.at(call.Pos()), call.Sel.Name)
			}
		}
	}
	for name := range callsElsewhere {
		if !used[name] {
			t.Errorf("%s is listed as an exception and is none", name)
		}
	}
}

func systemCalls(f *ast.File, pkg string) []*ast.SelectorExpr {
	local := localName(f, pkg)
	if local == "" {
		return nil
	}
	// Conversions and what only looks at a value.
	harmless := []string{"Errno", "Signal", "ByteSliceToString", "SignalName", "ErrnoName", "Major", "Minor", "Mkdev"}
	var calls []*ast.SelectorExpr
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && !slices.Contains(harmless, sel.Sel.Name) {
			calls = append(calls, sel)
		}
		return true
	})
	return calls
}
