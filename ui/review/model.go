// Package review is the third place: the change set of a session, and the keys
// that approve, reject and apply it. A verdict is for a unit ID, hence for the
// bytes that were on the screen: whatever arrives in between, a key never
// decides on anything else. Asking happens one job at a time, in the order of
// the keys.
//
// What this does not cover: what may be written to the host is checked again,
// against the host, by whoever applies.
package review

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui/kit"
)

type (
	changeSetMsg struct {
		Session  string
		Job      int
		Set      *diffreview.ChangeSet
		Comments []diffreview.Comment
		Err      error
	}
	decidedMsg struct {
		Session string
		Job     int
		Err     error
	}
	previewMsg struct {
		Session string
		Job     int
		Check   session.Applied
		Would   []string
		// Set is what the apply was compared for: decisions that were made
		// elsewhere, or taken home from a bundle, are not on the screen yet.
		Set      *diffreview.ChangeSet
		Comments []diffreview.Comment
		Err      error
	}
	appliedMsg struct {
		Session string
		Job     int
		Undo    bool
		Done    session.Applied
		Err     error
	}
	historyMsg struct {
		Session string
		Job     int
		Nothing bool
	}
	foundMsg struct {
		Session    string
		Gen        int
		File       int
		Hunk, Line int
		Found      bool
	}
)

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend

	id   string
	set  *diffreview.ChangeSet
	err  error
	gen  int // raised with every new change set
	jobs queue

	where   map[string]place               // unit ID -> where it is
	risky   map[string]*diffreview.Finding // unit ID -> the strongest finding above note
	parts   map[string]parted              // unit ID -> how its lines are decided, where that was asked for
	unseen  map[string]bool                // units that no screen shows whole
	lapsed  map[string]bool                // paths with a verdict that lapsed
	looks   map[string]time.Time           // unit ID -> when it was first drawn
	settled time.Time                      // until then nothing is decided: the diff has just changed
	tally   tally
	past    past // what was decided here, to be taken back

	file   int
	rows   *fileRows
	cur    kit.List // in rows
	files  kit.List // in entries
	inList bool     // the list of files has the keys
	folded [folds]bool
	hide   bool // what is decided is left away
	hiding int  // raised when it is looked at again what is
	left   int  // cells that lines are moved to the left, bytes in long ones
	words  bool
	white  bool
	side   bool // old and new side by side, where there is room

	asked
	lines  lineMode
	opened map[int]span // of the file's gaps, by the hunk after them
	old    *oldText     // of the file, once a gap was opened

	colours colours

	search    kit.Input
	searching bool
	looking   bool

	w, h      int
	listed    entryList
	listDrawn int // rows of the list when drawn last
}

// place is where a unit is.
type place struct{ file, hunk int }

// New is the place over a backend.
func New(ctx *kit.Ctx, b Backend) *Model {
	return &Model{ctx: ctx, backend: b, words: true, folded: allFolded}
}

// Title is the place's name.
func (m *Model) Title() string { return "review" }

// Grab says that keys are text to search for.
func (m *Model) Grab() bool { return m.searching }

// Enter shows a session's change set. The first time a snapshot is made; later
// what was looked at stays until R.
func (m *Model) Enter(id string) tea.Cmd {
	load := m.show(id)
	m.active = true
	return tea.Batch(load, m.watch(), m.colour())
}

func (m *Model) show(id string) tea.Cmd {
	if id == m.id && m.set != nil {
		return nil
	}
	if id != m.id {
		*m = Model{
			ctx: m.ctx, backend: m.backend, words: m.words, white: m.white, side: m.side, hide: m.hide, folded: allFolded,
			w: m.w, h: m.h, id: id, gen: m.gen + 1, jobs: queue{serial: m.jobs.serial + 1},
		}
	}
	if id == "" || m.jobs.has(jobLoad) {
		return nil
	}
	m.inList = m.narrow()
	return m.push(job{kind: jobLoad, fresh: true})
}

// Exit leaves the place; jobs under way go on.
func (m *Model) Exit() { m.searching, m.active = false, false }

// Update takes the place's own answers and, while it is active, the keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd { return tea.Batch(m.update(msg), m.colour()) }

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case changeSetMsg:
		if _, ok := m.jobs.take(msg.Session == m.id, msg.Job); ok {
			return m.loaded(msg)
		}
	case decidedMsg:
		if j, ok := m.jobs.take(msg.Session == m.id, msg.Job); ok {
			return m.decided(j, msg.Err)
		}
	case previewMsg:
		if _, ok := m.jobs.take(msg.Session == m.id, msg.Job); ok {
			return m.previewed(msg)
		}
	case appliedMsg:
		if _, ok := m.jobs.take(msg.Session == m.id, msg.Job); ok {
			return m.applied(msg)
		}
	case historyMsg:
		if _, ok := m.jobs.take(msg.Session == m.id, msg.Job); ok {
			return m.toldHistory(msg)
		}
	case answerMsg:
		return m.answered(msg)
	case pollMsg:
		return m.poll(msg)
	case foundMsg:
		return m.found(msg)
	case oldTextMsg:
		return m.read(msg)
	case resultMsg:
		return m.showResult(msg)
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.searching {
			m.search.Paste(msg.Content)
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	}
	return nil
}

// loaded shows a change set. The cursor stays on its unit, if that is still
// there; jobs that wait are for the units they named, not for what took their
// place.
func (m *Model) loaded(msg changeSetMsg) tea.Cmd {
	if msg.Err != nil {
		if m.set == nil {
			m.err = msg.Err
		}
		m.ctx.Fail(fmt.Errorf("change set: %w", msg.Err))
		return m.pump()
	}
	old, oldUnit, oldPath, oldRow := m.set, m.unitID(), m.path(), m.row()
	lines, line := m.lines, m.rowNow()
	m.err, m.set = nil, msg.Set
	m.goneOn = false
	if m.set == nil {
		m.set = &diffreview.ChangeSet{Session: m.id}
	}
	m.gen++
	m.index()
	m.noteLapsed(old)
	m.refit()
	m.file, m.rows = 0, nil
	m.restore(oldUnit, oldPath)
	moved := m.unitID() != oldUnit
	if oldRow.kind != entryFile && m.inList && !m.goRow(oldRow) {
		moved = true
	}
	if u, ok := m.unitNow(); ok && !moved {
		// The unit has the same lines: the cursor stays on its own.
		if at := m.laid().find(u.hunk, int(line.anyLine())); at >= 0 && (line.kind == rowLine || line.kind == rowPair) {
			m.cur.At = at
			if m.lines = lines; lines.ranged {
				m.lines.hunk = int32(u.hunk)
			}
		}
	}
	if old != nil && moved {
		m.settled = m.ctx.Clock.Now().Add(kit.Grace)
	}
	m.count()
	ask := []tea.Cmd{m.showComments(msg.Comments), m.wantEdits(), m.pump()}
	if old == nil {
		// A review may begin with a snapshot that was taken before.
		ask = append(ask, m.pollNow())
	}
	return tea.Batch(ask...)
}

// index notes where each unit is and which are risky.
func (m *Model) index() {
	n := len(m.set.Files)
	for i := range m.set.Files {
		n += len(m.set.Files[i].Hunks)
	}
	m.where = make(map[string]place, n) // growing it would take longer than filling it
	was := m.risky
	m.risky = map[string]*diffreview.Finding{}
	m.unseen, m.parts = map[string]bool{}, nil
	if m.looks == nil {
		m.looks = map[string]time.Time{}
	}
	for i := range m.set.Files {
		f := &m.set.Files[i]
		if f.Whole != "" {
			m.where[f.Whole] = place{i, -1}
			if f.Binary {
				m.unseen[f.Whole] = true
			}
		}
		for h := range f.Hunks {
			if f.Hunks[h].ID != f.Whole {
				m.where[f.Hunks[h].ID] = place{i, h}
			}
			if tooLong(&f.Hunks[h]) {
				m.unseen[f.Hunks[h].ID] = true
			}
		}
		if len(f.Findings) > 0 {
			for id, x := range f.Risky() {
				m.risky[id] = x
				if old := was[id]; old == nil || old.Edit != x.Edit || old.Rule != x.Rule || old.Why != x.Why || old.Severity != x.Severity {
					delete(m.looks, id) // it was looked at with another text, or without this risk
				}
			}
		}
	}
}

func (m *Model) noteLapsed(old *diffreview.ChangeSet) {
	if old == nil {
		return
	}
	n := 0
	m.lapsed = map[string]bool{}
	for i := range old.Files {
		f := &old.Files[i]
		f.Each(func(id string, mark *diffreview.Mark, h *diffreview.Hunk) {
			if _, ok := m.where[id]; !ok && (mark.Decision != diffreview.Undecided || h != nil && h.Part != nil) {
				m.lapsed[f.Path] = true
				n++
			}
		})
	}
	if n > 0 {
		m.ctx.Say(fmt.Sprintf("%s lapsed: the bytes they were made on have changed", kit.Plural(n, "decision")))
	}
}

// refit puts the verdicts of jobs that wait onto the new change set and drops
// the units that it no longer has.
func (m *Model) refit() {
	gone := 0
	keep := m.jobs.wait[:0]
	for _, j := range m.jobs.wait {
		if j.kind == jobDecide {
			var units []decision
			for _, d := range j.units {
				if _, ok := m.where[d.id]; !ok {
					gone++
					continue
				}
				d.was = m.standing(d.id)
				if !m.put(d.id, d.to) {
					gone++
					continue
				}
				units = append(units, d)
			}
			if j.units = units; len(units) == 0 {
				continue
			}
		}
		keep = append(keep, j)
	}
	m.jobs.wait = keep
	if gone > 0 {
		m.ctx.Tell(kit.Say{Text: fmt.Sprintf("%s not recorded: what you decided on has changed since", kit.Plural(gone, "decision")), Error: true})
	}
}

// restore puts the cursor on a unit, else on its file, else at the top.
func (m *Model) restore(unitID, path string) {
	if p, ok := m.where[unitID]; ok && unitID != "" {
		m.goFile(p.file)
		m.goUnit(unitID)
		return
	}
	for i := range m.set.Files {
		if m.set.Files[i].Path == path {
			m.goFile(i)
			return
		}
	}
	m.goFile(0)
}

// tally is what the head line and the badge say.
type tally struct {
	units, decided int
	added, removed int
	openFiles      int
	openRisky      int
	notShown       int // files of which an open part is not shown whole
	approved       int // units of which something is
}

func (m *Model) count() {
	t := tally{}
	for i := range m.set.Files {
		f := &m.set.Files[i]
		t.added += f.Added
		t.removed += f.Removed
		open, unseen := false, false
		f.Each(func(id string, mark *diffreview.Mark, h *diffreview.Hunk) {
			t.units++
			if mark.Decision == diffreview.Undecided {
				open = true
				unseen = unseen || m.unseen[id]
				if m.risky[id] != nil {
					t.openRisky++
				}
			} else {
				t.decided++
			}
			if mark.Decision == diffreview.Approved || h != nil && slices.Contains(h.Part, diffreview.Approved) {
				t.approved++
			}
		})
		if open {
			t.openFiles++
		}
		if unseen {
			t.notShown++
		}
	}
	m.tally = t
}

// Open says how many files of a session are undecided and how many risky units
// are, if the place knows that session.
func (m *Model) Open(id string) (files, risky int, known bool) {
	if id != m.id || m.set == nil {
		return 0, 0, false
	}
	return m.tally.openFiles, m.tally.openRisky, true
}
