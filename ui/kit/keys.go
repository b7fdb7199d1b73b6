package kit

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// Binding is one row of a place's table of keys. The same row handles the key,
// stands in the hint line and in the help, so that they can't disagree.
type Binding struct {
	// Keys as tea.KeyPressMsg.String gives them, such as "j", "ctrl+d", "space".
	Keys []string
	// Show replaces Keys on the screen; empty joins them.
	Show string
	Help string
	// Group heads the row in the help; empty is "here".
	Group string
	// Hint is the place in the hint line, least first; 0 is not in it.
	Hint int
	// Off, when not empty, keeps the key without effect and without hint, and is
	// why: a clause that is said when it is pressed.
	Off string
	Do  func() tea.Cmd
}

// When is why a key is off where something holds, and empty where it does not.
func When(off bool, why string) string {
	if off {
		return why
	}
	return ""
}

// Label is how the key is written on the screen.
func (b Binding) Label() string {
	if b.Show != "" {
		return b.Show
	}
	return strings.Join(b.Keys, " ")
}

// KeyName is the key as the tables write it: keypad keys count as their twins.
func KeyName(msg tea.KeyPressMsg) string {
	if msg.Code == tea.KeyKpEnter {
		return "enter"
	}
	return msg.String()
}

// WithoutAlt is the key that was pressed, if alt was an escape before it.
func WithoutAlt(msg tea.KeyPressMsg) tea.KeyPressMsg {
	msg.Mod &^= tea.ModAlt
	if msg.Text != "" || msg.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock) != 0 || !unicode.IsPrint(msg.Code) {
		return msg
	}
	// A key with alt has no text; alone, it has.
	r := msg.Code
	if msg.Mod&tea.ModShift != 0 {
		if r = unicode.ToUpper(r); msg.ShiftedCode != 0 {
			r = msg.ShiftedCode
		}
	}
	msg.Text = string(r)
	return msg
}

// Has says whether a row of the table has the key, in effect or not.
func Has(table []Binding, msg tea.KeyPressMsg) bool {
	name := KeyName(msg)
	return slices.ContainsFunc(table, func(b Binding) bool { return slices.Contains(b.Keys, name) })
}

// Dispatch acts on the first row that has the key, or has said why that does
// nothing here. It reports whether one had.
func Dispatch(table []Binding, msg tea.KeyPressMsg, say func(string)) (tea.Cmd, bool) {
	name := KeyName(msg)
	for _, b := range table {
		for _, k := range b.Keys {
			if k != name {
				continue
			}
			if b.Off != "" {
				say(name + ": " + b.Off)
				return nil, true
			}
			return b.Do(), true
		}
	}
	return nil, false
}

// Hints gives the rows for the hint line, at most max.
func Hints(table []Binding, max int) []Binding {
	var out []Binding
	for _, b := range table {
		if b.Hint > 0 && b.Off == "" {
			out = append(out, b)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Hint < out[j].Hint })
	if len(out) > max {
		out = out[:max]
	}
	return out
}

// Groups gives the table's rows by group, in the order of first mention.
func Groups(table []Binding) (names []string, rows map[string][]Binding) {
	rows = map[string][]Binding{}
	for _, b := range table {
		g := b.Group
		if g == "" {
			g = "here"
		}
		if rows[g] == nil {
			names = append(names, g)
		}
		rows[g] = append(rows[g], b)
	}
	return names, rows
}
