package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is a pretended host: names of what is there; a value is a link's target.
type tree map[string]string

func (t tree) resolve(name string) (string, error) {
	if name == "/" {
		return name, nil
	}
	for range 40 {
		linked := false
		for at := name; at != "/" && at != "."; at = filepath.Dir(at) {
			if to := t[at]; to != "" {
				name, linked = to+strings.TrimPrefix(name, at), true
				break
			}
		}
		if linked {
			continue
		}
		for known := range t {
			if known == name || strings.HasPrefix(known, name+"/") {
				return name, nil
			}
		}
		return "", fs.ErrNotExist
	}
	return "", errors.New("too many links")
}

func (t tree) exists(name string) bool { _, err := t.resolve(name); return err == nil }

func same(names ...string) []Place {
	var all []Place
	for _, n := range names {
		all = append(all, Place{n, n})
	}
	return all
}

func TestToolchains(t *testing.T) {
	tests := []struct {
		name string
		host tree
		path []string

		links []string
		given []Place
		want  Toolset
	}{
		{
			name: "system folders only",
			host: tree{"/usr/bin/ls": "", "/bin": "/usr/bin", "/h/u/.cargo/bin/x": ""},
			path: []string{"/usr/bin", "/bin", "/no/such"},
			want: Toolset{Path: []string{"/usr/bin", "/bin"}},
		},
		{
			name: "cargo's programs and toolchains, not its token",
			host: tree{"/h/u/.cargo/bin/cargo": "", "/h/u/.cargo/credentials.toml": "", "/h/u/.rustup/toolchains/s/bin/rustc": "", "/h/u/.rustup/settings.toml": "", "/usr/bin/ls": ""},
			path: []string{"/h/u/.cargo/bin", "/usr/bin"},
			want: Toolset{
				Mounts: same("/h/u/.cargo/bin", "/h/u/.rustup/toolchains"),
				Files:  same("/h/u/.rustup/settings.toml"),
				Path:   []string{"/h/u/.cargo/bin", "/usr/bin"},
			},
		},
		{
			name: "nvm installed as a clone",
			host: tree{"/h/u/.nvm/.git/HEAD": "", "/h/u/.nvm/versions/node/v20/bin/node": ""},
			path: []string{"/h/u/.nvm/versions/node/v20/bin/"},
			want: Toolset{Mounts: same("/h/u/.nvm/versions"), Path: []string{"/h/u/.nvm/versions/node/v20/bin"}},
		},
		{
			name: "fnm's links elsewhere",
			host: tree{"/run/user/1/fnm/42": "/h/u/.local/share/fnm/node-versions/v20/installation", "/h/u/.local/share/fnm/node-versions/v20/installation/bin/node": ""},
			path: []string{"/run/user/1/fnm/42/bin"},
			want: Toolset{
				Mounts: same("/h/u/.local/share/fnm/node-versions"),
				Path:   []string{"/h/u/.local/share/fnm/node-versions/v20/installation/bin"},
			},
		},
		{
			name: "agents that brought their own installer",
			host: tree{"/h/u/.local/bin/claude": "", "/h/u/.local/share/claude/versions/1": "", "/h/u/.claude/.credentials.json": "", "/h/u/.opencode/bin/opencode": "", "/h/u/.npm-global/bin/codex": "", "/h/u/.npm-global/lib/x": ""},
			path: []string{"/h/u/.local/bin", "/h/u/.opencode/bin", "/h/u/.npm-global/bin"},
			want: Toolset{
				Mounts: same("/h/u/.local/bin", "/h/u/.local/share/claude/versions", "/h/u/.npm-global/bin", "/h/u/.npm-global/lib", "/h/u/.opencode/bin"),
				Path:   []string{"/h/u/.local/bin", "/h/u/.opencode/bin", "/h/u/.npm-global/bin"},
			},
		},
		{
			name: "the user's own programs with what uv and pipx keep",
			host: tree{"/h/u/.local/bin/uv": "", "/h/u/.local/share/uv/tools/a/x": "", "/h/u/.local/share/uv/credentials/t": "", "/h/u/.local/share/pipx/venvs/b/x": "", "/h/u/.local/share/keyrings/k": ""},
			path: []string{"/h/u/.local/bin"},
			want: Toolset{
				Mounts: same("/h/u/.local/bin", "/h/u/.local/share/pipx/venvs", "/h/u/.local/share/uv/tools"),
				Path:   []string{"/h/u/.local/bin"},
			},
		},
		{
			name: "one Go of several",
			host: tree{"/h/u/sdk/go1.26/bin/go": "", "/h/u/sdk/go1.25/bin/go": "", "/h/u/go/bin/gopls": "", "/h/u/go/pkg/mod/x": ""},
			path: []string{"/h/u/sdk/go1.26/bin", "/h/u/go/bin"},
			want: Toolset{Mounts: same("/h/u/go/bin", "/h/u/sdk/go1.26"), Path: []string{"/h/u/sdk/go1.26/bin", "/h/u/go/bin"}},
		},
		{
			name: "an unknown folder is offered, once",
			host: tree{"/h/u/miniconda3/bin/python": "", "/snap/bin/x": ""},
			path: []string{"/h/u/miniconda3/bin", "/snap/bin", "/h/u/miniconda3/bin"},
			want: Toolset{Offered: []string{"/h/u/miniconda3/bin", "/snap/bin"}},
		},
		{
			name: "relative, home, above it",
			host: tree{"/h/u/x": "", "/srv/all": "/h"},
			path: []string{"", "node_modules/.bin", "/h/u", "/h", "/srv/all", "/"},
			want: Toolset{Refused: []Refusal{
				{"", "not absolute: it means another folder in each folder"},
				{"node_modules/.bin", "not absolute: it means another folder in each folder"},
				{"/h/u", "leads to /h/u, which is the home or holds it"},
				{"/h", "leads to /h, which is the home or holds it"},
				{"/srv/all", "leads to /h, which is the home or holds it"},
				{"/", "leads to /, which is the home or holds it"},
			}},
		},
		{
			name: "inside a repository",
			host: tree{"/h/u/src/app/.git": "", "/h/u/src/app/node_modules/.bin/x": ""},
			path: []string{"/h/u/src/app/node_modules/.bin"},
			want: Toolset{Refused: []Refusal{{"/h/u/src/app/node_modules/.bin", "inside the repository /h/u/src/app"}}},
		},
		{
			name: "a manager's folder that leads into a repository",
			host: tree{"/h/u/.local/bin": "/h/u/dots/bin", "/h/u/dots/.git/HEAD": "", "/h/u/dots/bin/x": "", "/h/u/.local/lib/y": ""},
			path: []string{"/h/u/.local/bin"},
			want: Toolset{
				Mounts:  same("/h/u/.local/lib"),
				Refused: []Refusal{{"/h/u/.local/bin", "inside the repository /h/u/dots"}},
			},
		},
		{
			name: "a manager's folder that leads to keys",
			host: tree{"/h/u/.cargo/bin": "/h/u/.ssh", "/h/u/.ssh/id": ""},
			path: []string{"/h/u/.cargo/bin"},
			want: Toolset{Refused: []Refusal{{"/h/u/.cargo/bin", "leads to /h/u/.ssh, another place in the home"}}},
		},
		{
			name: "a manager's folder that leads to its root, with the token",
			host: tree{"/h/u/.cargo/bin": "/h/u/.cargo", "/h/u/.cargo/credentials.toml": ""},
			path: []string{"/h/u/.cargo/bin"},
			want: Toolset{Refused: []Refusal{{"/h/u/.cargo/bin", "leads to /h/u/.cargo, another place in the home"}}},
		},
		{
			name: "a manager's folder that leads to the home",
			host: tree{"/h/u/.deno/bin": "/h/u", "/h/u/x": ""},
			path: []string{"/h/u/.deno/bin"},
			want: Toolset{Refused: []Refusal{{"/h/u/.deno/bin", "leads to /h/u, which is the home or holds it"}}},
		},
		{
			name: "a manager on another disk",
			host: tree{"/h/u/.nvm": "/data/nvm", "/data/nvm/versions/node/v20/bin/node": ""},
			path: []string{"/h/u/.nvm/versions/node/v20/bin"},
			want: Toolset{
				Mounts: []Place{{"/h/u/.nvm/versions", "/data/nvm/versions"}},
				Path:   []string{"/h/u/.nvm/versions/node/v20/bin"},
			},
		},
		{
			name:  "a venv's interpreter, of a manager that PATH does not point at",
			host:  tree{"/h/u/.local/share/uv/python/cp312/bin/python3": "", "/h/u/.local/share/uv/credentials/t": "", "/usr/bin/ls": ""},
			path:  []string{"/usr/bin"},
			links: []string{"/h/u/.local/share/uv/python/cp312/bin", "/usr/bin"},
			want:  Toolset{Mounts: same("/h/u/.local/share/uv/python"), Path: []string{"/usr/bin"}},
		},
		{
			name: "mise's shims, with what they link to",
			host: tree{"/h/u/.local/share/mise/shims/node": "/h/u/.local/bin/mise", "/h/u/.local/bin/mise": "", "/h/u/.local/bin/other": "", "/h/u/.local/share/mise/installs/node/x": "", "/h/u/.tool-versions": "", "/h/u/.config/mise/config.toml": ""},
			path: []string{"/h/u/.local/share/mise/shims"},
			want: Toolset{
				Mounts: same("/h/u/.local/bin", "/h/u/.local/share/mise/installs", "/h/u/.local/share/mise/shims"),
				Files:  same("/h/u/.tool-versions"),
				Path:   []string{"/h/u/.local/share/mise/shims"},
			},
		},
		{
			name:  "what the policy brings in is neither offered nor lost from PATH",
			host:  tree{"/h/u/miniconda3/bin/python": "", "/run/conda": "/h/u/miniconda3"},
			path:  []string{"/run/conda/bin", "/h/u/miniconda3/bin"},
			given: same("/h/u/miniconda3"),
			want:  Toolset{Path: []string{"/h/u/miniconda3/bin"}},
		},
		{
			name: "a name that only begins like a manager's",
			host: tree{"/h/u/.cargo-old/bin/x": ""},
			path: []string{"/h/u/.cargo-old/bin"},
			want: Toolset{Offered: []string{"/h/u/.cargo-old/bin"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Toolchains("/h/u", Search{Path: tt.path, Links: tt.links, Given: tt.given}, tt.host.exists, tt.host.resolve)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		})
	}
}

func TestToolchainsOnARealFolder(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".bun/bin", ".bun/install/global", ".bun/install/cache"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(name string) bool { _, err := os.Stat(name); return err == nil }
	got := Toolchains(home, Search{Path: []string{home + "/.bun/bin"}}, exists, filepath.EvalSymlinks)
	want := Toolset{Mounts: same(home+"/.bun/bin", home+"/.bun/install/global"), Path: []string{home + "/.bun/bin"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestInputs(t *testing.T) {
	host := tree{
		"/h/u/go/pkg/mod/x": "", "/data/set": "", "/data/link": "/data/set", "/data/home": "/h/u",
		"/data/proc": "/proc/1", "/proc/1/environ": "", "/h/u/.state/fumehood/sessions": "", "/data/state": "/h/u/.state/fumehood",
		"/h/u/.local/x": "",
	}
	never := []string{"/h/u/.state/fumehood"}
	tests := []struct {
		name    string
		want    Place
		refused string
	}{
		{name: "~/go/pkg/mod", want: Place{"/h/u/go/pkg/mod", "/h/u/go/pkg/mod"}},
		{name: "/data/set/", want: Place{"/data/set", "/data/set"}},
		{name: "/data/link", want: Place{"/data/link", "/data/set"}},
		{name: "/no/such", refused: "does not exist"},
		{name: "relative", refused: "does not exist"},
		{name: "/data/home", refused: "which is the home"},
		{name: "~/", refused: "which is the home"},
		{name: "/h", refused: "which is the home"},
		{name: "/", refused: "which is the home"},
		{name: "/proc/1", refused: "a folder of the running system"},
		{name: "/data/proc", refused: "a folder of the running system"},
		{name: "~/.state/fumehood/sessions", refused: "never visible inside"},
		{name: "~/.state", refused: "never visible inside"},
		{name: "/data/state", refused: "never visible inside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			places, refused := Inputs([]string{tt.name}, "/h/u", never, host.resolve)
			if tt.refused == "" {
				if diff := cmp.Diff([]Place{tt.want}, places); diff != "" || len(refused) != 0 {
					t.Errorf("refused %v, (-want +got)\n%s", refused, diff)
				}
				return
			}
			if len(places) != 0 || len(refused) != 1 || refused[0].Path != tt.name || !strings.Contains(refused[0].Why, tt.refused) {
				t.Errorf("got %v, refused %v, want %q refused: %s", places, refused, tt.name, tt.refused)
			}
		})
	}
}
