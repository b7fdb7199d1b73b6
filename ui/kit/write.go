package kit

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Typing is a dialog in which text is typed: keys that its table does not have,
// and pastes, go to it, and the cursor is where it says.
type Typing interface {
	Dialog
	Type(msg tea.KeyPressMsg)
	Paste(s string)
	// Cursor is within the lines that View drew last.
	Cursor() (x, y int)
}

// Write is a dialog that asks for a text. Enter keeps it, escape drops it; one
// that was changed is dropped by the second escape only.
type Write struct {
	Head  string
	Lines []string // plain text above the field; wrapped when drawn
	// Single takes one line only.
	Single bool
	// Empty says what enter does to an empty text, "" when that keeps nothing.
	Empty string
	// Label is what enter does.
	Label string
	Do    func(text string) tea.Cmd

	area     Area
	was      string
	warned   bool
	top      int
	x, y     int
	done     bool
	occupied int // lines above the field, as drawn
}

// Set is the text to begin with.
func (d *Write) Set(s string) {
	d.area.Set(s)
	d.was = d.area.String()
}

// Title is the head.
func (d *Write) Title() string { return d.Head }

// Done says that it was answered.
func (d *Write) Done() bool { return d.done }

// View draws the lines and the field below them.
func (d *Write) View(w, h int) []string {
	var out []string
	for _, l := range d.Lines {
		out = append(out, wrapItem(l, w)...)
	}
	if d.warned {
		out = append(out, "What you wrote is not kept: esc again drops it.")
	}
	out = out[:max(0, min(len(out), h-3))] // the field comes first where there is little room
	d.occupied = len(out)
	lines, x, y := d.area.View(max(2, w-2))
	room := max(1, h-len(out))
	d.top = max(0, min(d.top, len(lines)-1))
	if y < d.top {
		d.top = y
	}
	if y >= d.top+room {
		d.top = y - room + 1
	}
	for _, l := range lines[d.top:min(len(lines), d.top+room)] {
		out = append(out, "> "+l)
	}
	d.x, d.y = x+2, d.occupied+y-d.top
	return out
}

// Cursor is where the next character goes.
func (d *Write) Cursor() (x, y int) { return d.x, d.y }

// Keys keeps, breaks the line, and drops.
func (d *Write) Keys() []Binding {
	label := d.Label
	blank := strings.TrimSpace(d.area.String()) == ""
	if blank {
		label = d.Empty
	}
	rows := []Binding{
		{Keys: []string{"enter"}, Help: label, Hint: 1, Off: When(blank && d.Empty == "", "there is no text yet"), Do: d.keep},
		{Keys: []string{"ctrl+j", "alt+enter", "shift+enter"}, Show: "ctrl+j", Help: "new line", Hint: 2, Do: func() tea.Cmd { d.warned = false; d.area.Break(); return nil }},
		{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "back", Hint: 3, Do: d.drop},
	}
	if d.Single {
		return append(rows[:1:1], rows[2:]...)
	}
	return rows
}

func (d *Write) keep() tea.Cmd {
	d.done = true
	if d.Do == nil {
		return nil
	}
	return d.Do(d.area.String())
}

func (d *Write) drop() tea.Cmd {
	if text := d.area.String(); text != d.was && strings.TrimSpace(text) != "" && !d.warned {
		d.warned = true
		return nil
	}
	d.done = true
	return nil
}

// Type edits the text.
func (d *Write) Type(msg tea.KeyPressMsg) {
	if d.area.Key(msg) {
		d.warned = false
	}
}

// Paste puts text at the cursor.
func (d *Write) Paste(s string) {
	d.warned = false
	if d.Single {
		s = strings.Join(strings.Fields(s), " ")
	}
	d.area.Paste(s)
}
