package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"fumehood/themes"
	"fumehood/ui/style"
)

// restyle loads the theme that is wanted for the background as it is known. A
// theme that can't be loaded leaves mono, which says everything without colour.
func (a *App) restyle() {
	name := a.opt.Theme
	switch {
	case a.opt.NoColor:
		name = "mono"
	case name == "":
		name = themes.Pick(a.dark, false)
	default:
		name = themes.Variant(name, a.dark)
	}
	t, err := themes.Load(name)
	if err != nil {
		a.ctx.Fail(err)
		if t, err = themes.Load("mono"); err != nil {
			return // plain text: the zero styles
		}
	}
	a.styles = style.Of(t)
}

func (a *App) nextTheme() tea.Cmd {
	if a.opt.NoColor {
		a.ctx.Say("no colour was asked for (NO_COLOR): the theme stays mono")
		return nil
	}
	names := themes.Order(a.dark)
	at := slices.Index(names, a.styles.Theme)
	a.opt.Theme = names[(at+1)%len(names)]
	a.restyle()
	text := "theme " + a.styles.Theme
	if t, err := themes.Load(a.styles.Theme); err == nil && t.Background != "" && t.Dark != a.dark {
		text += ": made for the other background; T goes on"
	}
	a.ctx.Say(text)
	return nil
}
