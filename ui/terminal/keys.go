package terminal

import (
	"cmp"
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"fumehood/session"
	"fumehood/ui/kit"
)

// reserved is the one key that does not go in.
const reserved = `ctrl+\`

// clipboardFor is how long an answer of the outer terminal counts as asked for.
const clipboardFor = 3 * time.Second

// maxPaste bounds one paste, in bytes.
const maxPaste = 1 << 20

// Keys is the place's table for whoever has the keys now.
func (m *Model) Keys() []kit.Binding {
	switch {
	case m.id == "":
		return []kit.Binding{{Keys: []string{"enter", "n"}, Show: "n", Help: "new session", Hint: 1, Do: m.open(kit.Start)}}
	case m.mode == menu:
		return m.menuKeys()
	case m.mode == scrolling:
		return m.scrollKeys()
	case m.mode == searching:
		return []kit.Binding{
			{Keys: []string{"enter"}, Help: "search upwards", Hint: 1, Do: m.startSearch},
			{Keys: []string{"esc", reserved}, Show: "esc", Help: "back", Hint: 2, Do: m.toMode(scrolling)},
		}
	case m.over():
		return []kit.Binding{
			{Keys: []string{"r"}, Help: "review", Hint: 1, Do: m.open(kit.Review)},
			{Keys: []string{"R"}, Help: "run again", Hint: 2, Off: kit.When(m.resuming, "it is on its way"), Do: m.resume},
			{Keys: []string{"enter", "esc"}, Show: "enter", Help: "close", Hint: 3, Do: m.open(kit.Sessions)},
			{Keys: []string{"["}, Help: "scroll", Hint: 4, Off: kit.When(!m.have, "nothing of it was printed yet"), Do: m.toMode(scrolling)},
			{Keys: []string{"pgup"}, Help: "page up", Off: kit.When(!m.have, "nothing of it was printed yet"), Do: func() tea.Cmd { m.mode = scrolling; return m.scroll(m.page()) }},
			{Keys: []string{"/"}, Help: "search", Hint: 5, Off: kit.When(!m.have, "nothing of it was printed yet"), Do: m.toMode(searching)},
			{Keys: []string{reserved}, Help: "menu", Do: m.openMenu},
		}
	}
	return []kit.Binding{
		{Keys: []string{reserved}, Help: "menu; every other key goes in", Hint: 1, Do: m.openMenu},
	}
}

func (m *Model) menuKeys() []kit.Binding {
	rows := []kit.Binding{
		{Keys: []string{"d", "1"}, Show: "d", Help: "sessions", Hint: 1, Do: m.open(kit.Sessions)},
		{Keys: []string{"r", "3"}, Show: "r", Help: "review", Hint: 2, Do: m.open(kit.Review)},
		{Keys: []string{"["}, Help: "scroll", Hint: 3, Off: kit.When(!m.have, "nothing of it was printed yet"), Do: m.toMode(scrolling)},
		{Keys: []string{"p"}, Help: "paste", Hint: 4, Off: kit.When(m.over(), "the session has ended"), Do: m.askClipboard},
		{Keys: []string{"f"}, Help: "full", Hint: 5, Do: m.toggleFull},
		{Keys: []string{"c"}, Help: "let it write your clipboard", Do: m.giveClip},
		{Keys: []string{"x"}, Help: "refuse that", Do: m.refuseClip},
		{Keys: []string{reserved}, Help: "sends itself", Hint: 6, Do: m.sendReserved},
		{Keys: []string{"esc"}, Help: "back", Hint: 7, Do: m.toMode(inside)},
		{Keys: []string{"4"}, Help: "egress", Do: m.open(kit.Egress)},
		{Keys: []string{"5"}, Help: "walls", Do: m.open(kit.Walls)},
		{Keys: []string{"2"}, Help: "terminal", Do: m.toMode(inside)},
	}
	for i := range rows {
		rows[i].Group = `after ctrl+\`
	}
	return rows
}

// noQuery is why there is no next hit.
const noQuery = "nothing is searched for: / searches"

func (m *Model) scrollKeys() []kit.Binding {
	page := m.page()
	by := func(d int) func() tea.Cmd { return func() tea.Cmd { return m.scroll(d) } }
	rows := []kit.Binding{
		{Keys: []string{"k", "up"}, Show: "j k", Help: "line", Hint: 1, Do: by(1)},
		{Keys: []string{"j", "down"}, Help: "line down", Do: by(-1)},
		{Keys: []string{"pgup", "ctrl+b", "b"}, Show: "pgup pgdn", Help: "page", Hint: 4, Do: by(page)},
		{Keys: []string{"pgdown", "ctrl+f", "space"}, Help: "page down", Do: by(-page)},
		{Keys: []string{"ctrl+u"}, Help: "half a page up", Do: by(page / 2)},
		{Keys: []string{"ctrl+d"}, Help: "half a page down", Do: by(-page / 2)},
		{Keys: []string{"g", "home"}, Help: "oldest line", Do: by(1 << 20)},
		{Keys: []string{"G", "end"}, Help: "newest line", Hint: 6, Do: by(-1 << 20)},
		{Keys: []string{"/", "?"}, Show: "/", Help: "search", Hint: 2, Do: m.toMode(searching)},
		{Keys: []string{"n"}, Help: "next hit upwards", Hint: 5, Off: cmp.Or(kit.When(m.query.String() == "", noQuery), kit.When(m.looking, "it is still searching")), Do: m.startSearch},
		{Keys: []string{"q", "esc", "enter", "ctrl+c", reserved}, Show: "q", Help: "back", Hint: 3, Do: m.leaveScroll},
	}
	for i := range rows {
		rows[i].Group = "scrolled back"
	}
	return rows
}

// page is how far a page key goes, in lines.
func (m *Model) page() int { return max(1, int(m.size.Rows)-1) }

func (m *Model) open(p kit.PlaceID) func() tea.Cmd {
	return func() tea.Cmd {
		m.mode = inside
		m.ctx.Tell(kit.Open{Place: p, Session: m.id})
		return nil
	}
}

func (m *Model) toMode(to mode) func() tea.Cmd {
	return func() tea.Cmd { m.mode = to; return nil }
}

func (m *Model) toggleFull() tea.Cmd {
	m.mode, m.full = inside, !m.full
	return nil
}

func (m *Model) sendReserved() tea.Cmd {
	m.mode = inside
	m.in.key(session.Key{Code: '\\', Mod: int(tea.ModCtrl)})
	return m.send()
}

// key gives a key to whom it belongs.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	was := m.mode
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if ok {
		return cmd
	}
	switch {
	case was == searching:
		m.query.Key(msg)
	case was == menu:
		m.mode = inside // an unknown key closes the menu and does nothing else
	case was == inside && m.id != "" && !m.over():
		m.typed = m.ctx.Clock.Now()
		m.in.key(session.Key{Code: msg.Code, Mod: int(msg.Mod), Text: msg.Text})
		return m.send()
	}
	return nil
}

// paste gives text in as a paste, never as keys.
func (m *Model) paste(text string) tea.Cmd {
	switch {
	case m.mode == searching:
		m.query.Paste(text)
	case m.mode == inside && m.id != "" && !m.over():
		if len(text) > maxPaste {
			m.ctx.Tell(kit.Say{Text: "the paste is larger than " + kit.Bytes(maxPaste) + ": nothing of it went in", Error: true})
			return nil
		}
		m.in.add(item{paste: text})
		return m.send()
	}
	return nil
}

// askClipboard asks the outer terminal, which many refuse without a word.
func (m *Model) askClipboard() tea.Cmd {
	m.mode = inside
	m.clip = m.ctx.Clock.Now()
	m.ctx.Say("asked your terminal for its clipboard; if nothing comes, use the terminal's own paste")
	return kit.Send(kit.AskClipboardMsg{})
}

// clipboard takes the answer, if it was asked for: a terminal that sends one
// unasked, or late, must not type into the session.
func (m *Model) clipboard(msg tea.ClipboardMsg) tea.Cmd {
	if m.clip.IsZero() || m.ctx.Clock.Now().Sub(m.clip) > clipboardFor {
		return nil
	}
	m.clip = time.Time{}
	if msg.Content == "" {
		m.ctx.Say("the clipboard is empty, or your terminal does not give it out")
		return nil
	}
	return m.paste(msg.Content)
}

// mouse goes in when the program there wants it; else the wheel scrolls.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	if m.id == "" || !m.have {
		return nil
	}
	e := msg.Mouse()
	if m.mode == inside && !m.over() && m.frame.Mouse {
		kind := ""
		switch msg.(type) {
		case tea.MouseClickMsg:
			kind = "click"
		case tea.MouseReleaseMsg:
			kind = "release"
		case tea.MouseMotionMsg:
			kind = "motion"
		case tea.MouseWheelMsg:
			kind = "wheel"
		}
		if e.X < 0 || e.Y < 0 || e.X >= m.frame.Cols || e.Y >= m.frame.Rows {
			return nil
		}
		m.in.mouse(session.Mouse{X: e.X, Y: e.Y, Button: int(e.Button), Kind: kind, Mod: int(e.Mod)})
		return m.send()
	}
	if _, ok := msg.(tea.MouseWheelMsg); !ok {
		return nil
	}
	d := 3
	if e.Button == tea.MouseWheelDown {
		d = -3
	} else if e.Button != tea.MouseWheelUp {
		return nil
	}
	if m.mode == inside {
		if d < 0 || m.frame.Scrollback == 0 {
			return nil
		}
		m.mode = scrolling
	}
	return m.scroll(d)
}

func (m *Model) scroll(d int) tea.Cmd {
	to := max(0, min(m.offset+d, m.frame.Scrollback))
	if to == m.offset {
		return nil
	}
	m.offset, m.found = to, -1
	return m.again()
}

func (m *Model) leaveScroll() tea.Cmd {
	m.mode, m.found = inside, -1
	if m.offset == 0 {
		return nil
	}
	m.offset = 0
	return m.again()
}

// startSearch looks upwards from the line above the last hit, page by page.
func (m *Model) startSearch() tea.Cmd {
	m.mode = scrolling
	q := strings.ToLower(m.query.String())
	if q == "" || m.looking {
		return nil
	}
	m.looking = true
	below := len(m.frame.Lines)
	if m.found >= 0 {
		below = m.found
	}
	id, gen, from, ctx := m.id, m.inGen, m.offset, m.ctx.Base
	return func() tea.Msg {
		off, line, found, err := search(ctx, m.backend, id, q, from, below)
		return foundMsg{Session: id, Gen: gen, Offset: off, Line: line, Found: found, Err: err}
	}
}

// search goes up through the lines above (offset, below) until one has q.
func search(ctx context.Context, b Backend, id, q string, offset, below int) (off, line int, found bool, err error) {
	for {
		f, err := b.Frame(ctx, id, 0, offset)
		if err != nil {
			return 0, 0, false, err
		}
		for i := min(below, len(f.Lines)) - 1; i >= 0; i-- {
			if strings.Contains(strings.ToLower(ansi.Strip(f.Lines[i])), q) {
				return f.Offset, i, true, nil
			}
		}
		if f.Offset >= f.Scrollback || f.Rows < 1 {
			return 0, 0, false, nil
		}
		next := min(f.Offset+f.Rows, f.Scrollback)
		// The last page up overlaps the one before: skip what was searched.
		below = next - f.Offset
		offset = next
	}
}

func (m *Model) hit(msg foundMsg) tea.Cmd {
	m.looking = false
	if msg.Gen != m.inGen || msg.Session != m.id || m.mode == inside {
		return nil
	}
	switch {
	case msg.Err != nil:
		m.ctx.Fail(msg.Err)
	case !msg.Found:
		m.ctx.Say("no line above has " + m.query.String())
	default:
		m.offset, m.found = msg.Offset, msg.Line
		return m.again()
	}
	return nil
}
