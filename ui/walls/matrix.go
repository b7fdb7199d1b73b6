package walls

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/walls"
	"fumehood/ui/kit"
)

// matrixSheet shows which tests turn red for which part that was left out. late
// is set when it comes up by itself.
func (m *Model) matrixSheet(late bool) *kit.Sheet {
	s := &kit.Sheet{Head: "parts of the walls left out, one at a time: " + kit.Safe(m.matrixOf), Clock: m.ctx.Clock, Late: late}
	mx := m.matrix
	s.Body = func(w int) []string { return m.matrixLines(mx, w) }
	s.Extra = []kit.Binding{{Keys: []string{"M"}, Help: "run it again", Hint: 2, Do: func() tea.Cmd {
		s.Close()
		return m.mutate()
	}}}
	return s
}

func (m *Model) matrixLines(mx *walls.Matrix, w int) []string {
	st := m.ctx.Styles
	red, silent, cannot, broken := 0, 0, 0, 0
	for _, p := range mx.Parts {
		switch {
		case p.Cannot != "":
			cannot++
		case p.Error != "":
			broken++
		case p.Silent():
			silent++
		default:
			red++
		}
	}
	sum := fmt.Sprintf("%s noticed by a test, %d by none, %d can't be left out on this machine", kit.Plural(red, "part"), silent, cannot)
	style := st.Strong
	if broken > 0 {
		style = st.Refused
		sum += fmt.Sprintf(", %d could not be tried", broken)
	}
	if silent > 0 {
		style = st.Refused
		sum += ": a part that no test notices is a finding"
	}
	out := kit.Wrap(sum, max(1, w))
	for i := range out {
		out[i] = style.Render(out[i])
	}
	layerW, nameW := 11, max(14, min(40, w-12-3*16-4))
	head := "  " + kit.Fit("LAYER", layerW) + kit.Fit("PART", nameW) + " "
	for n := range walls.Tests() {
		head += kit.Right(fmt.Sprint(n+1), 3)
	}
	out = append(out, "", st.Muted.Render(kit.Cut(head, w)))
	for _, p := range mx.Parts {
		name := kit.Fit(kit.Safe(p.Layer), layerW) + kit.Fit(kit.Safe(p.Name), nameW) + " "
		switch {
		case p.Cannot != "":
			for _, l := range kit.Hang("  "+name+" ", "can't be left out: "+kit.Safe(p.Cannot), w) {
				out = append(out, st.Muted.Render(l))
			}
			continue
		case p.Error != "":
			for _, l := range kit.Hang("! "+name+" ", "could not be tried: "+kit.Safe(p.Error), w) {
				out = append(out, st.Refused.Render(l))
			}
			continue
		case p.Silent():
			out = append(out, st.Refused.Render(kit.Cut("! "+name+" no test noticed that it was gone", w)))
			continue
		}
		var b strings.Builder
		for _, t := range walls.Tests() {
			switch {
			case slices.Contains(p.Red, t.Number):
				b.WriteString("  " + st.Held.Render("■"))
			case slices.Contains(p.Ran, t.Number):
				b.WriteString("  " + st.Muted.Render("·"))
			default:
				b.WriteString("   ") // it was not run without that part
			}
		}
		out = append(out, kit.Cut("  "+name, w)+kit.Keep(b.String(), max(0, w-kit.Width(name)-2)))
	}
	out = append(out, "", st.Muted.Render(kit.Cut("  ■ turned red, as one must when that part is gone   · did not   blank: not run", w)))
	out = append(out, "", st.Muted.Render("  attempts that turned red"))
	for _, p := range mx.Parts {
		if len(p.Attempts) > 0 {
			out = append(out, kit.Hang("  "+kit.Fit(kit.Safe(p.Name), nameW)+" ", kit.Safe(strings.Join(p.Attempts, " ")), w)...)
		}
	}
	return out
}
