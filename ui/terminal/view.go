package terminal

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// View draws the newest picture. The cursor is the agent's own.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	st := m.ctx.Styles
	if m.id == "" {
		return "\n   " + st.Strong.Render("No session.") + "\n\n   Its terminal would be here. " + st.Key.Render("n") + " makes one.", nil
	}
	if !m.have {
		if m.ended != nil {
			return "\n   " + st.Strong.Render("Nothing runs in this session now.") + "\n\n   " + m.how() + "\n   Its workspace is there: to review, and to run in again.", nil
		}
		if m.err != nil {
			return strings.Join(append([]string{"", "   " + st.Strong.Render("Its terminal can't be shown.")},
				kit.Indent(kit.Wrap(kit.Safe(m.err.Error()), max(1, w-6)), "   ")...), "\n"), nil
		}
		return st.Muted.Render("   asking for its screen…"), nil
	}
	foot := m.foot(w)
	room := max(1, h-len(foot))
	lines := m.frame.Lines
	cut := m.above(room, len(foot) > 0)
	out := make([]string, 0, h)
	for i := cut; i < len(lines) && len(out) < room; i++ {
		l := kit.SafeLine(lines[i])
		if i == m.found && m.mode != inside {
			l = st.Selection.Render(kit.Fit(ansi.Strip(l), w))
		}
		out = append(out, kit.Cut(l, w))
	}
	if len(foot) > 0 {
		for len(out) < room {
			out = append(out, "")
		}
		out = append(out, foot...)
	}
	return strings.Join(out, "\n"), m.cursor(w, room, cut)
}

// above is how many lines of a picture taller than the room for it are left out
// at its top; the others are left out at its end.
func (m *Model) above(room int, foot bool) int {
	lines, last := m.frame.Lines, len(m.frame.Lines)
	scrolled := m.mode == scrolling || m.mode == searching
	switch {
	case scrolled && m.found >= 0:
		// The line that was searched for is in the picture.
		return max(0, min(last-room, m.found))
	case scrolled && m.frame.Scrollback > 0 && m.frame.Offset >= m.frame.Scrollback:
		return 0 // the oldest line, which nothing else would show
	case m.frame.Offset == 0 && (m.over() || foot):
		// A program's last words are at the top of an empty screen.
		for last > 0 && strings.TrimSpace(ansi.Strip(lines[last-1])) == "" && last > m.frame.CursorY+1 {
			last--
		}
	}
	cut := max(0, last-room)
	if m.frame.CursorOn && !foot {
		cut = min(cut, max(0, m.frame.CursorY-room+1)) // the line with the cursor stays
	}
	return cut
}

func (m *Model) cursor(w, room, cut int) *tea.Cursor {
	f := m.frame
	y := f.CursorY - cut
	if m.mode == searching {
		_, x := m.query.View(style.Style{}, max(2, w-12))
		return tea.NewCursor(10+x, room)
	}
	if m.mode != inside || f.Ended || !f.CursorOn || f.Offset > 0 || y < 0 || y >= room || f.CursorX < 0 || f.CursorX >= w {
		return nil
	}
	return tea.NewCursor(f.CursorX, y)
}

// foot is the line under a screen that is not live.
func (m *Model) foot(w int) []string {
	st := m.ctx.Styles
	switch {
	case m.mode == searching:
		field, _ := m.query.View(style.Style{}, max(2, w-12))
		return []string{kit.Cut(st.Key.Render(" search:  ")+field, w)}
	case m.mode == scrolling:
		text := fmt.Sprintf(" scrolled back %s of %s lines", kit.Count(m.offset), kit.Count(m.frame.Scrollback))
		if m.looking {
			text += "   searching…"
		}
		return []string{st.StatusBar.Render(kit.Fit(text, w))}
	case m.over():
		text := m.how()
		if m.ended == nil || m.ended.Error == "" {
			text += "  Its last screen stays; the workspace is there to review."
		}
		out := kit.Wrap(text, max(1, w-2))
		for i, l := range out {
			out[i] = st.StatusBar.Render(kit.Fit(" "+l, w))
		}
		return out[:min(len(out), 3)]
	case m.err != nil:
		return []string{st.Error.Render(kit.Fit(" the session does not answer: "+kit.Safe(m.err.Error())+"; asking again", w))}
	}
	return nil
}

// how says how the session ended.
func (m *Model) how() string {
	if m.ended == nil {
		return "It has ended; how, is being written down."
	}
	s := *m.ended
	how := kit.Standing{State: string(s.State), Signal: s.Signal, Exit: s.ExitCode}
	used := ""
	if s.Limit != nil {
		how.Limit, used = s.Limit.Name+" "+s.Limit.Value, kit.Safe(" (used "+s.Limit.Used+")")
	}
	text := how.Text() + used
	if s.Error != "" {
		text += ": " + kit.Safe(s.Error)
	}
	return text + "."
}

// Inside says that keys go to the program, alt and all.
func (m *Model) Inside() bool { return m.id != "" && m.mode == inside && !m.over() }

// Menu says that the one-key menu is open.
func (m *Model) Menu() bool { return m.mode == menu }
