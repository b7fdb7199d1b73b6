package start

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// spot is where a choice was drawn, for the mouse.
type spot struct {
	x, y, w int
	field   field
	choice  int // -1 for a text field
}

const labelWidth = 12

// View draws the questions and what the answers mean.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	m.spots = m.spots[:0]
	var out []string
	var cur *tea.Cursor
	out = append(out, "")
	for _, f := range m.fields() {
		y := len(out)
		switch f {
		case fieldAgent:
			out = append(out, m.choices("Agent", m.agentNames(), m.agent, f, y, w))
		case fieldPolicy:
			names := make([]string, len(m.policies))
			for i, p := range m.policies {
				names[i] = kit.Safe(p)
			}
			out = append(out, m.choices("Policy", names, m.policy, f, y, w))
		case fieldCommand:
			line, x := m.text("Command", &m.command, f, y, w, "the program and its arguments")
			if x >= 0 {
				cur = tea.NewCursor(x, y)
			}
			out = append(out, line, m.shellLine(w))
		case fieldName:
			line, x := m.text("Name", &m.name, f, y, w, "made from the agent")
			if x >= 0 {
				cur = tea.NewCursor(x, y)
			}
			out = append(out, line)
		}
	}
	out = append(out, "")
	if m.creating {
		return strings.Join(append(out, m.bar(w)...), "\n"), nil
	}
	out = append(out, m.meaning(w, h-len(out))...)
	return strings.Join(out, "\n"), cur
}

func (m *Model) label(name string, f field) string {
	if m.at == f {
		return m.ctx.Styles.Accent.Render(" ▸ " + kit.Fit(name, labelWidth-3))
	}
	return "   " + kit.Fit(name, labelWidth-3)
}

// choices is one question with its answers in a row; the chosen one is marked.
func (m *Model) choices(name string, names []string, at int, f field, y, w int) string {
	st := m.ctx.Styles
	line, x := m.label(name, f), labelWidth
	from := 0
	for width(names[from:at+1]) > w-labelWidth && from < at {
		from++
	}
	for i := from; i < len(names); i++ {
		text := " " + names[i] + " "
		n := kit.Width(text)
		if x+n+2 > w && i > from {
			line += st.Muted.Render("…")
			break
		}
		m.spots = append(m.spots, spot{x, y, n + 2, f, i})
		switch {
		case i == at && m.at == f:
			line += st.Focus.Render("▸" + text)
		case i == at:
			line += st.Strong.Render("▸" + text)
		default:
			line += " " + text
		}
		line += " "
		x += n + 2
	}
	return line
}

func width(names []string) int {
	n := 0
	for _, s := range names {
		n += kit.Width(s) + 4
	}
	return n
}

func (m *Model) text(name string, in *kit.Input, f field, y, w int, empty string) (string, int) {
	st := m.ctx.Styles
	n := max(2, min(w-labelWidth-2, 60))
	m.spots = append(m.spots, spot{labelWidth, y, n, f, -1})
	if in.String() == "" && m.at != f {
		return m.label(name, f) + "  " + st.Muted.Render(kit.Cut(empty, n)), -1
	}
	s, x := in.View(style.Style{}, n)
	if m.at != f {
		return m.label(name, f) + "  " + s, -1
	}
	if in.String() == "" {
		s = st.Muted.Render(kit.Cut(empty, n))
	}
	return m.label(name, f) + "  " + s, labelWidth + 2 + x
}

// bar shows how far the copy is.
func (m *Model) bar(w int) []string {
	done, total, bytes := m.drawn[0], m.drawn[1], m.drawn[2]
	out := []string{"   Copying the repository in", ""}
	n := max(10, min(60, w-6))
	if total <= 0 {
		return append(out, "   "+m.ctx.Styles.Muted.Render("choosing what goes in…"))
	}
	full := int(min(done, total) * int64(n) / total)
	out = append(out, "   "+strings.Repeat("█", full)+m.ctx.Styles.Muted.Render(strings.Repeat("░", n-full)))
	return append(out, fmt.Sprintf("   %s of %s files, %s", kit.Count(int(done)), kit.Count(int(total)), kit.Bytes(bytes)))
}

// proseWidth is how wide sentences are at most: longer lines are hard to read.
const proseWidth = 130

// meaning says what the session would be, in plain words.
func (m *Model) meaning(w, h int) []string {
	w = min(w, proseWidth)
	st := m.ctx.Styles
	if !m.shown {
		out := []string{"   " + st.Muted.Render("reading the repository…")}
		if m.early {
			out = append(out, "   "+st.Warn.Render("Not started yet: nothing starts unseen. Press it again once this is shown."))
		}
		return out
	}
	if m.err != nil {
		return append([]string{"   " + st.Danger.Render("It can't start:")}, kit.Indent(kit.Wrap(kit.Safe(m.err.Error()), max(1, w-6)), "   ")...)
	}
	p := m.preview
	var out []string
	if p.Err != "" {
		out = append(out, "   "+st.Danger.Render("✗ It can't start:"))
		out = append(out, kit.Indent(kit.Wrap(kit.Safe(p.Err), max(1, w-8)), "     ")...)
		if p.Unproven {
			out = append(out, "     "+st.Key.Render("w")+" runs the wall tests, which takes seconds; then it starts if they hold")
		}
		out = append(out, "")
	}
	if p.Repo == "" { // nothing was looked at: there is no command yet, say
		return out
	}
	out = append(out, m.asks(w, h)...)
	where := "not a git repository"
	if p.Git {
		where = "branch " + kit.Safe(p.Branch)
		if p.Branch == "" {
			where = "no branch"
		}
		if p.Dirty > 0 {
			where += ", " + kit.Plural(p.Dirty, "file") + " changed"
		}
	}
	out = append(out, kit.Cut("   It will work on a copy of  "+st.Strong.Render(kit.Safe(p.Repo))+"  ("+where+")", w))
	in := kit.Plural(p.Files, "file") + ", " + kit.Bytes(p.Bytes)
	if p.Untracked > 0 {
		in += fmt.Sprintf("; %s of them not in git yet", kit.Count(p.Untracked))
	}
	out = append(out, m.row("goes in", in, w)...)
	out = append(out, m.row("stays out", stays(p.LeftOut, w), w)...)
	switch {
	case m.deps:
		out = append(out, m.keyRow("i", "leaves out again what of dependencies git ignores; it goes in", w))
	case len(p.Dependencies) > 0:
		out = append(out, m.keyRow("i", "brings in "+dependencies(p.Dependencies), w))
	}
	out = append(out, "   It will be able to")
	out = append(out, m.rows("write", p.Write, w)...)
	out = append(out, m.rows("reach", p.Reach, w)...)
	out = append(out, m.rows("as", p.As, w)...)
	out = append(out, m.rows("use", p.Use, w)...)
	out = append(out, m.some("read", p.Read, "", w)...)
	out = append(out, m.some("caches", p.Caches, "; what it changes there stays in the session", w)...)
	lead := "   " + st.Warn.Render("! Know this") + "  "
	for _, s := range p.Warnings {
		for _, l := range kit.Wrap(kit.Safe(s), max(10, w-18)) {
			out = append(out, lead+l)
			lead = strings.Repeat(" ", 16)
		}
	}
	out = append(out, m.walls(w)...)
	if len(out) > h && h > 1 {
		out = append(out[:h-1], "   "+st.Muted.Render("… p shows the whole policy; a taller window shows the rest"))
	}
	return out
}

// walls says what is proven of the policy on this machine.
func (m *Model) walls(w int) []string {
	p := m.Proof()
	if !p.Known {
		return []string{"   Walls        every layer is closed before it runs, or it does not run"}
	}
	text := p.Sentence(m.ctx.Clock.Now())
	if ok, _ := p.Standing.Proven(); !ok {
		text += "; every layer is closed in any case, or nothing runs (w proves them)"
	}
	return kit.Hang("   Walls        ", kit.Safe(text), w-2)
}

func (m *Model) row(head, text string, w int) []string {
	var out []string
	for i, l := range kit.Wrap(kit.Safe(text), max(10, w-18)) {
		if i > 0 {
			head = ""
		}
		out = append(out, "     "+m.ctx.Styles.Muted.Render(kit.Fit(head, 11))+l)
	}
	return out
}

// keyRow says below a row what a key would do about it.
func (m *Model) keyRow(key, does string, w int) string {
	return strings.Repeat(" ", 16) + m.ctx.Styles.Key.Render(key) + " " + kit.Cut(kit.Safe(does), max(1, w-19))
}

// some is a row of paths in at most two lines, with what is to be said of all.
func (m *Model) some(head string, paths []string, tail string, w int) []string {
	if len(paths) == 0 {
		return nil
	}
	n := len(paths)
	text := func() string {
		s := strings.Join(paths[:n], "  ")
		if rest := len(paths) - n; rest > 0 {
			s += fmt.Sprintf("  %s more (m)", kit.Count(rest))
		}
		return s + tail
	}
	for n > 1 && len(m.row(head, text(), w)) > 2 {
		n--
	}
	return m.row(head, text(), w)
}

// dependencies names folders with their sizes.
func dependencies(left []diffreview.LeftOut) string {
	var out []string
	for _, l := range left[:min(len(left), 4)] {
		s := l.Path
		if l.Size > 0 {
			s += " " + kit.Bytes(l.Size)
		}
		out = append(out, s)
	}
	if n := len(left) - len(out); n > 0 {
		out = append(out, kit.Count(n)+" more")
	}
	return strings.Join(out, ", ")
}

func (m *Model) rows(head string, texts []string, w int) []string {
	if len(texts) == 0 {
		return nil
	}
	return m.row(head, strings.Join(texts, "; "), w)
}

// stays names what stays out, secrets first: they are never silent.
func stays(left []diffreview.LeftOut, w int) string {
	if len(left) == 0 {
		return "nothing"
	}
	var secret, other []string
	for _, l := range left {
		if isSecret(l) {
			secret = append(secret, kit.Safe(l.Path)+" !secret")
		} else {
			other = append(other, kit.Safe(l.Path))
		}
	}
	all := append(secret, other...)
	text, n := "", 0
	for _, s := range all {
		if n >= len(secret) && kit.Width(text)+kit.Width(s) > 2*(w-20) {
			break
		}
		if text != "" {
			text += "  "
		}
		text += s
		n++
	}
	if rest := len(all) - n; rest > 0 {
		text += fmt.Sprintf("  %s more (m)", kit.Count(rest))
	}
	return text
}

func isSecret(l diffreview.LeftOut) bool { return strings.Contains(l.Reason, "secret") }

func leftOut(l diffreview.LeftOut, w int) []string {
	size := ""
	if l.Size > 0 {
		size = kit.Bytes(l.Size)
	}
	return kit.Hang(kit.Right(size, 10)+"  ", kit.Safe(l.Path)+"   "+kit.Safe(l.Reason), w)
}
