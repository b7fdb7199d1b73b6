package kit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fumehood/isolate/layer"
	"fumehood/isolate/walls"
	"fumehood/ui/style"
)

// Cell is one wall in the strip.
type Cell struct {
	Name, Letter string
	Wall         walls.Wall
	Mark         walls.Mark
	Means        string
	Layers       []layer.Name // what it rests on
}

// cells lists the walls of the strip, in their order.
var cells = []Cell{
	{"fs", "F", walls.FilesystemWall, "", "filesystem: only the copy, its home and /tmp", []layer.Name{layer.Namespaces, layer.Landlock}},
	{"net", "N", walls.NetworkWall, "", "network: nothing but what the policy allows", []layer.Name{layer.Namespaces, layer.Seccomp}},
	{"cred", "C", walls.CredentialsWall, "", "credentials: none of yours are inside", []layer.Name{layer.Namespaces, layer.Identity, layer.Landlock}},
	{"lim", "L", walls.LimitsWall, "", "limits: bounded as the policy says", []layer.Name{layer.Limits}},
	{"life", "T", walls.LifecycleWall, "", "lifecycle: nothing outlives the session", []layer.Name{layer.Namespaces}},
	{"out", "O", walls.ResultsWall, "", "results: only what you approve comes back", []layer.Name{layer.Namespaces, layer.Landlock}},
	{"box", "B", walls.BoundaryWall, "", "boundary: no way to gain rights from inside", []layer.Name{layer.Identity, layer.Seccomp}},
}

// Proof is what is known of a policy's walls, and of the session that has it.
type Proof struct {
	Known    bool // false until it was asked for
	Standing walls.Standing
	Err      string // why it can't be told; then nothing is proven
	// Elsewhere: it can be told on another machine alone.
	Elsewhere bool
	Live      bool // a session runs behind these walls
	Facts     []layer.Fact
}

// Strip judges each wall: by the newest record of the wall tests, and for a
// session that runs by its layers as read from outside. A layer that is not in
// force outweighs any proof, and no wall is held of which nothing was read.
func Strip(p Proof) []Cell {
	out := slices.Clone(cells)
	seen, bad := map[layer.Name]bool{}, map[layer.Name]bool{}
	for _, f := range p.Facts {
		seen[f.Layer] = true
		bad[f.Layer] = bad[f.Layer] || !f.OK
	}
	for i := range out {
		c := &out[i]
		c.Mark = walls.MarkUnproven
		if p.Known && p.Err == "" {
			c.Mark = p.Standing.Of(c.Wall)
		}
		if !p.Live {
			continue
		}
		for _, l := range c.Layers {
			if bad[l] {
				c.Mark = walls.MarkFailed
				break
			}
			if !seen[l] && (c.Mark == walls.MarkHeld || c.Mark == walls.MarkStale) {
				c.Mark = walls.MarkUnproven
			}
		}
	}
	return out
}

// Down is the verdict on a session with a layer that is not in force.
const Down = "A WALL IS DOWN"

// Verdict says in a few words what the strip means; alarm is for one that must
// not be overlooked.
func (p Proof) Verdict(now time.Time) (text string, alarm bool) {
	if p.Live {
		for _, f := range p.Facts {
			if !f.OK {
				return Down, true
			}
		}
	}
	r, age := p.Standing.Record, Age(now.Sub(p.Standing.Since()))
	switch {
	case !p.Known:
		return "reading…", false
	case p.Elsewhere:
		return "proof elsewhere", false
	case p.Err != "":
		return "no readable proof", true
	case r == nil:
		return "not proven", false
	case !r.Clean():
		return "FAILED " + age, true
	case !r.Complete():
		return "not proven", false
	case p.Live && len(p.Facts) == 0:
		return "not read yet", false
	case len(p.Standing.Stale) > 0:
		return "stale " + age, false
	}
	return "proven " + age, false
}

// Sentence says the same in words.
func (p Proof) Sentence(now time.Time) string {
	r := p.Standing.Record
	switch {
	case !p.Known:
		return "not read yet"
	case p.Elsewhere:
		return "proof elsewhere: what is proven of its walls can be told where the session is"
	case p.Err != "":
		return "not proven: " + p.Err
	case r == nil:
		return "not proven: the wall tests were not run with this policy"
	}
	when := Ago(now.Sub(r.Date))
	if ok, why := p.Standing.Proven(); !ok {
		if r.Clean() && len(p.Standing.Stale) > 0 {
			return "stale: they held " + when + ", and since then " + strings.Join(p.Standing.Stale, "; ")
		}
		return "NOT PROVEN: " + why + ", " + when
	}
	return "proven on this machine as it is now, " + when
}

// MarkStyle is the colour that goes with a mark.
func MarkStyle(st *style.Styles, m walls.Mark) style.Style {
	switch m {
	case walls.MarkHeld:
		return st.Held
	case walls.MarkFailed:
		return st.Danger
	case walls.MarkStale, walls.MarkUnproven:
		return st.Stale
	case walls.MarkNA:
	}
	return st.Muted
}

// DrawStrip draws the cells, by letter where there is little room. Without
// UTF-8 the marks are ones that do not read as letters of the name.
func DrawStrip(st *style.Styles, cells []Cell, letters, ascii bool) string {
	var b strings.Builder
	for i, c := range cells {
		name, mark := c.Name, string(c.Mark)
		if letters {
			name = c.Letter
		}
		if plain, ok := plainMarks[c.Mark]; ok && ascii {
			mark = plain
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		ms := MarkStyle(st, c.Mark)
		if c.Mark == walls.MarkFailed {
			b.WriteString(ms.Render(name + mark))
			continue
		}
		b.WriteString(name + ms.Render(mark))
	}
	return b.String()
}

var plainMarks = map[walls.Mark]string{walls.MarkHeld: "+", walls.MarkFailed: "!", walls.MarkNA: "."}

// Ago writes a span of time as one would say it: "2 hours ago".
func Ago(d time.Duration) string {
	n, unit := 0, "second"
	switch {
	case d < 0:
		return "in the future, by this clock"
	case d < time.Minute:
		n = int(d.Seconds())
	case d < time.Hour:
		n, unit = int(d.Minutes()), "minute"
	case d < 48*time.Hour:
		n, unit = int(d.Hours()), "hour"
	default:
		n, unit = int(d.Hours()/24), "day"
	}
	return fmt.Sprintf("%s ago", Plural(n, unit))
}
