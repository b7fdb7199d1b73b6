package walls

import (
	"fmt"
	"slices"

	"fumehood/isolate/walls"
	"fumehood/ui/kit"
)

// order is the sixteen, wall by wall in the order of the strip.
func order() []walls.Test {
	var out []walls.Test
	for _, w := range walls.Walls() {
		for _, t := range walls.Tests() {
			if t.Wall == w {
				out = append(out, t)
			}
		}
	}
	return out
}

// wallName is the name that the strip gives a wall.
func wallName(w walls.Wall) string {
	for _, c := range kit.Strip(kit.Proof{}) {
		if c.Wall == w {
			return c.Name
		}
	}
	return string(w)
}

// state is how far a test is.
type state int

const (
	unknown  state = iota // no record has it
	recorded              // in the record of this shape
	stale                 // in a record of another shape
	tried                 // in this workbench, since the record
	waits                 // part of the run under way, not begun
	works                 // at work now
)

// line is one test as it stands.
type line struct {
	test   walls.Test
	state  state
	result walls.Result // empty where unknown or waiting
}

// lines is the sixteen as they stand, in the order of the list.
func (m *Model) lines() []line {
	byNumber := map[int]walls.Result{}
	at := recorded
	if r := m.about.Standing.Record; m.have && r != nil {
		for _, t := range r.Tests {
			byNumber[t.Number] = t
		}
		if len(m.about.Standing.Stale) > 0 {
			at = stale
		}
	}
	var out []line
	for _, t := range order() {
		l := line{test: t}
		if r, ok := byNumber[t.Number]; ok {
			l.state, l.result = at, r
		}
		if r, ok := m.fresh[t.Number]; ok && m.freshHash == m.about.Hash {
			l.state, l.result = tried, r
		}
		if r := m.run; r != nil && r.hash == m.about.Hash && r.includes(t.Number) {
			l.state, l.result = waits, walls.Result{}
			if got := r.tests[t.Number]; got != nil {
				l.state, l.result = works, *got
				if r.finished[t.Number] {
					l.state = tried
				}
			}
		}
		out = append(out, l)
	}
	return out
}

// bad says that the test did not hold.
func (l line) bad() bool {
	return l.state != unknown && l.state != waits && l.state != works && l.result.Verdict != walls.Held && l.result.Verdict != walls.NA
}

// means is what it means that the test did not hold. One that could not be
// carried out says nothing of the wall, in either direction.
func (l line) means() string {
	if l.result.Verdict == walls.Failed {
		return l.test.Means
	}
	return "It could not be carried out, so nothing is known of this wall, and nothing counts as held."
}

// remedy is what to do then.
func (l line) remedy() string {
	if l.result.Verdict == walls.Failed {
		return l.test.Remedy
	}
	return "Run it again; if it stays so, see the reason and \"fumehood doctor\"."
}

// mark is how the line is drawn: a sign and words, since colour alone says
// nothing.
func (l line) mark(turns int) (mark walls.Mark, text string) {
	switch l.state {
	case unknown:
		return walls.MarkUnproven, "? not run"
	case waits:
		return walls.MarkNA, "  waits"
	case works:
		return walls.MarkUnproven, string(`|/-\`[turns%4]) + " at work"
	case stale, recorded, tried:
	}
	return verdictMark(l.result.Verdict, l.state == stale)
}

func verdictMark(v walls.Verdict, old bool) (mark walls.Mark, text string) {
	switch v {
	case walls.Held:
		if old {
			return walls.MarkStale, "~ held"
		}
		return walls.MarkHeld, "✓ held"
	case walls.NA:
		return walls.MarkNA, "· n.a."
	case walls.Failed:
		return walls.MarkFailed, "✗ FAILED"
	case walls.Errored:
		return walls.MarkFailed, "✗ error"
	}
	return walls.MarkFailed, kit.Safe("✗ " + string(v))
}

// counts is held of those that apply: "14/14".
func (l line) counts() string {
	held, of := l.result.Count()
	switch {
	case l.state == unknown || l.state == waits || of == 0:
		return ""
	case l.state == works:
		return fmt.Sprintf("%d…", of)
	}
	return fmt.Sprintf("%d/%d", held, of)
}

// evidence is what the verdict rests on in a few words: why it is none, or what
// the first witness saw.
func (l line) evidence() string {
	r := l.result
	switch {
	case l.state == works && len(r.Attempts) > 0:
		return r.Attempts[len(r.Attempts)-1].Tried
	case l.state == unknown, l.state == waits, l.state == works:
		return l.test.Expected
	case r.Reason != "":
		return r.Reason
	}
	// A refusal says more than the control beside it, which is an attempt too.
	i := slices.IndexFunc(r.Attempts, func(a walls.Attempt) bool { return a.Verdict == walls.Held && a.Control != "" })
	if i < 0 {
		i = slices.IndexFunc(r.Attempts, func(a walls.Attempt) bool { return a.Verdict == walls.Held })
	}
	if i < 0 {
		return ""
	}
	a := r.Attempts[i]
	return string(a.Witness) + ": " + a.Observed
}
