package kit

import "fumehood/isolate/layer"

// Mark is what is known of one wall.
type Mark string

// The marks. None means held: that takes a wall test, and there are none yet.
const (
	Unproven Mark = "?" // its layers were read in force from outside; not proven by a test
	Failed   Mark = "✗" // a layer of it was read and is not in force
	NoWall   Mark = "·" // nothing runs, or nothing was read yet
)

// Cell is one wall in the strip.
type Cell struct {
	Name, Letter string
	Mark         Mark
	Means        string
	Layers       []layer.Name
}

// walls lists the walls of the strip and the layers that each rests on.
var walls = []Cell{
	{"fs", "F", NoWall, "filesystem: only the copy, its home and /tmp", []layer.Name{layer.Namespaces, layer.Landlock}},
	{"net", "N", NoWall, "network: nothing but its own loopback", []layer.Name{layer.Namespaces, layer.Seccomp}},
	{"cred", "C", NoWall, "credentials: none of yours are inside", []layer.Name{layer.Namespaces, layer.Identity, layer.Landlock}},
	{"lim", "L", NoWall, "limits: bounded in memory, processes and time", []layer.Name{layer.Limits}},
	{"life", "T", NoWall, "lifecycle: nothing outlives the session", []layer.Name{layer.Namespaces}},
	{"out", "O", NoWall, "results: only what you approve comes back", []layer.Name{layer.Namespaces, layer.Landlock}},
	{"box", "B", NoWall, "boundary: no way to gain rights from inside", []layer.Name{layer.Identity, layer.Seccomp}},
}

// Strip judges the walls of one session from the facts read of its layers.
func Strip(facts []layer.Fact, live bool) []Cell {
	out := append([]Cell{}, walls...)
	if !live {
		return out
	}
	seen, bad := map[layer.Name]bool{}, map[layer.Name]bool{}
	for _, f := range facts {
		seen[f.Layer] = true
		bad[f.Layer] = bad[f.Layer] || !f.OK
	}
	for i := range out {
		out[i].Mark = Unproven
		for _, l := range out[i].Layers {
			if bad[l] {
				out[i].Mark = Failed
				break
			}
			if !seen[l] {
				out[i].Mark = NoWall
			}
		}
	}
	return out
}

// Down is the verdict on a strip with a failed wall.
const Down = "A WALL IS DOWN"

// InForce is the best verdict that there is without wall tests.
const InForce = "in force, not proven"

// Verdict says in a few words what the strip means.
func Verdict(cells []Cell, live bool) string {
	if !live {
		return "nothing runs"
	}
	n := map[Mark]int{}
	for _, c := range cells {
		n[c.Mark]++
	}
	switch {
	case n[Failed] > 0:
		return Down
	case n[NoWall] > 0:
		return "not read yet"
	}
	return InForce
}
