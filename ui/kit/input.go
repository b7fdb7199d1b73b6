package kit

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/style"
)

// maxInput bounds a text field, in characters.
const maxInput = 4096

// Input is a text field of one line.
type Input struct {
	text []rune
	at   int
}

// String is the text.
func (i *Input) String() string { return string(i.text) }

// Set replaces the text and puts the cursor behind it.
func (i *Input) Set(s string) {
	i.text = []rune(Safe(s))
	i.at = len(i.text)
}

// Key edits the field. It reports whether the key was one for it.
func (i *Input) Key(msg tea.KeyPressMsg) bool {
	switch KeyName(msg) {
	case "left", "ctrl+b":
		i.at = max(0, i.at-1)
	case "right", "ctrl+f":
		i.at = min(len(i.text), i.at+1)
	case "home", "ctrl+a":
		i.at = 0
	case "end", "ctrl+e":
		i.at = len(i.text)
	case "backspace", "ctrl+h":
		if i.at > 0 {
			i.cut(i.at-1, i.at)
		}
	case "delete":
		if i.at < len(i.text) {
			i.cut(i.at, i.at+1)
		}
	case "ctrl+u":
		i.cut(0, i.at)
	case "ctrl+k":
		i.cut(i.at, len(i.text))
	case "ctrl+w":
		from := i.at
		for from > 0 && i.text[from-1] == ' ' {
			from--
		}
		for from > 0 && i.text[from-1] != ' ' {
			from--
		}
		i.cut(from, i.at)
	default:
		if msg.Text == "" || msg.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock) != 0 {
			return false
		}
		i.Paste(msg.Text)
	}
	return true
}

func (i *Input) cut(from, to int) {
	i.text = append(i.text[:from:from], i.text[to:]...)
	i.at = from
}

// Paste puts text at the cursor; what is no text becomes a mark.
func (i *Input) Paste(s string) {
	add := []rune(Safe(strings.TrimRight(s, "\r\n")))
	if room := maxInput - len(i.text); len(add) > room {
		add = add[:max(0, room)]
	}
	tail := append([]rune{}, i.text[i.at:]...)
	i.text = append(append(i.text[:i.at:i.at], add...), tail...)
	i.at += len(add)
}

// View draws the field in w cells and says in which of them the cursor is.
func (i *Input) View(st style.Style, w int) (string, int) {
	if w < 2 {
		return "", 0
	}
	// A character takes a cell or more, save marks that stand on another: no
	// more than w characters before the cursor can be seen.
	from := max(0, i.at-w)
	for Width(string(i.text[from:i.at])) > w-1 {
		from++
	}
	x := Width(string(i.text[from:i.at]))
	to := min(len(i.text), from+w)
	for Width(string(i.text[from:to])) > w {
		to--
	}
	return st.Render(Fit(string(i.text[from:to]), w)), x
}
