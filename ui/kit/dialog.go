package kit

import (
	"cmp"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Grace is how long a dialog that came up by itself ignores keys: a key that
// was on its way when it appeared was meant for what was there before.
const Grace = 400 * time.Millisecond

// Dialog is a panel over the lower part of a place; all keys go to it.
type Dialog interface {
	Title() string
	// View draws it in at most h lines of w cells.
	View(w, h int) []string
	// Keys is its table; the frame dispatches it and draws the hints from it.
	Keys() []Binding
	// Done says that it is answered; the frame then takes it away.
	Done() bool
}

// Choice is one answer to a question.
type Choice struct {
	Key, Label string
	// Grave answers change the host or destroy something. They are never the
	// default, and are off until the whole question was on the screen.
	Grave bool
	Do    func() tea.Cmd
}

// Ask is a question. Enter and escape take the default, the first choice that
// is not grave; there must be one.
type Ask struct {
	Head    string
	Lines   []string // plain text; wrapped when drawn
	Choices []Choice
	// Clock and Late are set for a question that comes up by itself: keys are
	// ignored for Grace after it was first drawn.
	Clock Clock
	Late  bool
	// Each is set where the question is the only place that says what a grave answer
	// means: a jump to its end does not turn that on, for what lies between was not
	// on the screen.
	Each bool

	drawn time.Time
	top   int
	page  int
	total int
	width int
	read  int // how many lines from the first on were on the screen, and of Lines
	whole int
	seen  bool
	done  bool
}

// Title is the question's head.
func (a *Ask) Title() string { return a.Head }

// Done says that a choice was made.
func (a *Ask) Done() bool { return a.done }

// View draws the lines; what does not fit can be scrolled.
func (a *Ask) View(w, h int) []string {
	if a.drawn.IsZero() && a.Clock != nil {
		a.drawn = a.Clock.Now()
	}
	var all []string
	ends := make([]int, len(a.Lines))
	for i, l := range a.Lines {
		all = append(all, wrapItem(l, w)...)
		ends[i] = len(all)
	}
	a.total, a.page = len(all), h
	a.top = max(0, min(a.top, len(all)-h))
	to := min(len(all), a.top+h)
	if a.width != w { // they are cut elsewhere now: what was read whole stays so
		a.width, a.read = w, 0
		if a.whole > 0 {
			a.read = ends[a.whole-1]
		}
	}
	if a.top <= a.read {
		a.read = max(a.read, to)
	}
	for a.whole < len(ends) && ends[a.whole] <= a.read {
		a.whole++
	}
	if to == len(all) && (!a.Each || a.read == len(all)) {
		a.seen = true
	}
	return all[a.top:to]
}

// More says how many lines are above and below what was drawn last.
func (a *Ask) More() (above, below int) {
	return a.top, max(0, a.total-a.top-a.page)
}

// JustCame is why a key does nothing on what came up by itself: it was most likely
// meant for what stood there before.
const JustCame = "this has just come up; press it again"

func (a *Ask) deaf() bool {
	return a.Late && (a.drawn.IsZero() || a.Clock.Now().Sub(a.drawn) < Grace)
}

// Keys gives the choices, the default and, where needed, scrolling.
func (a *Ask) Keys() []Binding {
	var rows []Binding
	deaf := a.deaf()
	for n, c := range a.Choices {
		keys := []string{c.Key}
		if n == a.fallback() {
			keys = append(keys, "enter", "esc", "ctrl+c")
		}
		rows = append(rows, Binding{
			Keys: keys, Show: a.show(n), Help: c.Label, Hint: n + 1,
			Off: cmp.Or(When(deaf, JustCame), When(c.Grave && !a.seen, "there is more below: read to the end first")), Do: func() tea.Cmd {
				a.done = true
				if c.Do == nil {
					return nil
				}
				return c.Do()
			},
		})
	}
	if a.total > a.page {
		scroll := scrollKeys(&a.top, a.page, a.total, 8)
		for _, c := range a.Choices {
			if c.Grave && !a.seen {
				scroll[0].Help = "scroll: " + c.Key + " is below" // its key does nothing before that
				if a.Each {
					scroll[0].Help = "scroll through it: then " + c.Key
				}
			}
		}
		rows = append(rows, scroll...)
	}
	return rows
}

func (a *Ask) show(n int) string {
	if n == a.fallback() {
		return a.Choices[n].Key + "/enter"
	}
	return a.Choices[n].Key
}

func (a *Ask) fallback() int {
	for n, c := range a.Choices {
		if !c.Grave {
			return n
		}
	}
	return -1
}

func scrollKeys(top *int, page, total, hint int) []Binding {
	go1 := func(to func() int) func() tea.Cmd {
		return func() tea.Cmd { *top = max(0, min(to(), total-page)); return nil }
	}
	return []Binding{
		{Keys: []string{"j", "down"}, Show: "j k", Help: "scroll", Hint: hint, Do: go1(func() int { return *top + 1 })},
		{Keys: []string{"k", "up"}, Help: "scroll up", Do: go1(func() int { return *top - 1 })},
		{Keys: []string{"pgdown", "space", "ctrl+d", "ctrl+f"}, Help: "page down", Do: go1(func() int { return *top + page })},
		{Keys: []string{"pgup", "b", "ctrl+u", "ctrl+b"}, Help: "page up", Do: go1(func() int { return *top - page })},
		{Keys: []string{"G", "end"}, Help: "to the end", Hint: hint + 1, Do: go1(func() int { return total })},
		{Keys: []string{"g", "home"}, Help: "to the top", Do: go1(func() int { return 0 })},
	}
}

// Sheet is text to read: help, the log, a policy, what was written.
type Sheet struct {
	Head string
	// Body gives the lines for a width; they may carry styles.
	Body func(w int) []string
	// Extra are keys of its own, before those that close it. One that goes on
	// to something else calls Close.
	Extra []Binding
	// Clock and Late are set for a sheet that comes up by itself: as with a
	// question, keys are ignored for Grace after it was first drawn.
	Clock Clock
	Late  bool

	drawn            time.Time
	top, page, total int
	done             bool
}

// Title is the sheet's head.
func (s *Sheet) Title() string { return s.Head }

// Done says that it was closed.
func (s *Sheet) Done() bool { return s.done }

// View draws the lines.
func (s *Sheet) View(w, h int) []string {
	if s.drawn.IsZero() && s.Clock != nil {
		s.drawn = s.Clock.Now()
	}
	all := s.Body(w)
	s.total, s.page = len(all), h
	s.top = max(0, min(s.top, len(all)-h))
	return all[s.top:min(len(all), s.top+h)]
}

// More says how many lines are above and below what was drawn last.
func (s *Sheet) More() (above, below int) { return s.top, max(0, s.total-s.top-s.page) }

// Keys closes and scrolls. The space bar turns the page while there is one
// more, and closes at the end.
func (s *Sheet) Keys() []Binding {
	shut := func() tea.Cmd { s.done = true; return nil }
	rows := append([]Binding{}, s.Extra...)
	keys := []string{"enter", "esc", "q", "?", "L", "ctrl+c"}
	if _, below := s.More(); below == 0 {
		keys = append(keys, "space")
	}
	rows = append(rows, Binding{Keys: keys, Show: "enter", Help: "close", Hint: 1, Do: shut})
	if s.total > s.page {
		rows = append(rows, scrollKeys(&s.top, s.page, s.total, 8)...)
	}
	if s.deaf() {
		for i := range rows {
			rows[i].Off = JustCame
		}
	}
	return rows
}

func (s *Sheet) deaf() bool {
	return s.Late && (s.drawn.IsZero() || s.Clock.Now().Sub(s.drawn) < Grace)
}

// Close shuts the sheet.
func (s *Sheet) Close() { s.done = true }
