package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A linkedPackage is one of those that make up the binary.
type linkedPackage struct {
	imports []string
	module  string // "" for ours and the standard library
}

var linked struct {
	sync.Once
	all  map[string]linkedPackage
	skip string
	err  error
}

// linkedPackages asks the go command, once and offline, or skips where it can't
// answer.
func linkedPackages(t *testing.T) map[string]linkedPackage {
	t.Helper()
	root := treeRoot(t)
	linked.Do(func() { linked.all, linked.skip, linked.err = listLinked(t.Context(), root, t.TempDir()) })
	if linked.skip != "" {
		t.Skip(linked.skip)
	}
	if linked.err != nil {
		t.Fatal(linked.err)
	}
	if len(linked.all) < 100 {
		t.Fatalf("got %d linked packages, want the whole binary", len(linked.all))
	}
	return linked.all
}

func listLinked(ctx context.Context, root, cache string) (all map[string]linkedPackage, skip string, err error) {
	gobin, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Sprintf("got %v, want the go command to list what is linked", err), nil
	}
	cmd := exec.CommandContext(ctx, gobin, "list", "-deps", "-f",
		`{{.ImportPath}};{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}};{{join .Imports " "}}`, "./cmd/fumehood")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly -buildvcs=false", "GOTOOLCHAIN=local", "GOWORK=off",
		"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOCACHE="+cache)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		// An account without the modules can't list them, and a test must not
		// download; any other error is one of the tree.
		for _, offline := range []string{"module lookup disabled by GOPROXY=off", "permission denied", "module cache not found", "requires go >="} {
			if strings.Contains(stderr.String(), offline) {
				first, _, _ := strings.Cut(stderr.String()[strings.Index(stderr.String(), offline):], "\n")
				return nil, fmt.Sprintf("got %v from go list (%s), want the modules of go.mod in this account's module cache", err, first), nil
			}
		}
		return nil, "", fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	all = map[string]linkedPackage{}
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSpace(line), ";")
		if len(part) != 3 {
			return nil, "", fmt.Errorf("go list printed %q, want three parts", line)
		}
		all[part[0]] = linkedPackage{module: part[1], imports: strings.Fields(part[2])}
	}
	return all, "", nil
}

// below returns what a package links, itself included.
func below(all map[string]linkedPackage, pkg string) []string {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(p string) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, q := range all[p].imports {
			visit(q)
		}
	}
	visit(pkg)
	return slices.Sorted(maps.Keys(seen))
}

const depsHead = `# The modules linked into fumehood, apart from itself and the standard library.
# A line more is code on the trust path: say in docs/decisions why, how large,
# who maintains it and what it pulls. Rewrite with
#   go test ./cmd/fumehood -run TestLinkedModules -update
`

func readDeps(t *testing.T) (name, text string) {
	t.Helper()
	name = filepath.Join(treeRoot(t), "testdata", "deps.txt")
	got, err := os.ReadFile(name)
	if err != nil && !update(t) {
		t.Fatal(err)
	}
	return name, string(got)
}

func TestLinkedModules(t *testing.T) {
	name, got := readDeps(t)
	mods := map[string]bool{}
	for _, p := range linkedPackages(t) {
		if p.module != "" {
			mods[p.module] = true
		}
	}
	want := depsHead + strings.Join(slices.Sorted(maps.Keys(mods)), "\n") + "\n"
	if got == want {
		return
	}
	if update(t) {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs from what is linked (-listed +linked):\n%s", name, cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")))
}

// The same without the go command, for what is imported directly.
func TestImportedModulesAreListed(t *testing.T) {
	_, text := readDeps(t)
	listed := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" || l[0] == '#' })
	forTests := []string{"github.com/creack/pty", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal"}
	for _, s := range tree(t) {
		for _, spec := range s.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") {
				continue // ours, or the standard library
			}
			known := listed
			if s.test() || path.Dir(s.path) == "ui/uitest" {
				known = append(forTests, listed...)
			}
			if _, ok := covers(known, imported); !ok {
				t.Errorf("%s imports %q, want its module in testdata/deps.txt", s.at(spec.Pos()), imported)
			}
		}
	}
}

// What a package pulls in counts as much as what it names.
func TestNothingHeavyIsLinked(t *testing.T) {
	all := linkedPackages(t)
	for _, c := range []struct {
		name, pkg string
		deny      []string
	}{
		{
			name: "every exec of the binary pays for its package init", pkg: "fumehood/cmd/fumehood",
			deny: []string{modChroma + "/v2/lexers", modChroma + "/v2/styles", "charm.land/glamour", modCharmX + "/glamour", "html/template", "plugin$"},
		},
		{
			name: "the stage holds no parser, resolver or log", pkg: "fumehood/isolate/stage",
			deny: []string{"net$", "net/http", "crypto/tls", "log", "text/template", "regexp", modToml, "fumehood/isolate$", "fumehood/isolate/policy"},
		},
		{
			name: "a change is judged without a kernel, a network or a process", pkg: "fumehood/diffreview/risk",
			deny: []string{"net$", "os/exec", "golang.org/x/sys"},
		},
		{
			name: "the supervisor is idle for hours without a screen", pkg: "fumehood/session/supervisor",
			deny: []string{modCharm, modChroma, modCobra, "fumehood/ui", "fumehood/themes"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, ok := all[c.pkg]; !ok {
				t.Fatalf("got no %s in the binary, want it linked", c.pkg)
			}
			for _, p := range below(all, c.pkg) {
				if _, ok := covers(c.deny, p); ok {
					t.Errorf("%s links %s", c.pkg, p)
				}
			}
		})
	}
}
