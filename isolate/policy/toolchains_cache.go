package policy

import "path"

// Cache is a folder of the host in which a language keeps what it fetched. It
// can be written inside, in a layer that is the session's own.
type Cache struct {
	Name string // of the layer
	Place
	// Hidden is what of it is not there inside: patterns below it, in which only
	// "*" has a meaning.
	Hidden []string
}

// cacheRow is one cache, under the home. What a manager keeps beside it stays
// out (~/.cargo/credentials.toml, ~/.m2/settings.xml, ~/.gradle/gradle.properties).
// Dependencies only: what was built from the account's other repositories can
// hold anything that is in them.
type cacheRow struct {
	name, dir string
	hidden    []string
	why       string // of hidden
	// asked rows come only when filesystem.inputs names them.
	asked bool
}

func cacheRows() []cacheRow {
	return []cacheRow{
		{name: "go-mod", dir: "go/pkg/mod", hidden: []string{"cache/vcs"}, why: "settings of clones can hold an address with a password"},
		{name: "go-build", dir: ".cache/go-build", asked: true, why: "holds what other repositories embed and what their tests print"},
		{name: "cargo-registry", dir: ".cargo/registry"},
		{name: "cargo-git", dir: ".cargo/git", hidden: []string{"db/*/FETCH_HEAD"}, why: "the address it was fetched from"},
		{name: "npm", dir: ".npm/_cacache", hidden: []string{"index-v5"}, why: "keeps request headers that an answer varies by, Authorization too; npm finds by the lock file's hash all the same"},
		{name: "pip-wheels", dir: ".cache/pip/wheels"}, // beside it, http* keeps request headers as npm does
		{
			name: "uv", dir: ".cache/uv", hidden: []string{"git-v*", "simple-v*/index", "wheels-v*/index", "wheels-v*/url", "sdists-v*/index", "sdists-v*/url", "sdists-v*/git"},
			why: "what came from other places than the public index, with the address",
		},
		{name: "yarn", dir: ".cache/yarn"},
		{name: "yarn-berry", dir: ".yarn/berry/cache"},
		{name: "pnpm", dir: ".local/share/pnpm/store"},
		{name: "bun", dir: ".bun/install/cache"},
		{name: "gradle", dir: ".gradle/caches/modules-2"},
		{name: "gradle-dists", dir: ".gradle/wrapper/dists"},
		{name: "maven", dir: ".m2/repository"},
	}
}

// Caches finds the caches of known languages in the user's home. given are the
// places that go in by the policy: nothing that covers or lies in one of them is
// a cache, but for a row that is only given when named; such a place is then
// taken out of what is left of given. never, exists and resolve are as for
// Inputs and Toolchains. A cache that leads to another place of the home, or
// lies in a repository, is refused.
func Caches(home string, given []Place, never []string, exists func(string) bool, resolve func(string) (string, error)) (caches []Cache, left []Place, refused []Refusal) {
	f := finder{home: home, homes: []string{home}, exists: exists, resolve: resolve}
	if real, err := resolve(home); err == nil && real != home {
		f.homes = append(f.homes, real)
	}
	left = given
	for _, row := range cacheRows() {
		dir := path.Join(home, row.dir)
		real, err := resolve(dir)
		if err != nil {
			continue // not there
		}
		if row.asked {
			rest := except(left, dir)
			if len(rest) == len(left) {
				continue
			}
			left = rest
		}
		if overlaps(left, dir, real) {
			continue // read-only, as the policy says
		}
		if why := f.badCache(dir, real, never); why != "" {
			refused = append(refused, Refusal{Path: dir, Why: why})
			continue
		}
		caches = append(caches, Cache{Name: row.name, Place: Place{Path: dir, Real: real}, Hidden: row.hidden})
	}
	return caches, left, refused
}

func (f *finder) badCache(dir, real string, never []string) string {
	if err := f.badInput(dir, real, never); err != nil {
		return err.Error()
	}
	for _, home := range f.homes {
		if within(real, home) && real != path.Join(home, dir[len(f.home):]) {
			return "leads to " + real + ", another place in the home"
		}
	}
	return f.bad(real, "")
}

func except(places []Place, dir string) []Place {
	var out []Place
	for _, p := range places {
		if p.Path != dir {
			out = append(out, p)
		}
	}
	return out
}

func overlaps(places []Place, dir, real string) bool {
	for _, p := range places {
		if within(dir, p.Path) || within(p.Path, dir) || within(real, p.Real) || within(p.Real, real) {
			return true
		}
	}
	return false
}
