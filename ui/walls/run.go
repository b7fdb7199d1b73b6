package walls

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/walls"
	"fumehood/ui/kit"
)

// drawEvery is how often a run is drawn, and what it told is taken in.
const drawEvery = 100 * time.Millisecond

// maxTold bounds what a run has told and the screen has not taken yet. Beyond
// it the run waits: no attempt is dropped.
const maxTold = 4096

type (
	drawMsg struct{ Gen int }
	toldMsg struct {
		Gen    int
		Events []walls.Event
	}
	provedMsg struct {
		Gen    int
		Record *walls.Record
		Err    error
	}
	mutatedMsg struct {
		Gen    int
		Matrix *walls.Matrix
		Err    error
	}
)

// running is a run of the tests that is under way.
type running struct {
	gen    int
	policy string // name, for the screen
	hash   string
	only   int // the one test, 0 for all
	mutate bool
	began  time.Time
	cancel context.CancelFunc
	told   chan walls.Event

	at       int // the test that is at work
	turns    int // how often it was drawn, for the mark that turns
	tests    map[int]*walls.Result
	finished map[int]bool
	attempts int
	note     string
	ending   bool // it was cancelled and ends what it began
}

// includes says whether a test is part of the run.
func (r *running) includes(number int) bool {
	return !r.mutate && (r.only == 0 || r.only == number)
}

// start begins a run of one test, or of all with 0.
func (m *Model) start(only int) tea.Cmd {
	if m.run != nil || !m.have {
		return nil
	}
	r := m.begin(only, false)
	ask := walls.Run{Policy: m.about.Source}
	if only > 0 {
		ask.Only = []int{only}
	}
	ctx, gen, told := r.context(m.ctx), r.gen, r.told
	work := func() tea.Msg {
		rec, err := m.backend.Prove(ctx, ask, teller(ctx, told))
		return provedMsg{Gen: gen, Record: rec, Err: err}
	}
	return tea.Batch(work, m.later())
}

// mutate begins a run that leaves out one part at a time.
func (m *Model) mutate() tea.Cmd {
	if m.run != nil || !m.have {
		return nil
	}
	r := m.begin(0, true)
	ctx, gen, told, source := r.context(m.ctx), r.gen, r.told, m.about.Source
	work := func() tea.Msg {
		mx, err := m.backend.Mutate(ctx, source, teller(ctx, told))
		return mutatedMsg{Gen: gen, Matrix: mx, Err: err}
	}
	return tea.Batch(work, m.later())
}

func (m *Model) begin(only int, mutate bool) *running {
	m.runs++
	m.run = &running{
		gen: m.runs, policy: m.about.Policy, hash: m.about.Hash, only: only, mutate: mutate, began: m.ctx.Clock.Now(),
		told: make(chan walls.Event, maxTold), tests: map[int]*walls.Result{}, finished: map[int]bool{},
	}
	return m.run
}

func (r *running) context(c *kit.Ctx) context.Context {
	ctx, cancel := context.WithCancel(c.Base)
	r.cancel = cancel
	return ctx
}

// teller hands events over. It gives up once the run is cancelled: nobody may
// take them any more.
func teller(ctx context.Context, told chan<- walls.Event) func(walls.Event) {
	return func(e walls.Event) {
		select {
		case told <- e:
		case <-ctx.Done():
		}
	}
}

// later has what was told taken in a moment from now.
func (m *Model) later() tea.Cmd {
	return m.ctx.Clock.After(drawEvery, drawMsg{Gen: m.run.gen})
}

// take gives all that was told so far.
func (r *running) take() tea.Cmd {
	gen, told := r.gen, r.told
	return func() tea.Msg {
		var all []walls.Event
		for len(all) < maxTold {
			select {
			case e := <-told:
				all = append(all, e)
				continue
			default:
			}
			break
		}
		return toldMsg{Gen: gen, Events: all}
	}
}

// hear takes in what a run told.
func (r *running) hear(events []walls.Event) {
	for _, e := range events {
		if e.Note != "" {
			r.note = e.Note
		}
		if e.Test == 0 {
			continue
		}
		t := r.tests[e.Test]
		if t == nil || e.Begins {
			spec, _ := walls.Find(e.Test)
			t = &walls.Result{Number: e.Test, Name: spec.Name, Wall: spec.Wall}
			r.tests[e.Test] = t
		}
		if e.Begins {
			r.at = e.Test
		}
		if e.Attempt != nil {
			t.Attempts = append(t.Attempts, *e.Attempt)
			r.attempts++
		}
		if e.Result != nil {
			done := *e.Result
			r.tests[e.Test] = &done
			r.finished[e.Test] = true
		}
	}
}

// Running says that tests are under way.
func (m *Model) Running() bool { return m.run != nil }

// Cancel ends a run; what it began in the sandbox is taken away first.
func (m *Model) Cancel() {
	if m.run != nil {
		m.run.ending = true
		m.run.cancel()
	}
}

// proved takes the end of a run.
func (m *Model) proved(msg provedMsg) tea.Cmd {
	r := m.run
	if r == nil || msg.Gen != r.gen {
		return nil
	}
	r.cancel()
	m.run = nil
	if msg.Record != nil {
		m.keep(r, msg.Record)
	}
	switch {
	case r.ending || errors.Is(msg.Err, context.Canceled):
		m.ctx.Say("wall tests cancelled: nothing was recorded")
	case msg.Err != nil:
		m.ctx.Fail(fmt.Errorf("wall tests: %w", msg.Err))
	case msg.Record != nil:
		m.tell(msg.Record)
	}
	m.ctx.Tell(kit.Changed{})
	return m.load()
}

// keep shows what a run came to until its policy is read anew with a record of
// its own. Of one that was cancelled only the tests that ended count: the rest
// was never tried.
func (m *Model) keep(r *running, rec *walls.Record) {
	if m.fresh == nil || m.freshHash != r.hash {
		m.fresh, m.freshHash = map[int]walls.Result{}, r.hash
	}
	for _, t := range rec.Tests {
		if r.ending && !r.finished[t.Number] || r.ending && t.Verdict == walls.Errored {
			continue
		}
		m.fresh[t.Number] = t
	}
	if !r.ending {
		m.record = rec
	}
}

// tell says how a run came out.
func (m *Model) tell(rec *walls.Record) {
	bad := 0
	for _, t := range rec.Tests {
		if t.Verdict != walls.Held && t.Verdict != walls.NA {
			bad++
		}
	}
	text := kit.Plural(len(rec.Tests), "wall test") + " held or not applicable, " + seconds(rec.TookMS)
	switch {
	case bad > 0:
		m.ctx.Fail(fmt.Errorf("%s of %d did not hold; each says what that means", kit.Plural(bad, "wall test"), len(rec.Tests)))
		return
	case len(rec.Left) > 0:
		m.ctx.Fail(fmt.Errorf("the wall tests left something behind: %s", kit.Safe(rec.Left[0])))
		return
	case !rec.Complete():
		text += "; only all sixteen together prove the policy"
	}
	m.ctx.Say(text)
}

func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

// mutated takes the end of a run that left out parts.
func (m *Model) mutated(msg mutatedMsg) tea.Cmd {
	r := m.run
	if r == nil || msg.Gen != r.gen {
		return nil
	}
	r.cancel()
	m.run = nil
	switch {
	case r.ending || errors.Is(msg.Err, context.Canceled):
		m.ctx.Say("cancelled: the parts that were left out were in throw-away sandboxes only")
	case msg.Err != nil:
		m.ctx.Fail(fmt.Errorf("leave out parts of the walls: %w", msg.Err))
	case msg.Matrix != nil:
		m.matrix, m.matrixOf = msg.Matrix, r.policy
		m.ctx.Tell(kit.Show{Dialog: m.matrixSheet(true)})
	}
	return nil
}

// Busy says what is under way, wherever the person looks.
func (m *Model) Busy() string {
	r := m.run
	if r == nil {
		return ""
	}
	since := kit.Age(m.ctx.Clock.Now().Sub(r.began))
	what := "wall tests of " + kit.Safe(r.policy)
	if r.mutate {
		what = "leaving out parts of the walls of " + kit.Safe(r.policy)
	}
	switch {
	case r.ending:
		return what + ": ending…"
	case r.note != "":
		what += ": " + kit.Safe(r.note)
	case r.at > 0:
		spec, _ := walls.Find(r.at)
		what += fmt.Sprintf(": %d %s", r.at, spec.Name)
	}
	return fmt.Sprintf("%s, %s, %s…", what, kit.Plural(r.attempts, "attempt"), since)
}
