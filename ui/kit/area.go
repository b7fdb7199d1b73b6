package kit

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// maxArea bounds a text of several lines, in characters.
const maxArea = 16 << 10

// Area is a text field of several lines. Long lines are broken at its edge on
// the screen only.
type Area struct {
	text []rune
	at   int
	w    int // that it was drawn in last, which up and down go by
}

// String is the text.
func (a *Area) String() string { return string(a.text) }

// Set replaces the text and puts the cursor behind it.
func (a *Area) Set(s string) {
	a.text, a.at = nil, 0
	a.Paste(s)
}

// Key edits the field. It reports whether the key was one for it. Enter is not:
// what it does is for who shows the field; Break makes a line.
func (a *Area) Key(msg tea.KeyPressMsg) bool {
	from, to := a.line()
	switch KeyName(msg) {
	case "left", "ctrl+b":
		a.at = max(0, a.at-1)
	case "right", "ctrl+f":
		a.at = min(len(a.text), a.at+1)
	case "up", "ctrl+p":
		a.move(-1)
	case "down", "ctrl+n":
		a.move(1)
	case "home", "ctrl+a":
		a.at = from
	case "end", "ctrl+e":
		a.at = to
	case "backspace", "ctrl+h":
		a.cut(max(0, a.at-1), a.at)
	case "delete":
		a.cut(a.at, min(len(a.text), a.at+1))
	case "ctrl+u":
		a.cut(from, a.at)
	case "ctrl+k":
		a.cut(a.at, to)
	case "ctrl+w":
		word := a.at
		for word > from && a.text[word-1] == ' ' {
			word--
		}
		for word > from && a.text[word-1] != ' ' {
			word--
		}
		a.cut(word, a.at)
	default:
		if msg.Text == "" || msg.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock) != 0 {
			return false
		}
		a.Paste(msg.Text)
	}
	return true
}

// Break begins a new line at the cursor.
func (a *Area) Break() { a.put([]rune{'\n'}) }

// Paste puts text at the cursor: its lines stay lines, and what is no text
// becomes a mark.
func (a *Area) Paste(s string) {
	if len(s) > 4*maxArea {
		s = s[:4*maxArea]
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	a.put([]rune(SafeText(strings.ReplaceAll(s, "\t", "    "))))
}

func (a *Area) put(add []rune) {
	if room := maxArea - len(a.text); len(add) > room {
		add = add[:max(0, room)]
	}
	tail := append([]rune{}, a.text[a.at:]...)
	a.text = append(append(a.text[:a.at:a.at], add...), tail...)
	a.at += len(add)
}

func (a *Area) cut(from, to int) {
	if from < to {
		a.text = append(a.text[:from:from], a.text[to:]...)
		a.at = from
	}
}

// line gives the bounds of the line that the cursor is in.
func (a *Area) line() (from, to int) {
	from, to = a.at, a.at
	for from > 0 && a.text[from-1] != '\n' {
		from--
	}
	for to < len(a.text) && a.text[to] != '\n' {
		to++
	}
	return from, to
}

// span is one line on the screen, as bounds in the text.
type span struct{ from, to int }

// spans breaks the text at its line ends and at w cells.
func (a *Area) spans(w int) []span {
	w = max(1, w)
	var out []span
	from, cells := 0, 0
	for i, r := range a.text {
		n := Width(string(r))
		switch {
		case r == '\n':
			out = append(out, span{from, i})
			from, cells = i+1, 0
			continue
		case cells+n > w:
			out = append(out, span{from, i})
			from, cells = i, 0
		}
		cells += n
	}
	return append(out, span{from, len(a.text)})
}

// where says in which of the spans the cursor is.
func (a *Area) where(ss []span) int {
	for i, s := range ss {
		if a.at < s.to || a.at == s.to && (i == len(ss)-1 || ss[i+1].from > s.to) {
			return i
		}
	}
	return len(ss) - 1
}

// move goes up or down by lines of the screen.
func (a *Area) move(d int) {
	ss := a.spans(a.w)
	i := a.where(ss)
	to := max(0, min(i+d, len(ss)-1))
	if to == i {
		return
	}
	a.at = min(ss[to].from+a.at-ss[i].from, ss[to].to)
}

// View draws the lines in w cells, as many as there are, and says where the
// cursor is.
func (a *Area) View(w int) (lines []string, x, y int) {
	a.w = max(1, w-1) // the cursor behind a full line needs a cell
	ss := a.spans(a.w)
	for _, s := range ss {
		lines = append(lines, Fit(string(a.text[s.from:s.to]), w))
	}
	y = a.where(ss)
	return lines, Width(string(a.text[ss[y].from:a.at])), y
}
