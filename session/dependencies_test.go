package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/isolate/policy"
	"fumehood/session/workspace"
)

// Dependency folders that git ignores are offered and, when asked for, go in
// under a policy that says so; nothing else that git ignores does.
func TestDependenciesAreBroughtInWhenAskedFor(t *testing.T) {
	h := accountAt(t)
	h.Home = filepath.Join(h.Home, "home")
	repo := t.TempDir()
	git(t, repo, "init", "-q", "-b", "main")
	for path, text := range map[string]string{
		".gitignore": "node_modules/\nbuild/\n.env\n", "main.js": "x\n", "node_modules/left/index.js": "x\n", "build/out": "x\n", ".env": "KEY=1\n",
		"pkg/node_modules/right/index.js": "x\n", "node_modules/left/.npmrc": "//registry.test/:_authToken=abc\n",
	} {
		path = filepath.Join(repo, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, path, text)
	}
	git(t, repo, "add", "-A")
	prepare := func(req Request) *Prepared {
		t.Helper()
		req.Repo, req.Agent, req.Command = repo, "command", []string{"true"}
		p, err := h.Prepare(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	names := func(l []diffreview.LeftOut) string {
		var out []string
		for _, x := range l {
			out = append(out, x.Path)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	inside := func(p *Prepared) string {
		var out []string
		for _, f := range p.Selection.Files {
			if f.Origin == workspace.Depends {
				out = append(out, f.Path)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	p := prepare(Request{})
	if got := names(p.Selection.Dependencies); got != "node_modules/ pkg/node_modules/" || inside(p) != "" {
		t.Fatalf("got %q offered and %q inside, want both folders offered and nothing of them inside", got, inside(p))
	}
	with := prepare(Request{Dependencies: true})
	if got := inside(with); got != "node_modules/left/index.js pkg/node_modules/right/index.js" {
		t.Errorf("got %q inside, want both folders without what looks like a secret", got)
	}
	if got := names(with.Selection.Dependencies); got != "" || !strings.Contains(names(with.Selection.LeftOut), "build/") {
		t.Errorf("got %q still offered and %q left out", got, names(with.Selection.LeftOut))
	}
	if got := string(policy.Encode(with.Policy)); !strings.Contains(got, `include = "auto"`) || policy.Hash(with.Policy) == policy.Hash(p.Policy) {
		t.Errorf("got a policy that does not say so:\n%s", got)
	}
	if again := prepare(Request{}); policy.Hash(again.Policy) != policy.Hash(p.Policy) {
		t.Error("got another policy afterwards: what one session asked for stayed")
	}
	look, err := h.Preview(t.Context(), Request{Repo: repo, Agent: "command", Command: []string{"true"}, Dependencies: true})
	if err != nil || !strings.Contains(strings.Join(look.Warnings, "\n"), "is not proven of that") {
		t.Errorf("got %v and %v, want it said that the proof does not count", err, look.Warnings)
	}
	// A policy that names what it includes has the last word.
	put(t, filepath.Join(mkdir(t, h.Config, "fumehood"), "policy.toml"), "[filesystem]\ninclude = [\"build\"]\n")
	p = prepare(Request{Dependencies: true})
	if inside(p) != "" || len(p.Selection.Dependencies) != 0 {
		t.Errorf("got %q inside and %v offered, want what the policy names alone", inside(p), p.Selection.Dependencies)
	}
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
