package policy

import (
	"path"
	"slices"
	"sort"
	"strings"
)

// Place is a folder or file of the host that goes in read-only.
type Place struct {
	// Path is its name on the host, and where it appears inside. Real is what
	// that leads to when links are followed. Where they differ, Real must
	// appear inside under its own name too, since links below it may use it.
	Path, Real string
}

// Refusal is a path that does not go in, and why.
type Refusal struct{ Path, Why string }

// Toolset is what "auto" finds of toolchain managers in the user's home.
type Toolset struct {
	Mounts []Place // folders, sorted by Path, none within another
	// Files are small settings that managers need beside their folders, such
	// as which version is the default; to be copied to the same place in the
	// session's home, and to be there at their own, which shims name. None of
	// them is known to hold a secret.
	Files []Place
	// Path is the host's PATH with what is not there inside taken out.
	Path []string
	// Offered are folders on PATH that no known manager owns: they can be
	// named in filesystem.toolchains, and do not go in by themselves.
	Offered []string
	Refused []Refusal
}

// manager is one row: where a toolchain manager lives under the home and which
// of its sub-folders hold programs. Only sub-folders are ever taken, so that
// what lies beside them (~/.cargo/credentials.toml, ~/.local/share/uv/credentials)
// stays out.
type manager struct {
	root  string   // under the home
	take  []string // under root; "*" is the folder that PATH points into
	files []string // under the home
	// when is folders under the home: PATH must point into one; none is root.
	when []string
}

func managers() []manager {
	return []manager{
		{root: ".nvm", take: []string{"versions"}},
		{root: ".local/share/fnm", take: []string{"node-versions"}},
		{root: ".fnm", take: []string{"node-versions"}},
		// Without its layout file a shim sets out to move everything to a new one.
		{root: ".volta", take: []string{"bin", "tools"}, files: []string{".volta/layout.v3", ".volta/layout.v4"}},
		{root: ".pyenv", take: []string{"bin", "shims", "versions", "libexec"}, files: []string{".pyenv/version"}},
		{root: ".nodenv", take: []string{"bin", "shims", "versions", "libexec"}, files: []string{".nodenv/version"}},
		{root: ".goenv", take: []string{"bin", "shims", "versions", "libexec"}, files: []string{".goenv/version"}},
		{root: ".rbenv", take: []string{"bin", "shims", "versions", "libexec"}, files: []string{".rbenv/version"}},
		{root: ".cargo", take: []string{"bin"}},
		{root: ".rustup", take: []string{"toolchains"}, files: []string{".rustup/settings.toml"}, when: []string{".cargo/bin"}},
		{root: "go", take: []string{"bin"}},
		{root: "sdk", take: []string{"*"}},
		{root: ".local/go", take: []string{"bin", "pkg", "src", "lib"}},
		{root: ".local/share/mise", take: []string{"installs", "shims"}, files: []string{".tool-versions"}},
		{root: ".local", take: []string{"bin"}, when: []string{".local/share/mise/shims"}}, // each shim is a link to mise in it
		{root: ".asdf", take: []string{"bin", "shims", "installs", "plugins", "lib"}, files: []string{".tool-versions", ".asdfrc", ".asdf/defaults"}},
		{root: ".bun", take: []string{"bin", "install/global"}},
		{root: ".deno", take: []string{"bin"}},
		{root: ".sdkman", take: []string{"candidates"}},
		{root: ".local", take: []string{"bin", "lib"}, when: []string{".local/bin"}},
		{root: ".local/share/uv", take: []string{"python", "tools"}, when: []string{".local/bin", ".cargo/bin", ".local/share/uv"}},
		{root: ".local/share/pipx", take: []string{"venvs", "shared", "py"}, when: []string{".local/bin"}},
		{root: ".local/pipx", take: []string{"venvs", "shared"}, when: []string{".local/bin"}},
		// Agents: what their own installers link to from ~/.local/bin, and npm's
		// folder of an account that can't write to the system's.
		{root: ".local/share/claude", take: []string{"versions"}, when: []string{".local/bin"}},
		{root: ".opencode", take: []string{"bin"}},
		{root: ".npm-global", take: []string{"bin", "lib"}},
	}
}

// systemFolders are inside in any case.
func systemFolders() []string { return []string{"/usr", "/bin", "/sbin", "/opt"} }

// Search is where Toolchains looks.
type Search struct {
	Path []string // the entries of PATH, in order
	// Links are folders beside PATH that programs are looked for in by links: of
	// a venv in the repository to its interpreter, say.
	Links []string
	Given []Place // what goes in already, by the policy
}

// Toolchains finds the folders of known toolchain managers that PATH points
// at. home is the user's home. exists
// tells whether something is there (links followed), resolve follows every
// link of a path. A real path that is the home, above it or inside a
// repository is refused: a start goes on without it, and shows it.
func Toolchains(home string, s Search, exists func(string) bool, resolve func(string) (string, error)) Toolset {
	f := finder{home: home, exists: exists, resolve: resolve, given: s.Given}
	f.homes = []string{home}
	if real, err := resolve(home); err == nil && real != home {
		f.homes = append(f.homes, real)
	}
	known := managers()
	for _, entry := range slices.Concat(s.Path, s.Links) {
		f.entry(entry, known)
	}
	f.set.Mounts = outermost(f.set.Mounts)
	f.path(s.Path)
	return f.set
}

type finder struct {
	home    string
	homes   []string // home, and what it leads to
	exists  func(string) bool
	resolve func(string) (string, error)
	set     Toolset
	given   []Place
	seen    map[string]bool
}

// first tells whether a path is met for the first time.
func (f *finder) first(what, name string) bool {
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	met := f.seen[what+name]
	f.seen[what+name] = true
	return !met
}

func (f *finder) refuse(name, why string) {
	if f.first("refused ", name) {
		f.set.Refused = append(f.set.Refused, Refusal{Path: name, Why: why})
	}
}

// entry looks at one folder of PATH.
func (f *finder) entry(entry string, known []manager) {
	if !path.IsAbs(entry) {
		f.refuse(entry, "not absolute: it means another folder in each folder")
		return
	}
	entry = path.Clean(entry)
	real, err := f.resolve(entry)
	if err != nil || withinAny(entry, systemFolders()) && withinAny(real, systemFolders()) {
		return // not there on the host either, or inside in any case
	}
	owned := false
	for _, m := range known {
		if f.points(entry, real, m) {
			owned = true
			f.take(m, entry, real)
		}
	}
	if owned || f.isGiven(entry, real) {
		return
	}
	if why := f.bad(real, ""); why != "" {
		f.refuse(entry, why)
		return
	}
	if f.first("offered ", entry) {
		f.set.Offered = append(f.set.Offered, entry)
	}
}

// points tells whether an entry of PATH leads into the folder of a manager, by
// name or by links, as those of fnm do.
func (f *finder) points(entry, real string, m manager) bool {
	when := m.when
	if len(when) == 0 {
		when = []string{m.root}
	}
	for _, w := range when {
		for _, home := range f.homes {
			if dir := path.Join(home, w); within(entry, dir) || within(real, dir) {
				return true
			}
		}
		root, err := f.resolve(path.Join(f.home, w))
		if err == nil && within(real, root) && !f.holdsHome(root) {
			return true
		}
	}
	return false
}

// isGiven tells whether the policy brings a folder in already.
func (f *finder) isGiven(entry, real string) bool {
	return slices.ContainsFunc(f.given, func(p Place) bool { return within(entry, p.Path) || within(real, p.Real) })
}

// take brings in the sub-folders of one manager.
func (f *finder) take(m manager, entry, real string) {
	root := path.Join(f.home, m.root)
	rootReal, err := f.resolve(root)
	if err != nil {
		return
	}
	for _, sub := range m.take {
		if sub == "*" {
			sub = below(entry, root)
			if sub == "" {
				sub = below(real, rootReal)
			}
			if sub == "" {
				continue // PATH points at the root itself
			}
		}
		f.mount(path.Join(root, sub), rootReal)
	}
	for _, name := range m.files {
		file := path.Join(f.home, name)
		to, err := f.resolve(file)
		if err != nil || !f.first("file ", file) {
			continue
		}
		if why := f.bad(to, rootReal); why != "" {
			f.refuse(file, why)
			continue
		}
		f.set.Files = append(f.set.Files, Place{Path: file, Real: to})
	}
}

// mount takes one folder, unless it leads where it should not.
func (f *finder) mount(dir, rootReal string) {
	real, err := f.resolve(dir)
	if err != nil || !f.first("mount ", dir) {
		return
	}
	why := f.bad(real, rootReal)
	if why == "" && (real == rootReal || !within(real, rootReal)) && withinAny(real, f.homes) {
		why = "leads to " + real + ", another place in the home"
	}
	if why != "" {
		f.refuse(dir, why)
		return
	}
	f.set.Mounts = append(f.set.Mounts, Place{Path: dir, Real: real})
}

// bad says why a real path must not go in. A manager's own root may be a
// repository, since several are installed as a clone.
func (f *finder) bad(real, rootReal string) string {
	if f.holdsHome(real) {
		return "leads to " + real + ", which is the home or holds it"
	}
	for dir := real; dir != "/" && dir != "." && !contains(f.homes, dir); dir = path.Dir(dir) {
		if rootReal != "" && within(dir, rootReal) {
			continue
		}
		if f.exists(path.Join(dir, ".git")) {
			return "inside the repository " + dir
		}
	}
	return ""
}

func (f *finder) holdsHome(dir string) bool {
	for _, home := range f.homes {
		if within(home, dir) {
			return true
		}
	}
	return false
}

// path keeps the entries of PATH that are there inside. One that leads into a
// mount by links that are not inside is written as what it leads to.
func (f *finder) path(entries []string) {
	for _, entry := range entries {
		if !path.IsAbs(entry) {
			continue
		}
		entry = path.Clean(entry)
		real, err := f.resolve(entry)
		if err != nil {
			continue
		}
		if to := f.inside(entry, real); to != "" && f.first("path ", to) {
			f.set.Path = append(f.set.Path, to)
		}
	}
}

func (f *finder) inside(entry, real string) string {
	if withinAny(entry, systemFolders()) && withinAny(real, systemFolders()) {
		return entry
	}
	for _, m := range slices.Concat(f.set.Mounts, f.given) {
		if within(entry, m.Path) {
			return entry
		}
		if within(real, m.Real) {
			return m.Path + strings.TrimPrefix(real, m.Real)
		}
	}
	return ""
}

// within tells whether name is dir or below it; both are clean.
func within(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

func withinAny(name string, dirs []string) bool {
	for _, dir := range dirs {
		if within(name, dir) {
			return true
		}
	}
	return false
}

// below is the first component of name under dir; "" when there is none.
func below(name, dir string) string {
	rest, ok := strings.CutPrefix(name, dir+"/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

// outermost sorts places and drops those within another.
func outermost(all []Place) []Place {
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	var kept []Place
	for _, p := range all {
		if n := len(kept); n > 0 && within(p.Path, kept[n-1].Path) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}
