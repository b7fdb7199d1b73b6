package walls

import (
	"fmt"

	"fumehood/isolate/layer"
	"fumehood/session"
	"fumehood/ui/kit"
)

// layersSheet is what the walls of a session rest on: each layer as the
// supervisor read it from outside, and the limits.
func layersSheet(ctx *kit.Ctx, detail func() session.Detail) *kit.Sheet {
	return &kit.Sheet{Head: "layers in force, as read from outside", Body: func(w int) []string {
		return layerLines(ctx, detail(), w)
	}}
}

func layerLines(ctx *kit.Ctx, d session.Detail, w int) []string {
	st := ctx.Styles
	if !d.Live && len(d.Layers) == 0 {
		return kit.Wrap("Nothing of this session runs now. All layers are closed again before anything runs, or nothing does.", max(1, min(w-4, 100)))
	}
	what, value := factWidths(w)
	out := []string{st.Muted.Render(kit.Cut("   "+kit.Fit("LAYER", 12)+kit.Fit("", 3)+kit.Fit("WHAT", what+1)+kit.Fit("VALUE", value+1)+"READ FROM", w))}
	for _, ok := range []bool{false, true} { // what is not as it should be comes first
		for _, f := range d.Layers {
			if f.OK == ok {
				out = append(out, fact(ctx, f, w))
			}
		}
	}
	if len(d.Layers) == 0 {
		out = append(out, "   nothing was read yet")
	}
	if len(d.Limits) > 0 {
		out = append(out, "", st.Muted.Render(kit.Cut("   "+kit.Fit("LIMIT", 15)+kit.Fit("VALUE", 28)+"HOW", w)))
		for _, l := range d.Limits {
			out = append(out, kit.Cut("   "+kit.Fit(kit.Safe(l.Name), 14)+" "+kit.Fit(kit.Safe(l.Value), 27)+" "+kit.Safe(l.How), w))
		}
	}
	return out
}

func fact(ctx *kit.Ctx, f layer.Fact, w int) string {
	ok, st := "ok ", ctx.Styles.Text
	if !f.OK {
		ok, st = "✗  ", ctx.Styles.Danger
	}
	what, value := factWidths(w)
	text := fmt.Sprintf("   %s%s%s %s %s", kit.Fit(kit.Safe(string(f.Layer)), 12), ok, kit.Fit(kit.Safe(f.What), what), kit.Fit(kit.Safe(f.Value), value), kit.Safe(f.Source))
	return st.Render(kit.Cut(text, w))
}

func factWidths(w int) (what, value int) {
	switch {
	case w < 100:
		return 22, 18
	case w < 160:
		return 34, 26
	}
	return 44, 50
}
