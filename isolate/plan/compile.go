package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"fumehood/isolate/layer"
)

// Hostname is the machine's name inside.
const Hostname = "fumehood"

// Place is a host folder or file and where it appears.
type Place struct {
	Host, Inside string
	File         bool // a single file: copied
	FD           int  // see Step.FD
	Dev, Ino     uint64
}

// Entry is one thing found on the host, by a name of Top, EtcFiles or
// EtcFolders. Link is its target when it is to appear as a link.
type Entry struct{ Name, Link string }

// Host is what was found on the host.
type Host struct {
	LandlockABI int
	Top         []Entry
	EtcFiles    []Entry
	EtcFolders  []Entry
	ProcFiles   []string // those of ProcMasks that exist
	Bundles     []string // those of Bundles that are files
}

// ProcMasks is what of /proc is covered. As an unprivileged id the session
// could not write most of it anyway; keys would show it the names of the
// account's own keys.
func ProcMasks() []string {
	return []string{"kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "kallsyms", "kmsg"}
}

// Input is what a plan is made from. All paths are absolute and clean.
type Input struct {
	UID, GID                int
	User, Shell             string
	HostHome                string // the account's real home; may be empty
	Workspace, Home, Canary Place
	Program                 Place // fumehood's own file
	ReadOnly                []Place
	Caches                  []Layered
	Limits                  Limits
	TmpBytes                uint64 // of /tmp, /var/tmp, /dev/shm and /run each; 0 is the kernel's default
	Nonce, MachineID        string
	Egress                  bool
	Trust                   Place // the session's certificates; no Host is none
	Require                 []string
	Host                    Host
}

// Compile makes the plan, or says what is wrong with the input.
func Compile(in Input) (*Plan, error) {
	if err := check(in); err != nil {
		return nil, err
	}
	if err := require(in.Require, in.Host.LandlockABI); err != nil {
		return nil, err
	}
	p := &Plan{
		Version: Version, Hostname: Hostname, UID: in.UID, GID: in.GID,
		Limits: in.Limits, Egress: in.Egress, Nonce: in.Nonce, Landlock: Handled(in.Host.LandlockABI),
	}
	ro := slices.Clone(in.ReadOnly)
	// A folder before what is mounted inside it.
	slices.SortStableFunc(ro, func(a, b Place) int { return strings.Compare(a.Inside, b.Inside) })

	p.add(system(in.Host)...)
	p.add(etc(in)...)
	p.add(private(in)...)
	p.add(trust(in)...)
	files, folders := readOnly(ro)
	p.add(files...)
	p.add(seal(in.Workspace.Inside, slices.Concat(ro, lowers(in.Caches)))...)
	p.add(folders...)
	p.add(caches(in.Caches)...)
	p.add(Step{Do: Bind, Target: rel(in.Workspace.Inside), Source: in.Workspace.Host, FD: in.Workspace.FD, Dev: in.Workspace.Dev, Ino: in.Workspace.Ino})
	p.add(Step{Do: Bind, Target: rel(Home), Source: in.Home.Host, FD: in.Home.FD, Dev: in.Home.Dev, Ino: in.Home.Ino})
	p.add(Step{Do: Bind, Target: rel(Canary), Source: in.Canary.Host, FD: in.Canary.FD, Dev: in.Canary.Dev, Ino: in.Canary.Ino})
	p.add(Step{Do: Program, Target: rel(Spawner), Source: in.Program.Host, FD: in.Program.FD, Dev: in.Program.Dev, Ino: in.Program.Ino})
	for _, pl := range ro {
		if below, ok := under(pl.Inside, in.HostHome); ok && !pl.File {
			p.add(Step{Do: HomeView, Target: below, Source: pl.Inside})
		}
	}
	for _, pl := range lowers(in.Caches) {
		if below, ok := under(pl.Inside, in.HostHome); ok {
			p.add(Step{Do: CacheView, Target: below, Source: pl.Inside})
		}
	}
	p.Landlock.Rules = rules(in, ro, p.Landlock.FS)
	return p, nil
}

func (p *Plan) add(s ...Step) { p.Steps = append(p.Steps, s...) }

// system is the host's own programs and libraries.
func system(h Host) []Step {
	// An overlay without an upper layer needs two lower ones; the second is
	// this folder, which stays empty.
	steps := []Step{{Do: Dir, Target: Empty, Mode: 0o555}}
	for _, e := range h.Top {
		if e.Link != "" {
			steps = append(steps, Step{Do: Symlink, Target: e.Name, Text: e.Link})
			continue
		}
		steps = append(steps, Step{Do: Overlay, Target: e.Name, Source: "/" + e.Name})
	}
	return steps
}

// Empty is the folder that stands as the second lower layer.
const Empty = "fumehood/empty"

func etc(in Input) []Step {
	steps := []Step{{Do: Dir, Target: "etc", Mode: 0o755}}
	for _, e := range in.Host.EtcFolders {
		steps = append(steps, Step{Do: Overlay, Target: "etc/" + e.Name, Source: "/etc/" + e.Name})
	}
	for _, e := range in.Host.EtcFiles {
		if slices.ContainsFunc(in.Host.EtcFolders, func(f Entry) bool { return strings.HasPrefix(e.Name, f.Name+"/") }) {
			continue // there already
		}
		if e.Link != "" {
			steps = append(steps, Step{Do: Symlink, Target: "etc/" + e.Name, Text: e.Link})
			continue
		}
		steps = append(steps, Step{Do: Copy, Target: "etc/" + e.Name, Source: "/etc/" + e.Name, Mode: 0o644})
	}
	return append(steps, etcMade(in)...)
}

// private is what belongs to the session alone.
func private(in Input) []Step {
	tmp := func(target string, mode uint32) Step {
		return Step{Do: Tmpfs, Target: target, Mode: mode, Size: in.TmpBytes}
	}
	steps := []Step{
		{Do: Proc, Target: "proc"},
		{Do: ReadOnly, Target: "proc/sys"},
		tmp("tmp", 0o1777), tmp("var/tmp", 0o1777), tmp("run", 0o755),
		{Do: Symlink, Target: "var/run", Text: "../run"},
		{Do: Dir, Target: "dev", Mode: 0o755},
	}
	for _, name := range Devices() {
		steps = append(steps, Step{Do: Device, Target: "dev/" + name, Source: "/dev/" + name})
	}
	for _, name := range in.Host.ProcFiles {
		steps = append(steps, Step{Do: Mask, Target: "proc/" + name})
	}
	return append(steps,
		Step{Do: Devpts, Target: "dev/pts"},
		tmp("dev/shm", 0o1777),
		Step{Do: Symlink, Target: "dev/ptmx", Text: "pts/ptmx"},
		Step{Do: Symlink, Target: "dev/fd", Text: "/proc/self/fd"},
		Step{Do: Symlink, Target: "dev/stdin", Text: "/proc/self/fd/0"},
		Step{Do: Symlink, Target: "dev/stdout", Text: "/proc/self/fd/1"},
		Step{Do: Symlink, Target: "dev/stderr", Text: "/proc/self/fd/2"},
	)
}

// Devices is every device node inside.
func Devices() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

// readOnly is what of the host goes in read-only. Files first: a folder that
// holds one covers it.
func readOnly(places []Place) (files, folders []Step) {
	for _, pl := range places {
		s := Step{Do: Overlay, Target: rel(pl.Inside), Source: pl.Host, FD: pl.FD, Dev: pl.Dev, Ino: pl.Ino}
		if pl.File {
			s.Do, s.Mode = Copy, 0o644
			files = append(files, s)
			continue
		}
		folders = append(folders, s)
	}
	return files, folders
}

// seal makes the folders above a workspace that lies in a place which is
// private and writable inside, such as /tmp, read-only: agents look for
// instructions in every folder above, and nothing written there comes back.
func seal(workspace string, ro []Place) []Step {
	for _, private := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run"} {
		below, ok := under(workspace, private)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(below, "/")
		if !deeper {
			return nil // what is above it is the private place itself
		}
		top := private + "/" + first
		// Where something is mounted a folder must be there before.
		steps := []Step{{Do: Dir, Target: rel(workspace), Mode: 0o755}}
		for _, pl := range ro {
			if within(pl.Inside, top) && !pl.File {
				steps = append(steps, Step{Do: Dir, Target: rel(pl.Inside), Mode: 0o755})
			}
		}
		return append(steps, Step{Do: ReadOnly, Target: rel(top)})
	}
	return nil
}

// rules grants what the steps bring in. Network rights are not handled: the
// network namespace is empty, and a server on its own loopback is wanted.
func rules(in Input, ro []Place, handled uint64) []Rule {
	var out []Rule
	grant := func(rights uint64, paths ...string) {
		for _, p := range paths {
			out = append(out, Rule{Path: p, Access: rights & handled})
		}
	}
	// Without it not even "ls /" works. What is below is what the mounts show.
	grant(rightsList, "/")
	for _, e := range in.Host.Top {
		if e.Link == "" {
			grant(rightsFolder, "/"+e.Name)
		}
	}
	grant(rightsRead|fsExecute, "/etc")
	grant(rightsRead, "/proc")
	for _, name := range Devices() {
		grant(rightsDevice, "/dev/"+name)
	}
	grant(rightsPts, "/dev/pts")
	for _, pl := range ro {
		if pl.File {
			grant(rightsFile, pl.Inside)
			continue
		}
		grant(rightsFolder, pl.Inside)
	}
	for _, pl := range lowers(in.Caches) {
		grant(rightsWrite, pl.Inside)
	}
	grant(rightsWrite, "/tmp", "/var/tmp", "/dev/shm", "/run", Home, in.Workspace.Inside, CanaryAllowed)
	grant(rightsFile, Spawner)
	if in.Trust.Host != "" {
		grant(rightsRead, Trust)
	}
	return out
}

// require meets a policy's demands: each names a layer, with a level where it
// asks for one. Every layer is closed anyway, so only levels can be missing.
func require(want []string, abi int) error {
	if abi < MinABI {
		return &layer.Error{
			Layer: layer.Landlock, Op: fmt.Sprintf("need ABI %d, the kernel has %d", MinABI, abi), Err: errOld,
			Hint: `a kernel from 5.19 on with "landlock" among its security modules (lsm= on the kernel command line) is needed`,
		}
	}
	for _, w := range want {
		name, level, leveled := strings.Cut(w, ">=")
		if !slices.Contains(layer.All(), layer.Name(name)) {
			return fmt.Errorf("required layer %q is not known", w)
		}
		if !leveled {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(level, "%d", &n); err != nil || fmt.Sprint(n) != level || layer.Name(name) != layer.Landlock {
			return fmt.Errorf("required layer %q: only landlock has a level, as in \"landlock>=6\"", w)
		}
		if abi < n || n > MaxABI {
			return &layer.Error{
				Layer: layer.Landlock, Op: fmt.Sprintf("policy asks for ABI %d, the kernel has %d, fumehood knows %d", n, abi, MaxABI), Err: errOld,
				Hint: "ask for less in [boundary] require, or use a newer kernel",
			}
		}
	}
	return nil
}

func rel(inside string) string { return strings.TrimPrefix(inside, "/") }

// under says whether p is strictly below dir, and its path from there.
func under(p, dir string) (string, bool) {
	if dir == "" || dir == "/" {
		return "", false
	}
	return strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

func within(p, dir string) bool {
	_, ok := under(p, dir)
	return ok || p == dir
}

func clean(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
