package review

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
)

// written is the reviewer's own text of a hunk, as it is drawn: from the
// baseline's lines to it.
type written struct{ file *diffreview.File }

// edit opens the hunk under the cursor in the person's editor: its new side, or
// what was written last. What comes back is approved in place of it.
func (m *Model) edit() tea.Cmd {
	id := m.unitID()
	mark, h := m.unitOf(id)
	switch {
	case mark == nil || !m.ready():
		return nil
	case h == nil || m.fileNow().Status == diffreview.Deleted:
		m.ctx.Say("there are no lines here to write yourself")
		return nil
	}
	path := m.path()
	b, session, draft, blob, was := m.backend, m.id, m.drafts[id], h.Edit, newSide(h)
	return m.ask("opening your editor…", func(ctx context.Context) func() tea.Cmd {
		text := was
		var err error
		switch {
		case draft != nil:
			text = draft
		case blob != "":
			text, err = b.Text(ctx, session, blob)
		}
		file := ""
		if err == nil {
			file, err = b.OpenEdit(ctx, session, text)
		}
		return func() tea.Cmd {
			if err != nil {
				m.ctx.Fail(fmt.Errorf("edit: %w", err))
				return nil
			}
			e := edit{unit: id, path: path, file: file, was: text, agents: was}
			return kit.Send(kit.EditorMsg{Path: file, Back: func(err error) tea.Msg {
				return answerMsg{Session: session, Job: -1, Do: func() tea.Cmd { return m.edited(e, err) }}
			}})
		}
	})
}

// edit is one hunk in the editor.
type edit struct {
	unit, path string
	file       string // that the editor has
	was        []byte // what it was given
	agents     []byte // the new side as the agent made it
}

// edited takes back what the editor was given.
func (m *Model) edited(e edit, failed error) tea.Cmd {
	b, id := m.backend, m.id
	return m.ask("reading what you wrote…", func(ctx context.Context) func() tea.Cmd {
		text, err := b.CloseEdit(ctx, id, e.file)
		return func() tea.Cmd {
			switch {
			case failed != nil:
				m.ctx.Fail(fmt.Errorf("nothing is recorded: %w", failed))
			case err != nil:
				m.ctx.Fail(fmt.Errorf("nothing is recorded: %w", err))
			case bytes.Equal(text, e.was):
				m.ctx.Say("unchanged: nothing is recorded")
			case len(text) == 0:
				m.askEmpty(e)
			default:
				return m.takeEdit(e, text)
			}
			return nil
		}
	})
}

// askEmpty asks before a text of no bytes takes the lines' place: an editor that
// was left in a hurry gives one too.
func (m *Model) askEmpty(e edit) {
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "You left nothing: take these lines out?", Clock: m.ctx.Clock, Late: true,
		Lines: []string{diffreview.SafeName(e.path) + ": the lines of this hunk, those around its change included, would be gone."},
		Choices: []kit.Choice{
			{Key: "n", Label: "record nothing"},
			{Key: "y", Label: "take them out", Grave: true, Do: func() tea.Cmd { return m.takeEdit(e, []byte{}) }},
		},
	}})
}

// takeEdit approves the reviewer's text of a hunk, if the hunk is still there
// and the file can be made with it. Else the text is kept for the next time.
func (m *Model) takeEdit(e edit, text []byte) tea.Cmd {
	_, h := m.unitOf(e.unit)
	keep := func(err error) {
		if m.drafts == nil {
			m.drafts = map[string][]byte{}
		}
		m.drafts[e.unit] = text
		m.ctx.Fail(err)
	}
	if h == nil {
		keep(fmt.Errorf("nothing is recorded: the hunk of %s that you wrote has changed since", diffreview.SafeName(e.path)))
		return nil
	}
	sum := sha256.Sum256(text)
	to := diffreview.Decision{Verdict: diffreview.Approved, Edit: diffreview.Blob(hex.EncodeToString(sum[:]))}
	if bytes.Equal(text, e.agents) { // the agent's own lines again
		to.Edit, text = "", nil
	}
	f := m.set.Files[m.where[e.unit].file]
	f.Hunks = slices.Clone(f.Hunks)
	f.Decide(e.unit, to)
	b, id := m.backend, m.id
	return m.ask("checking what you wrote…", func(ctx context.Context) func() tea.Cmd {
		_, err := diffreview.Outcomes(&f, func(blob diffreview.Blob) ([]byte, error) {
			if blob == to.Edit && text != nil {
				return text, nil
			}
			return b.Text(ctx, id, blob)
		})
		return func() tea.Cmd {
			var join *diffreview.JoinError
			if errors.As(err, &join) {
				keep(fmt.Errorf("nothing is recorded: what you wrote ends without a newline and lines follow it (e opens it again): %w", err))
				return nil
			}
			if err != nil {
				keep(fmt.Errorf("nothing is recorded: %w", err))
				return nil
			}
			delete(m.drafts, e.unit)
			if text != nil {
				m.noteEdit(to.Edit, e.unit, text)
			}
			return m.record([]decision{{id: e.unit, path: e.path, to: to, text: text}})
		}
	})
}

// newSide gives the bytes of a hunk's new side, context included.
func newSide(h *diffreview.Hunk) []byte {
	out := []byte{}
	for i := range h.Lines {
		if l := &h.Lines[i]; l.Op != '-' {
			out = append(out, l.Text...)
			if !l.NoEOL {
				out = append(out, '\n')
			}
		}
	}
	return out
}

// noteEdit has the reviewer's text of a hunk ready to be drawn.
func (m *Model) noteEdit(blob diffreview.Blob, unit string, text []byte) {
	_, h := m.unitOf(unit)
	if h == nil {
		return
	}
	if m.written == nil {
		m.written = map[writtenKey]*written{}
	}
	m.written[writtenKey{unit, blob}] = &written{file: &diffreview.File{Hunks: []diffreview.Hunk{{
		OldStart: h.OldStart, NewStart: h.EditStart(), Lines: rewritten(h, text),
	}}}}
	m.relay()
}

// writtenKey names the text of a hunk.
type writtenKey struct {
	unit string
	blob diffreview.Blob
}

// rewritten gives the lines from a hunk's old side to text.
func rewritten(h *diffreview.Hunk, text []byte) []diffreview.Line {
	old, now := linediff.Split(oldSide(h)), linediff.Split(text)
	var out []diffreview.Line
	add := func(op byte, raw []byte, o, n int) {
		l := diffreview.Line{Op: op, Text: bytes.TrimSuffix(raw, []byte("\n")), NoEOL: !bytes.HasSuffix(raw, []byte("\n"))}
		if op != '+' {
			l.Old = h.OldStart + o
		}
		if op != '-' {
			l.New = h.EditStart() + n
		}
		out = append(out, l)
	}
	o, n := 0, 0
	same := func(to int) {
		for ; o < to; o, n = o+1, n+1 {
			add(' ', old[o], o, n)
		}
	}
	for _, r := range linediff.Diff(old, now) {
		same(r.A0)
		for ; o < r.A1; o++ {
			add('-', old[o], o, n)
		}
		for ; n < r.B1; n++ {
			add('+', now[n], o, n)
		}
	}
	same(len(old))
	return out
}

// wantEdits reads the reviewer's texts that are not here yet.
func (m *Model) wantEdits() tea.Cmd {
	var cmds []tea.Cmd
	for n := range m.set.Files {
		cmds = append(cmds, m.wantEdit(&m.set.Files[n]))
	}
	return tea.Batch(cmds...)
}

func (m *Model) wantEdit(f *diffreview.File) tea.Cmd {
	var cmds []tea.Cmd
	for i := range f.Hunks {
		h := &f.Hunks[i]
		k := writtenKey{h.ID, h.Edit}
		if h.Edit == "" || m.written[k] != nil {
			continue
		}
		if m.written == nil {
			m.written = map[writtenKey]*written{}
		}
		m.written[k] = &written{} // asked for
		b, id := m.backend, m.id
		cmds = append(cmds, m.askNow(func(ctx context.Context) func() tea.Cmd {
			text, err := b.Text(ctx, id, k.blob)
			return func() tea.Cmd {
				if err != nil {
					delete(m.written, k)
					m.ctx.Fail(fmt.Errorf("your edit of %s: %w", diffreview.SafeName(f.Path), err))
					return nil
				}
				m.noteEdit(k.blob, k.unit, text)
				return nil
			}
		}))
	}
	return tea.Batch(cmds...)
}
