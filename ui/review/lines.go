package review

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// lineMode is the state in which keys decide single lines.
type lineMode struct {
	on     bool
	ranged bool
	hunk   int32 // where the range began, as rows have it
	line   int32
}

// toggleLines goes from hunks to lines, from there to a range, and back.
func (m *Model) toggleLines() tea.Cmd {
	switch {
	case !m.lines.on:
		return m.startLines()
	case !m.lines.ranged:
		return m.startRange()
	}
	m.lines = lineMode{}
	return nil
}

// startLines puts the cursor on a changed line of its hunk.
func (m *Model) startLines() tea.Cmd {
	if m.fileNow() == nil {
		return nil
	}
	m.inList = false
	if !m.snap(m.unitRows()) {
		m.ctx.Say("no line to decide here: the file is decided as a whole")
		return nil
	}
	m.lines = lineMode{on: true}
	return nil
}

// toggleRange begins a range at the cursor, or ends the one there is.
func (m *Model) toggleRange() tea.Cmd {
	if m.lines.ranged {
		m.lines.ranged = false
		return nil
	}
	return m.startRange()
}

func (m *Model) startRange() tea.Cmd {
	if !m.lines.on {
		m.startLines()
	}
	if r, ok := m.changedAt(m.cur.At); ok && m.lines.on {
		m.lines.ranged, m.lines.hunk, m.lines.line = true, r.hunk, r.anyLine()
	}
	return nil
}

// extend moves the end of the range, which begins here if there is none.
func (m *Model) extend(d int) tea.Cmd {
	if m.inList {
		return nil
	}
	if !m.lines.ranged {
		m.startRange()
	}
	if m.lines.ranged {
		m.changedLine(d)
	}
	return nil
}

// unitRows are the rows of the unit under the cursor, else of the one below it.
func (m *Model) unitRows() (from, to int) {
	fr := m.laid()
	for _, u := range fr.units {
		if m.cur.At < u.to && u.hunk >= 0 && u.to-u.from > 1 {
			return u.from, u.to
		}
	}
	return 0, len(fr.rows)
}

// changedAt gives the row if it holds a changed line.
func (m *Model) changedAt(i int) (row, bool) {
	fr, f := m.laid(), m.fileNow()
	if f == nil || i < 0 || i >= len(fr.rows) {
		return row{}, false
	}
	r := fr.rows[i]
	_, n := r.changed(f)
	return r, n > 0
}

// snap moves the cursor to the changed row that is nearest to it in [from,to).
func (m *Model) snap(from, to int) bool {
	at := max(from, min(m.cur.At, to-1))
	for d := 0; d < to-from; d++ {
		for _, i := range [2]int{at + d, at - d} {
			if i < from || i >= to {
				continue
			}
			if _, ok := m.changedAt(i); ok {
				m.cur.At = i
				return true
			}
		}
	}
	return false
}

// changedLine moves by d changed lines, or by pages to one near; a range does
// not leave its hunk.
func (m *Model) changedLine(d int) {
	fr := m.laid()
	from, to := 0, len(fr.rows)
	if m.lines.ranged {
		if u, ok := m.unitNow(); ok {
			from, to = u.from, u.to
		}
	}
	step := 1
	if d < 0 {
		step = -1
	}
	if d != step {
		at := m.cur.At
		m.cur.At = max(from, min(at+d, to-1))
		if !m.snap(from, to) {
			m.cur.At = at
		}
		return
	}
	for i := m.cur.At + step; i >= from && i < to; i += step {
		if _, ok := m.changedAt(i); ok {
			m.cur.At = i
			return
		}
	}
}

// nextOpenLine goes to the next line of the file without a verdict. Line mode
// ends with the file: behind its last such line it is the turn of hunks.
func (m *Model) nextOpenLine() bool {
	f, fr := m.fileNow(), m.laid()
	for i := m.cur.At + 1; i < len(fr.rows); i++ {
		lines, n := fr.rows[i].changed(f)
		for _, l := range lines[:n] {
			if f.Hunks[fr.rows[i].hunk].LineVerdict(int(l)) == diffreview.Undecided {
				m.cur.At, m.lines.ranged = i, false
				return true
			}
		}
	}
	return false
}

// span is the rows that a deciding key is for in line mode: the cursor's alone,
// or the range.
func (m *Model) span() (from, to int) {
	at := m.cur.At
	if !m.lines.ranged {
		return at, at + 1
	}
	r, ok := m.changedAt(at)
	began := m.laid().find(int(m.lines.hunk), int(m.lines.line))
	if !ok || r.hunk != m.lines.hunk || began < 0 {
		return at, at + 1
	}
	return min(at, began), max(at, began) + 1
}

// decideLines is for the lines under the cursor or in the range.
func (m *Model) decideLines(v diffreview.Verdict) tea.Cmd {
	if !m.ready() {
		return nil
	}
	f, fr := m.fileNow(), m.laid()
	from, to := m.span()
	to = min(to, len(fr.rows))
	picked := make([]int32, 0, 2*(to-from)) // side by side a row has two
	for i := from; i < to; i++ {
		lines, n := fr.rows[i].changed(f)
		picked = append(picked, lines[:n]...)
	}
	u, ok := m.unitNow()
	if !ok || u.hunk < 0 || len(picked) == 0 {
		m.ctx.Say("no changed line is under the cursor: nothing was decided (v leaves line mode)")
		return nil
	}
	h := &f.Hunks[u.hunk]
	switch {
	case v == diffreview.Approved && !m.mayApprove(u.id):
		return nil
	case h.Edit != "":
		m.ctx.Say("your own text stands for this hunk: v leaves line mode, u takes the text back")
		return nil
	}
	was := m.standing(u.id)
	rec := ofLetters(chosen(h, was, picked, v))
	if err := impossible(f, h, rec); err != nil {
		m.ctx.Fail(fmt.Errorf("not decided: %w", err))
		return nil
	}
	return m.record([]decision{{id: u.id, path: f.Path, was: was, to: rec}})
}

// chosen is the letters of a hunk, which stands as it was, with those of some
// lines set.
func chosen(h *diffreview.Hunk, was diffreview.Decision, picked []int32, v diffreview.Verdict) []byte {
	set, other := letterOf(v), letterOf(was.Verdict)
	slices.Sort(picked) // those of rows side by side are not in order
	letters := make([]byte, 0, len(h.Lines))
	for i := range h.Lines {
		switch {
		case h.Lines[i].Op == ' ':
		case len(picked) > 0 && picked[0] == int32(i):
			letters, picked = append(letters, set), picked[1:]
		case was.Lines != "" && len(picked) == 0:
			return append(letters, was.Lines[len(letters):]...)
		case was.Lines != "":
			letters = append(letters, was.Lines[len(letters)])
		default:
			letters = append(letters, other)
		}
	}
	return letters
}

func letterOf(v diffreview.Verdict) byte {
	switch v {
	case diffreview.Approved:
		return 'a'
	case diffreview.Rejected:
		return 'r'
	case diffreview.Undecided, diffreview.Mixed:
	}
	return '.'
}

// ofLetters is the decision of letters as diffreview.Decision has them: one on
// the whole hunk where all are the same.
func ofLetters(b []byte) diffreview.Decision {
	if len(b) == 0 || bytes.Count(b, b[:1]) < len(b) {
		return diffreview.Decision{Lines: string(b)}
	}
	switch b[0] {
	case 'a':
		return diffreview.Decision{Verdict: diffreview.Approved}
	case 'r':
		return diffreview.Decision{Verdict: diffreview.Rejected}
	}
	return diffreview.Decision{}
}

// impossible says why no file can have the lines that a decision would approve.
// It has the hunk alone put together as an apply would put the file together.
func impossible(f *diffreview.File, h *diffreview.Hunk, rec diffreview.Decision) error {
	if rec.Lines == "" || !lastLineOpen(h) {
		return nil // only a line without newline can be joined with another
	}
	one := diffreview.File{Path: f.Path, Status: diffreview.Modified, Old: f.Old, New: f.New}
	hunk := *h
	if hunk.ID == f.Whole {
		one.Status, one.Whole = f.Status, f.Whole
	} else if hunk.OldStart = 1; hunk.OldLines == 0 {
		hunk.OldStart = 0
	}
	one.Hunks = []diffreview.Hunk{hunk}
	if !one.Decide(h.ID, rec) {
		return errors.New("these lines are not of this hunk")
	}
	_, err := diffreview.Outcomes(&one, func(diffreview.Blob) ([]byte, error) { return oldSide(h), nil })
	var join *diffreview.JoinError
	if errors.As(err, &join) {
		return errors.New(kit.Safe(join.Error()))
	}
	return err
}

// lastLineOpen says whether the last line of either side has no newline.
func lastLineOpen(h *diffreview.Hunk) bool {
	old, now := h.OldLines == 0, h.NewLines == 0
	for i := len(h.Lines) - 1; i >= 0 && !(old && now); i-- {
		l := &h.Lines[i]
		if l.NoEOL {
			return true
		}
		old, now = old || l.Op != '+', now || l.Op != '-'
	}
	return false
}

func oldSide(h *diffreview.Hunk) []byte {
	var b bytes.Buffer
	for i := range h.Lines {
		l := &h.Lines[i]
		if l.Op == '+' {
			continue
		}
		b.Write(l.Text)
		if !l.NoEOL {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// parted is how the lines of a unit are decided, and what is said of it.
type parted struct{ letters, said string }

// part keeps what Letters gives until something else is decided on the unit.
func (m *Model) part(id string, h *diffreview.Hunk) parted {
	p, ok := m.parts[id]
	if !ok {
		letters := h.Letters()
		p = parted{letters, linesSaid(letters)}
		m.keepPart(id, p)
	}
	return p
}

func (m *Model) keepPart(id string, p parted) {
	if m.parts == nil {
		m.parts = map[string]parted{}
	}
	m.parts[id] = p
}

// linesSaid sums the verdicts on a hunk's lines up, where they differ: "5 of 8
// lines approved, 1 open".
func linesSaid(letters string) string {
	text := fmt.Sprintf("%s of %s approved", kit.Count(strings.Count(letters, "a")), kit.Plural(len(letters), "line"))
	if open := strings.Count(letters, "."); open > 0 {
		text += fmt.Sprintf(", %s open", kit.Count(open))
	}
	return text
}
