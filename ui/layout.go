package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// The smallest window in which every place fits.
const (
	minWidth  = 60
	minHeight = 15
)

// rect is the body of a place within the window.
type rect struct {
	x, y, w, h int
	tiny       bool // the window is too small for the frame
	full       bool // the place has all but the last line
}

func (a *App) layout(p Place) rect {
	switch {
	case a.w < minWidth || a.h < minHeight:
		return rect{w: a.w, h: a.h, tiny: true}
	case p == Place(a.terminal) && a.terminal.Full():
		return rect{w: a.w, h: a.h - 1, full: true}
	}
	return rect{y: 3, w: a.w, h: a.h - 5}
}

// overlay draws the topmost dialog over the lower part of the body, and says
// where the cursor is if text is typed in it.
func (a *App) overlay(lines []string, r rect) *tea.Cursor {
	d := a.dialogs[len(a.dialogs)-1]
	h := len(lines)
	if h < 2 {
		return nil
	}
	inner := d.View(max(1, r.w-4), h-2)
	top := max(0, h-len(inner)-2)
	st := a.styles
	head := "── " + kit.Safe(d.Title()) + " "
	more := ""
	if m, ok := d.(interface{ More() (int, int) }); ok {
		if _, below := m.More(); below > 0 {
			more = " " + kit.Plural(below, "more line") + " below ──"
		}
	}
	fill := max(0, r.w-kit.Width(head)-kit.Width(more))
	lines[top] = st.Accent.Render(kit.Fit(head+strings.Repeat("─", fill)+more, r.w))
	for i := top + 1; i < h; i++ {
		lines[i] = ""
		if n := i - top - 1; n < len(inner) {
			lines[i] = "  " + kit.Cut(inner[n], r.w-4)
		}
	}
	if t, ok := d.(kit.Typing); ok {
		x, y := t.Cursor()
		return tea.NewCursor(r.x+2+x, r.y+min(h-1, top+1+y))
	}
	return nil
}
