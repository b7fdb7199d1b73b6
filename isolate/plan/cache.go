package plan

import "fmt"

// Layered is a host folder that the session changes in a layer of its own.
type Layered struct{ Lower, Upper Place }

// checkCaches holds a cache to what holds for what is read-only, and to be in
// the way of nothing: it can be written, and covers what was there.
func checkCaches(in Input) error {
	for i, c := range in.Caches {
		at := c.Lower.Inside
		if err := checkInside("cache", at); err != nil {
			return err
		}
		switch {
		case !clean(c.Lower.Host) || !clean(c.Upper.Host):
			return fmt.Errorf("cache %q of %q and %q: want absolute, clean paths", at, c.Lower.Host, c.Upper.Host)
		case c.Lower.File || c.Upper.File:
			return fmt.Errorf("cache %q: want folders", at)
		case within(at, in.Workspace.Inside) || within(in.Workspace.Inside, at):
			return fmt.Errorf("cache %q and the workspace %q: one lies in the other", at, in.Workspace.Inside)
		case in.HostHome != "" && within(in.HostHome, c.Lower.Host):
			return fmt.Errorf("cache %q holds the home %q", c.Lower.Host, in.HostHome)
		case within(c.Upper.Host, c.Lower.Host) || within(c.Lower.Host, c.Upper.Host):
			return fmt.Errorf("cache %q: its private layer %q and the host's folder lie in one another", at, c.Upper.Host)
		}
		for _, pl := range in.ReadOnly {
			if within(pl.Inside, at) {
				return fmt.Errorf("cache %q would cover the read-only input %q", at, pl.Inside)
			}
		}
		for _, other := range in.Caches[:i] {
			if within(at, other.Lower.Inside) || within(other.Lower.Inside, at) || other.Upper.Host == c.Upper.Host {
				return fmt.Errorf("caches %q and %q: one lies in the other, or they share a layer", at, other.Lower.Inside)
			}
		}
	}
	return nil
}

func lowers(all []Layered) []Place {
	var out []Place
	for _, c := range all {
		out = append(out, c.Lower)
	}
	return out
}

// caches come after what is read-only: one may lie in such a folder.
func caches(all []Layered) []Step {
	var out []Step
	for _, c := range all {
		out = append(out, Step{
			Do: Cache, Target: rel(c.Lower.Inside), Source: c.Lower.Host, FD: c.Lower.FD, Dev: c.Lower.Dev, Ino: c.Lower.Ino,
			Upper: Folder{Path: c.Upper.Host, FD: c.Upper.FD, Dev: c.Upper.Dev, Ino: c.Upper.Ino},
		})
	}
	return out
}
