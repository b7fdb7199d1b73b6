package start

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// argv is the command as it stands in its field, nil when that is empty.
func (m *Model) argv() []string {
	text := m.command.String()
	if m.shell && strings.TrimSpace(text) != "" {
		return []string{"sh", "-c", text}
	}
	return splitWords(text)
}

// toggleShell has the command run by a shell, or again without one.
func (m *Model) toggleShell() tea.Cmd {
	m.shell = !m.shell
	return m.ask()
}

// shellLine stands below the command: whether a shell runs it, and what of it
// would mean nothing without one.
func (m *Model) shellLine(w int) string {
	st := m.ctx.Styles
	pad := strings.Repeat(" ", labelWidth+2)
	key := "   " + st.Key.Render("ctrl+x") + " "
	mark := forShells(m.command.String())
	switch {
	case m.shell:
		return kit.Cut(pad+st.Muted.Render("run by sh -c: | > * $ mean what they mean to a shell")+key+"without", w)
	case mark != "":
		return kit.Cut(pad+st.Warn.Render("! no shell runs it: "+mark+" is text here")+key+"runs it by sh -c", w)
	}
	return kit.Cut(pad+st.Muted.Render("no shell runs it: | > * $ are text here")+key+"runs it by sh -c", w)
}

// forShells gives the first character outside quotes that only a shell would make
// something of.
func forShells(s string) string {
	quote := rune(0)
	for _, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("|&;<>$`*?~", r):
			return string(r)
		}
	}
	return ""
}

// splitWords cuts a command line at spaces; quotes keep words together. Nothing
// else is special.
func splitWords(s string) []string {
	var out []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		out = append(out, word.String())
	}
	return out
}
