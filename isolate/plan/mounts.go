package plan

import (
	"fmt"
	"slices"
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
}

// Expected is the mount table that the steps lead to, once the canary is
// unmounted. Nothing else may be mounted.
func Expected(steps []Step) []Mount {
	out := []Mount{{Point: "/", Type: "tmpfs", RO: true, NoDev: true, NoSUID: true}}
	for _, s := range steps {
		m := Mount{Point: "/" + s.Target, NoDev: true, NoSUID: true}
		switch s.Do {
		case Dir, File, Copy, Symlink, Program:
			continue
		case Tmpfs:
			m.Type = "tmpfs"
		case Overlay:
			m.Type, m.RO = "overlay", true
		case HomeView:
			m.Point, m.Type, m.RO = Home+"/"+s.Target, "overlay", true
		case Bind:
			if m.Point == Canary {
				continue
			}
		case Device:
			m.NoDev = false
		case Mask:
			m.NoDev, m.RO = false, true
		case Devpts:
			m.Type, m.NoDev = "devpts", false
		case Proc:
			m.Type = "proc"
		case ReadOnly:
			m.RO = true // of the type of what it covers
		}
		out = append(out, m)
	}
	return out
}

// Compare says in which ways the text of a mountinfo file differs from want.
func Compare(want []Mount, mountinfo string) []string {
	got, diffs := parseMountinfo(mountinfo)
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
	}
	for _, g := range got {
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
		})
	}
	return mounts, bad
}

// unescape undoes the kernel's octal escapes of space, tab, newline, backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`).Replace(s)
}
