package ui

import (
	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// showHelp lists the keys of the place and of the frame from the tables that
// handle them.
func (a *App) showHelp() tea.Cmd {
	table := append(append([]kit.Binding{}, a.place(a.at).Keys()...), a.keys()...)
	a.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "keys: " + a.place(a.at).Title(), Body: func(w int) []string {
		return a.helpLines(table, w)
	}}})
	return nil
}

func (a *App) helpLines(table []kit.Binding, w int) []string {
	var out []string
	names, rows := kit.Groups(table)
	cols := 1
	if w >= 100 {
		cols = 2
	}
	cell := w / cols
	for _, g := range names {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, a.styles.Muted.Render(" "+g))
		list := rows[g]
		per := (len(list) + cols - 1) / cols
		for i := 0; i < per; i++ {
			line := ""
			for c := 0; c < cols; c++ {
				if n := c*per + i; n < len(list) {
					b := list[n]
					text := b.Help
					if b.Off != "" {
						text += " (not now)"
					}
					line += "  " + a.styles.Key.Render(kit.Fit(b.Label(), 14)) + kit.Fit(text, max(4, cell-17))
				}
			}
			out = append(out, line)
		}
	}
	return out
}

// showLog lists the messages so far, newest last.
func (a *App) showLog() tea.Cmd {
	a.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "messages", Body: a.logLines}})
	return nil
}

func (a *App) logLines(w int) []string {
	if len(a.toasts.Log) == 0 {
		return []string{" No message yet. What the workbench told you stands here, with its time."}
	}
	var out []string
	for _, m := range a.toasts.Log {
		head := m.At.Format("15:04:05") + "  "
		for i, l := range kit.Wrap(m.Text, max(10, w-12)) {
			if i > 0 {
				head = "          "
			}
			if m.Error {
				l = a.styles.Danger.Render(l)
			}
			out = append(out, " "+a.styles.Muted.Render(head)+l)
		}
	}
	return out
}
