package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of the mount table: where, of which kind, how restricted.
type Mount struct {
	Point string
	Type  string // "" where it is the host's, unknown here
	RO    bool
	NoDev bool
	// NoSUID holds for every mount of a sandbox.
	NoSUID bool
	// Own is a file system of the sandbox's own, of which the host has no mount.
	Own bool
	// Size is the most that it holds in bytes; 0 is not looked at.
	Size uint64
	// Tree says that the host's own mounts may be below it.
	Tree bool

	dev string
}

// Expected is the mount table that the steps lead to, once the canary is
// unmounted. Nothing else may be mounted.
func Expected(steps []Step) []Mount {
	out := []Mount{{Point: "/", Type: "tmpfs", RO: true, NoDev: true, NoSUID: true, Own: true}}
	for _, s := range steps {
		m := Mount{Point: "/" + s.Target, NoDev: true, NoSUID: true}
		switch s.Do {
		case Dir, File, Copy, Symlink, Program:
			continue
		case Tmpfs:
			m.Type, m.Own, m.Size = "tmpfs", true, s.Size
		case Overlay:
			m.Type, m.RO, m.Own = "overlay", true, true
		case HomeView:
			m.Point, m.Type, m.RO, m.Own = Home+"/"+s.Target, "overlay", true, true
		case Cache:
			m.Type, m.Own = "overlay", true
		case CacheView:
			m.Point, m.Type, m.Own = Home+"/"+s.Target, "overlay", true
		case Bind:
			if m.Point == Canary {
				continue
			}
		case Device:
			m.NoDev = false
		case Mask:
			m.NoDev, m.RO = false, true
		case Cover:
			m.RO = true
		case Devpts:
			m.Type, m.NoDev, m.Own = "devpts", false, true
		case Proc:
			m.Type, m.Own = "proc", true
		case ReadOnly:
			m.RO = true // of the type of what it covers
		case HostTree:
			m.Tree = true
		}
		if s.Host {
			m.Type, m.Own, m.Size, m.Tree = "", false, 0, true
		}
		out = append(out, m)
	}
	return out
}

// Compare says in which ways the text of a mountinfo file differs from want.
// host is that of a process outside.
func Compare(want []Mount, mountinfo, host string) []string {
	got, diffs := parseMountinfo(mountinfo)
	outside, bad := parseMountinfo(host)
	diffs = append(diffs, bad...)
	for _, w := range want {
		i := slices.IndexFunc(got, func(g Mount) bool { return g.Point == w.Point })
		if i < 0 {
			diffs = append(diffs, fmt.Sprintf("%q is not mounted", w.Point))
			continue
		}
		g := got[i]
		got = slices.Delete(got, i, i+1)
		if w.Type != "" && g.Type != w.Type {
			diffs = append(diffs, fmt.Sprintf("%q is of type %q, want %q", w.Point, g.Type, w.Type))
		}
		if w.RO && !g.RO {
			diffs = append(diffs, fmt.Sprintf("%q can be written", w.Point))
		}
		if w.NoDev && !g.NoDev {
			diffs = append(diffs, fmt.Sprintf("%q allows devices", w.Point))
		}
		if w.NoSUID && !g.NoSUID {
			diffs = append(diffs, fmt.Sprintf("%q allows set-user-id", w.Point))
		}
		if w.Own && slices.ContainsFunc(outside, func(h Mount) bool { return h.dev == g.dev }) {
			diffs = append(diffs, fmt.Sprintf("%q is the host's", w.Point))
		}
		if w.Size > 0 && (g.Size == 0 || g.Size > w.Size+maxPage) {
			diffs = append(diffs, fmt.Sprintf("%q holds %d bytes (0 is not bounded), want at most %d", w.Point, g.Size, w.Size))
		}
	}
	for _, g := range got {
		if slices.ContainsFunc(want, func(w Mount) bool { return w.Tree && strings.HasPrefix(g.Point, w.Point+"/") }) {
			continue
		}
		diffs = append(diffs, fmt.Sprintf("%q is mounted, and not of the plan", g.Point))
	}
	return diffs
}

func parseMountinfo(text string) (mounts []Mount, bad []string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		sep := slices.Index(f, "-")
		if len(f) < 7 || sep < 6 || sep+1 >= len(f) {
			bad = append(bad, fmt.Sprintf("mount table line %q is not understood", line))
			continue
		}
		opts := strings.Split(f[5], ",")
		has := func(o string) bool { return slices.Contains(opts, o) }
		mounts = append(mounts, Mount{
			Point: unescape(f[4]), Type: f[sep+1],
			RO: has("ro"), NoDev: has("nodev"), NoSUID: has("nosuid"),
			dev: f[2], Size: sizeOf(f[len(f)-1]),
		})
	}
	return mounts, bad
}

// maxPage is what the kernel may add to the size of a tmpfs: the rest of a page.
const maxPage = 64 << 10

// sizeOf is the size among a file system's own options; 0 when it has none.
func sizeOf(options string) uint64 {
	for o := range strings.SplitSeq(options, ",") {
		kib, ok := strings.CutSuffix(strings.TrimPrefix(o, "size="), "k")
		if !ok || !strings.HasPrefix(o, "size=") {
			continue
		}
		if n, err := strconv.ParseUint(kib, 10, 54); err == nil {
			return n << 10
		}
	}
	return 0
}

// unescape undoes the kernel's octal escapes of space, tab, newline, backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`).Replace(s)
}
