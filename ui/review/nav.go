package review

import (
	"bytes"
	"slices"
	"sort"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
)

// narrow says that list and diff take turns on the screen.
func (m *Model) narrow() bool { return m.w < wideFrom || m.sideOn() && m.w < sideListFrom }

func (m *Model) fileNow() *diffreview.File {
	if m.set == nil || m.file < 0 || m.file >= len(m.set.Files) {
		return nil
	}
	return &m.set.Files[m.file]
}

func (m *Model) path() string {
	if f := m.fileNow(); f != nil {
		return f.Path
	}
	return ""
}

// laid gives the rows of the file under the cursor, laid out when first asked
// and again for another width.
func (m *Model) laid() *fileRows {
	if m.fileNow() == nil {
		return &fileRows{}
	}
	if m.rows == nil || m.rows.width != m.diffWidth() || m.rows.side != m.sideOn() {
		m.relay()
	}
	return m.rows
}

// relay lays the file out anew. The cursor stays on its line, and that where it
// is on the screen.
func (m *Model) relay() {
	f := m.fileNow()
	if f == nil {
		m.rows = nil
		return
	}
	how := layout{width: m.diffWidth(), side: m.sideOn(), hide: m.hide, opened: m.opened, old: m.old}
	var on row
	stays := m.rows != nil && m.cur.At < len(m.rows.rows)
	if m.rows != nil {
		how.spare = m.rows.rows // they are of this file, and about as many
	}
	if stays {
		on = m.rows.rows[m.cur.At]
	}
	m.rows = m.weave(f, layOut(f, how))
	if !stays {
		return
	}
	below := m.cur.At - m.cur.Top
	m.cur.At = max(0, m.rows.like(on))
	m.cur.Top = max(0, m.cur.At-below)
}

// like finds what a row of another layout of the file showed.
func (fr *fileRows) like(r row) int {
	switch r.kind {
	case rowLine, rowPair, rowCut:
		return fr.find(int(r.hunk), int(r.anyLine()))
	case rowGap, rowSame:
		at := -1
		for i, x := range fr.rows {
			if x.hunk != r.hunk || x.kind != rowGap && x.kind != rowSame {
				continue
			}
			if x.kind == r.kind && (x.kind == rowGap || x.line == r.line) {
				return i
			}
			if at < 0 || x.kind == rowGap || x.line == r.line {
				at = i
			}
		}
		return at
	case rowComment:
		for i, x := range fr.rows {
			if x.kind == rowComment && x.finding == r.finding {
				return i
			}
		}
		return max(0, fr.find(int(r.hunk), int(r.line)))
	case rowUnit, rowInfo, rowFinding, rowWritten:
	}
	if r.unit >= 0 && int(r.unit) < len(fr.units) {
		return fr.units[r.unit].from
	}
	return 0
}

func (m *Model) diffWidth() int {
	if m.narrow() {
		return m.w
	}
	return m.w - m.listWidth() - 1
}

// rowNow is the row under the cursor.
func (m *Model) rowNow() row {
	if fr := m.laid(); m.cur.At < len(fr.rows) {
		return fr.rows[m.cur.At]
	}
	return row{}
}

func (m *Model) unitNow() (unit, bool) {
	if m.fileNow() == nil {
		return unit{}, false
	}
	return m.laid().at(m.cur.At)
}

func (m *Model) unitID() string {
	u, _ := m.unitNow()
	return u.id
}

func (m *Model) goFile(i int) {
	if m.set == nil || len(m.set.Files) == 0 {
		m.file, m.rows = 0, nil
		return
	}
	i = max(0, min(i, len(m.set.Files)-1))
	if i != m.file || m.rows == nil {
		m.file, m.rows, m.left = i, nil, 0
		m.old, m.opened, m.lines = nil, nil, lineMode{}
		m.cur.At, m.cur.Top = 0, 0
		if us := m.laid().units; len(us) > 0 && us[0].from < m.page() {
			m.cur.At = us[0].from
		}
	}
	if g := m.foldOf(i); g >= 0 {
		m.folded[g] = false
	}
	if m.hide && !slices.Contains(m.entries(), entry{kind: entryFile, file: i}) {
		m.hiding++ // the list has the file that is shown
	}
	m.follow()
}

// goUnit puts the cursor on the head of a unit of the file, with as much of the
// unit below it as fits.
func (m *Model) goUnit(id string) {
	for _, u := range m.laid().units {
		if u.id == id {
			m.cur.At = u.from
			if u.to > m.cur.Top+m.page() {
				m.cur.Top = max(0, min(u.from-1, u.to-m.page()))
				m.cur.Top = min(m.cur.Top, u.from)
			}
			return
		}
	}
}

// page is how many rows of the diff are on the screen.
func (m *Model) page() int { return max(1, m.h-headLines-1) }

func (m *Model) line(d int) tea.Cmd {
	if m.inList {
		return m.entry(d)
	}
	if m.lines.on {
		m.changedLine(d)
		return nil
	}
	m.cur.Move(d, len(m.laid().rows))
	return nil
}

// entry moves in the list of files.
func (m *Model) entry(d int) tea.Cmd {
	es := m.entries()
	if len(es) == 0 {
		return nil
	}
	m.files.Move(d, len(es))
	if e := es[m.files.At]; e.kind == entryFile {
		at := m.files
		m.goFile(e.file)
		m.files.Top = at.Top
	}
	return nil
}

func (m *Model) nextFile(d int) tea.Cmd {
	if m.set == nil {
		return nil
	}
	for i := m.file + d; i >= 0 && i < len(m.set.Files); i += d {
		if !m.hidden(i) {
			m.goFile(i)
			break
		}
	}
	return nil
}

// hunk goes to the unit after or before, into the next file where this one has
// no more.
func (m *Model) hunk(d int) tea.Cmd {
	if m.fileNow() == nil {
		return nil
	}
	us := m.laid().units
	at := sort.Search(len(us), func(i int) bool { return us[i].from > m.cur.At }) - 1
	if d < 0 && at >= 0 && m.cur.At > us[at].from && !m.lines.on {
		m.goUnit(us[at].id)
		return nil
	}
	if to := at + d; to >= 0 && to < len(us) {
		m.goUnit(us[to].id)
		if m.lines.on {
			m.lines.ranged = false
			m.snap(us[to].from, us[to].to)
		}
		return nil
	}
	was := m.file
	m.nextFile(d)
	if us = m.laid().units; d < 0 && len(us) > 0 && m.file != was {
		m.goUnit(us[len(us)-1].id)
	}
	return nil
}

// next goes to the next unit, after the cursor and then from the start, that
// wants says yes to.
func (m *Model) next(want func(id string, v diffreview.Verdict) bool) bool {
	if m.set == nil {
		return false
	}
	n := len(m.set.Files)
	here := m.unitID()
	for k := 0; k <= n; k++ {
		i := (m.file + k) % max(1, n)
		f := &m.set.Files[i]
		past := k > 0
		hit := ""
		each(f, func(id string, v diffreview.Verdict) {
			switch {
			case hit != "":
			case !past && id == here:
				past = true
			case past && want(id, v):
				hit = id
			}
		})
		if hit != "" {
			m.goFile(i)
			m.goUnit(hit)
			m.inList = false
			return true
		}
	}
	return false
}

func (m *Model) nextUndecided() tea.Cmd {
	if m.lines.on && m.nextOpenLine() {
		return nil
	}
	if !m.next(func(_ string, v diffreview.Verdict) bool { return v == diffreview.Undecided }) {
		m.ctx.Say("everything is decided")
	}
	if m.hide {
		m.rehide()
	}
	return nil
}

func (m *Model) nextRisky() tea.Cmd {
	open := func(id string, v diffreview.Verdict) bool { return m.risky[id] != nil && v == diffreview.Undecided }
	any := func(id string, _ diffreview.Verdict) bool { return m.risky[id] != nil }
	if !m.next(open) && !m.next(any) {
		m.ctx.Say("nothing here is risky, as far as the rules know")
	}
	return nil
}

// startSearch looks for text in the lines from the cursor on, over all files.
// It reads only bytes of lines, which nothing changes.
func (m *Model) startSearch(d int) tea.Cmd {
	q := bytes.ToLower([]byte(m.search.String()))
	if len(q) == 0 || m.set == nil || m.looking || len(m.set.Files) == 0 {
		return nil
	}
	m.looking = true
	id, gen, files, file := m.id, m.gen, m.set.Files, m.file
	hunk, line := -1, -1
	if rs := m.laid().rows; m.cur.At < len(rs) {
		hunk = int(rs[m.cur.At].hunk)
		if k := rs[m.cur.At].kind; k == rowLine || k == rowPair {
			line = int(rs[m.cur.At].anyLine())
		}
	}
	return func() tea.Msg {
		f, h, l, ok := find(files, q, file, hunk, line, d)
		return foundMsg{Session: id, Gen: gen, File: f, Hunk: h, Line: l, Found: ok}
	}
}

// find gives the next line with q in the direction d, once around.
func find(files []diffreview.File, q []byte, file, hunk, line, d int) (f, h, l int, ok bool) {
	n := len(files)
	after := func(h, l int) bool {
		if d > 0 {
			return h > hunk || h == hunk && l > line
		}
		return h < hunk || h == hunk && l < line
	}
	for k := 0; k <= n; k++ {
		i := ((file+d*k)%n + n) % n
		hs := files[i].Hunks
		for a := range hs {
			h := a
			if d < 0 {
				h = len(hs) - 1 - a
			}
			ls := hs[h].Lines
			for b := range ls {
				l := b
				if d < 0 {
					l = len(ls) - 1 - b
				}
				if k == 0 && !after(h, l) || k == n && after(h, l) {
					continue
				}
				if bytes.Contains(bytes.ToLower(ls[l].Text), q) {
					return i, h, l, true
				}
			}
		}
	}
	return 0, 0, 0, false
}

func (m *Model) found(msg foundMsg) tea.Cmd {
	if msg.Session != m.id {
		return nil
	}
	m.looking = false
	if msg.Gen != m.gen {
		return nil
	}
	if !msg.Found {
		m.ctx.Say("no line has " + m.search.String())
		return nil
	}
	m.goFile(msg.File)
	m.cur.At = max(0, m.laid().find(msg.Hunk, msg.Line))
	m.inList = false
	return nil
}
