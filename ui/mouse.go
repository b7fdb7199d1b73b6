package ui

import (
	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// mouse gives a click to what was drawn under it, else to the place.
func (a *App) mouse(msg tea.MouseMsg) tea.Cmd {
	e := msg.Mouse()
	if click, ok := msg.(tea.MouseClickMsg); ok && click.Button == tea.MouseLeft {
		for _, h := range a.hits {
			if e.Y == h.y && e.X >= h.x && e.X < h.x+h.w && (h.y != 1 || len(a.dialogs) == 0) {
				a.toasts.Key()
				if h.do == nil {
					return nil
				}
				return h.do()
			}
		}
	}
	if len(a.dialogs) > 0 {
		return a.dialogMouse(msg)
	}
	p := a.place(a.at)
	r := a.layout(p)
	x, y := e.X-r.x, e.Y-r.y
	if x < 0 || y < 0 || x >= r.w || y >= r.h {
		return nil
	}
	e.X, e.Y = x, y
	switch msg.(type) {
	case tea.MouseClickMsg:
		return p.Update(tea.MouseClickMsg(e))
	case tea.MouseReleaseMsg:
		return p.Update(tea.MouseReleaseMsg(e))
	case tea.MouseMotionMsg:
		return p.Update(tea.MouseMotionMsg(e))
	case tea.MouseWheelMsg:
		return p.Update(tea.MouseWheelMsg(e))
	}
	return nil
}

// dialogMouse scrolls the topmost dialog; its answers are in the hint line.
func (a *App) dialogMouse(msg tea.MouseMsg) tea.Cmd {
	w, ok := msg.(tea.MouseWheelMsg)
	if !ok {
		return nil
	}
	key := tea.KeyPressMsg{Code: tea.KeyDown}
	if w.Button == tea.MouseWheelUp {
		key.Code = tea.KeyUp
	}
	cmd, _ := kit.Dispatch(a.dialogs[len(a.dialogs)-1].Keys(), key, func(string) {})
	return cmd
}
