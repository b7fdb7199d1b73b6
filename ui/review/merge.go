package review

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
	"fumehood/session"
	"fumehood/ui/kit"
)

// stackedBelow is the width under which the three texts of a conflict stand one
// below the other: beside each other most lines of code would be cut. A window has
// four cells more.
const stackedBelow = 146

// mergeAround is how many lines are shown before and behind a conflict.
const mergeAround = 3

// askMerges looks which files host and agent both changed, and shows them.
func (m *Model) askMerges() tea.Cmd {
	if m.set == nil || m.id == "" {
		return nil
	}
	b, id := m.backend, m.id
	return m.ask("comparing with your files…", func(ctx context.Context) func() tea.Cmd {
		ms, err := b.Merges(ctx, id)
		return func() tea.Cmd {
			switch {
			case err != nil:
				m.ctx.Fail(fmt.Errorf("merge: %w", err))
			case len(ms) == 0:
				m.ctx.Say("no approved file was changed by you as well: there is nothing to merge")
			default:
				v := &merges{m: m}
				v.set(ms)
				v.first()
				m.ctx.Tell(kit.Show{Dialog: v})
			}
			return nil
		}
	})
}

// merges is the dialog that shows what host and agent both changed, one conflict
// at a time. A choice is for the conflict that is on the screen, by its ID: the
// cursor stays on it, and another key can't meet the next one.
type merges struct {
	m    *Model
	all  []session.Merge
	file int
	part int // of the file's parts: the conflict on the screen; -1: all of it
	top  int // first line of the view
	left int // cells that lines are moved to the left

	drawn       bool
	seen        int64 // when it was first drawn, in nanoseconds
	page, total int
	done        bool

	out struct { // of a merge without conflict
		id    string
		w     int
		lines []string
	}
}

func (v *merges) set(ms []session.Merge) {
	path, id := "", ""
	if len(v.all) > 0 {
		path, id = v.now().Path, v.conflict()
	}
	v.all = ms
	v.file, v.part = min(v.file, max(0, len(ms)-1)), -1
	for i := range ms {
		if ms[i].Path != path {
			continue
		}
		v.file = i
		for p := range ms[i].Parts {
			if ms[i].Parts[p].Kind == merge.Conflict && ms[i].Parts[p].ID == id {
				v.part = p
				return
			}
		}
	}
	v.land(1)
}

// first goes to the first conflict that is open, if there is one.
func (v *merges) first() {
	for i := range v.all {
		if v.all[i].Open == 0 || v.all[i].Left {
			continue
		}
		v.file, v.part = i, -1
		for p := range v.all[i].Parts {
			if x := &v.all[i].Parts[p]; x.Kind == merge.Conflict && x.Take == "" {
				v.part = p
				return
			}
		}
		return
	}
	v.file = 0
	v.land(1)
}

// land puts the cursor on the first conflict of the file, or the last.
func (v *merges) land(d int) {
	v.part, v.top, v.left = -1, 0, 0
	ps := v.now().Parts
	for k := range ps {
		p := k
		if d < 0 {
			p = len(ps) - 1 - k
		}
		if ps[p].Kind == merge.Conflict {
			v.part = p
			return
		}
	}
}

func (v *merges) now() *session.Merge { return &v.all[v.file] }

// conflict is the ID that a choice on the screen is recorded under.
func (v *merges) conflict() string {
	f := v.now()
	if v.part >= 0 {
		return f.Parts[v.part].ID
	}
	return f.ID
}

// step goes to the conflict after or before, over files.
func (v *merges) step(d int) tea.Cmd {
	ps := v.now().Parts
	for p := v.part + d; v.part >= 0 && p >= 0 && p < len(ps); p += d {
		if ps[p].Kind == merge.Conflict {
			v.part, v.top, v.left = p, 0, 0
			return nil
		}
	}
	if to := v.file + d; to >= 0 && to < len(v.all) {
		v.file = to
		v.land(d)
	}
	return nil
}

// leads says whether there is anything to step to.
func (v *merges) leads(d int) bool {
	ps := v.now().Parts
	for p := v.part + d; v.part >= 0 && p >= 0 && p < len(ps); p += d {
		if ps[p].Kind == merge.Conflict {
			return true
		}
	}
	to := v.file + d
	return to >= 0 && to < len(v.all)
}

// Title counts what is open.
func (v *merges) Title() string {
	open := 0
	for i := range v.all {
		if !v.all[i].Left {
			open += v.all[i].Open
		}
	}
	if v.commit() != "" {
		return fmt.Sprintf("%s that the commit %.12s has otherwise, %s open", kit.Plural(len(v.all), "file"), v.commit(), kit.Plural(open, "conflict"))
	}
	return fmt.Sprintf("%s that you changed too, %s open", kit.Plural(len(v.all), "file"), kit.Plural(open, "conflict"))
}

// commit is what is compared with, "" for the work tree.
func (v *merges) commit() string { return v.all[0].Commit }

// Done says that it was closed.
func (v *merges) Done() bool { return v.done }

// More says how many lines are above and below what was drawn last.
func (v *merges) More() (above, below int) { return v.top, max(0, v.total-v.top-v.page) }

func (v *merges) deaf() bool {
	return v.drawn && v.m.ctx.Clock.Now().UnixNano()-v.seen < int64(kit.Grace)
}

// Keys choose, and go to the next.
func (v *merges) Keys() []kit.Binding {
	f := v.now()
	byLine := v.part >= 0
	// Either side is also chosen where the file can't be merged by lines.
	out := kit.When(f.Left, "the file is left out: u takes that back")
	side := cmp.Or(out, kit.When(!byLine && f.Why == "", "nothing is in conflict here"))
	lines := cmp.Or(side, kit.When(!byLine, "it can't be merged by lines"))
	scroll := func(d int) func() tea.Cmd { return func() tea.Cmd { v.top += d; return nil } }
	take := func(t diffreview.Take) func() tea.Cmd { return func() tea.Cmd { return v.take(t, nil) } }
	rows := []kit.Binding{
		{Keys: []string{"h"}, Help: yours(f), Hint: 1, Off: side, Do: take(diffreview.TakeHost)},
		{Keys: []string{"g"}, Help: "the agent's", Hint: 2, Off: side, Do: take(diffreview.TakeAgent)},
		{Keys: []string{"b"}, Help: "both", Hint: 3, Off: lines, Do: take(diffreview.TakeBoth)},
		{Keys: []string{"e"}, Help: "write it", Hint: 4, Off: lines, Do: v.edit},
		{Keys: []string{"l"}, Help: "leave out", Hint: 5, Off: out, Do: v.leave},
		{Keys: []string{"u"}, Help: "take back", Do: v.back},
		{Keys: []string{"n", "."}, Show: "n", Help: "next", Hint: 6, Off: kit.When(!v.leads(1), "this is the last"), Do: func() tea.Cmd { return v.step(1) }},
		{Keys: []string{"N", "p"}, Show: "N", Help: "before", Hint: hint(!v.leads(1), 6), Off: kit.When(!v.leads(-1), "this is the first"), Do: func() tea.Cmd { return v.step(-1) }},
		{Keys: []string{"o"}, Help: "what comes out", Off: cmp.Or(lines, kit.When(f.Open > 0, "a conflict is open")), Do: v.result},
		{Keys: []string{"A"}, Help: "apply", Hint: 7, Do: func() tea.Cmd { v.done = true; return v.m.askApply() }},
		{Keys: []string{"j", "down"}, Help: "down", Do: scroll(1)},
		{Keys: []string{"k", "up"}, Help: "up", Do: scroll(-1)},
		{Keys: []string{"pgdown", "space", "ctrl+d", "ctrl+f"}, Help: "page down", Do: scroll(v.page)},
		{Keys: []string{"pgup", "ctrl+u", "ctrl+b"}, Help: "page up", Do: scroll(-v.page)},
		{Keys: []string{">", "right"}, Show: ">", Help: "move long lines", Do: func() tea.Cmd { v.left += 16; return nil }},
		{Keys: []string{"<", "left"}, Show: "<", Help: "move them back", Do: func() tea.Cmd { v.left = max(0, v.left-16); return nil }},
		{Keys: []string{"esc", "q", "M", "ctrl+c"}, Show: "esc", Help: "back", Hint: 8, Do: func() tea.Cmd { v.done = true; return nil }},
	}
	if v.deaf() {
		for i := range rows {
			rows[i].Off = kit.JustCame
		}
	}
	return rows
}

// take records a choice for what is on the screen.
func (v *merges) take(t diffreview.Take, text []byte) tea.Cmd {
	return v.choose(session.ResolutionChoice{Conflict: v.conflict(), Path: v.now().Path, Take: t, Edit: text})
}

// leave leaves the whole file out of the apply.
func (v *merges) leave() tea.Cmd {
	return v.choose(session.ResolutionChoice{Conflict: v.now().ID, Path: v.now().Path, Take: diffreview.TakeLeave})
}

// back takes the choice back: that the file is left out first.
func (v *merges) back() tea.Cmd {
	f := v.now()
	id := v.conflict()
	if f.Left {
		id = f.ID
	}
	return v.choose(session.ResolutionChoice{Conflict: id, Path: f.Path})
}

// choose has a choice recorded, and looks again at what is to be merged then.
func (v *merges) choose(c session.ResolutionChoice) tea.Cmd {
	m := v.m
	b, id := m.backend, m.id
	return m.ask("recording the choice…", func(ctx context.Context) func() tea.Cmd {
		err := b.Resolve(ctx, id, []session.ResolutionChoice{c})
		ms, again := b.Merges(ctx, id)
		return func() tea.Cmd {
			if err != nil {
				m.ctx.Fail(fmt.Errorf("the choice was not recorded: %w", err))
			}
			switch {
			case again != nil:
				m.ctx.Fail(fmt.Errorf("merge: %w", again))
				v.done = true
			case len(ms) == 0:
				m.ctx.Say("there is nothing to merge any more")
				v.done = true
			default:
				if !slices.ContainsFunc(ms, func(x session.Merge) bool { return x.Path == c.Path && names(x, c.Conflict) }) {
					m.ctx.Tell(kit.Say{Text: diffreview.SafeName(c.Path) + ": " + whose(&session.Merge{Commit: v.commit()}) + " file or the approvals changed; what you chose was for other lines", Error: true})
				}
				v.set(ms)
			}
			return nil
		}
	})
}

// names says whether a merge has a conflict of that ID, or is it.
func names(x session.Merge, id string) bool {
	return x.ID == id || slices.ContainsFunc(x.Parts, func(p merge.Part) bool { return p.Kind == merge.Conflict && p.ID == id })
}

// edit opens the conflict in the person's editor: yours, then the agent's.
func (v *merges) edit() tea.Cmd {
	m := v.m
	f := v.now()
	p := f.Parts[v.part]
	text := slices.Concat(p.Host, p.Agent)
	if p.Take == diffreview.TakeEdit {
		text = p.Edit
	}
	c := session.ResolutionChoice{Conflict: p.ID, Path: f.Path, Take: diffreview.TakeEdit}
	b, id := m.backend, m.id
	return m.ask("opening your editor…", func(ctx context.Context) func() tea.Cmd {
		file, err := b.OpenEdit(ctx, id, text)
		return func() tea.Cmd {
			if err != nil {
				m.ctx.Fail(fmt.Errorf("edit: %w", err))
				return nil
			}
			return kit.Send(kit.EditorMsg{Path: file, Back: func(failed error) tea.Msg {
				return answerMsg{Session: id, Job: -1, Do: func() tea.Cmd { return v.edited(c, file, text, failed) }}
			}})
		}
	})
}

// edited takes the reviewer's text of a conflict, unless it is what the editor
// was given: who leaves it so has chosen nothing.
func (v *merges) edited(c session.ResolutionChoice, file string, was []byte, failed error) tea.Cmd {
	m := v.m
	b, id := m.backend, m.id
	return m.ask("reading what you wrote…", func(ctx context.Context) func() tea.Cmd {
		text, err := b.CloseEdit(ctx, id, file)
		return func() tea.Cmd {
			if failed == nil {
				failed = err
			}
			if failed != nil {
				m.ctx.Fail(fmt.Errorf("nothing is recorded: %w", failed))
				return nil
			}
			if len(text) == 0 {
				m.ctx.Say("you left nothing: nothing is recorded (h or g takes one side)")
				return nil
			}
			if bytes.Equal(text, was) {
				m.ctx.Say("unchanged: nothing is recorded (b takes both)")
				return nil
			}
			c.Edit = text
			return v.choose(c)
		}
	})
}

// result shows the file that comes out, with what is new against yours.
func (v *merges) result() tea.Cmd {
	f := v.now()
	lines, err := outOf(f)
	if err != nil {
		v.m.ctx.Fail(err)
		return nil
	}
	st := v.m.ctx.Styles
	width, drawn := 0, []string(nil)
	v.m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "merged: " + diffreview.SafeName(f.Path) + " (+ is new to " + whose(f) + " file)", Body: func(w int) []string {
		if w != width {
			width, drawn = w, drawResult(lines, painter{st: st, w: w})
		}
		return drawn
	}}})
	return nil
}
