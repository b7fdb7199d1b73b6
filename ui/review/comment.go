package review

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// maxQuote bounds what a comment repeats of its line, in bytes.
const maxQuote = 200

// comment asks for a comment on the line under the cursor, in the list on the
// file. On a comment it asks for that one again; without text it is taken back.
func (m *Model) comment() tea.Cmd {
	f := m.fileNow()
	switch {
	case f == nil || m.inList && !m.onFile():
		return nil
	case m.inList:
		return m.commentFile()
	}
	fr := m.laid()
	if m.cur.At >= len(fr.rows) {
		return nil
	}
	r := fr.rows[m.cur.At]
	if r.kind == rowComment {
		return m.write(m.comments[r.finding])
	}
	l := lineOf(f, r, fr.side)
	if l == nil {
		return m.commentFile()
	}
	c := m.commentOn(f)
	c.Line, c.Quote = l.New, quote(l.Text)
	if l.Op == '-' {
		c.Line, c.OldLine = 0, l.Old
	}
	c.Unit = m.unitID()
	return m.write(c)
}

// commentFile asks for a comment on the file.
func (m *Model) commentFile() tea.Cmd {
	f := m.fileNow()
	if f == nil {
		return nil
	}
	return m.write(m.commentOn(f))
}

// commentWider is for the file, and in the list for all changes.
func (m *Model) commentWider() tea.Cmd {
	if m.inList {
		return m.write(diffreview.Comment{})
	}
	return m.commentFile()
}

func (m *Model) wider() string {
	if m.inList {
		return "comment on all of it"
	}
	return "comment on the file"
}

func (m *Model) commentOn(f *diffreview.File) diffreview.Comment {
	return diffreview.Comment{Path: f.Path, Was: f.New.Blob}
}

// quote is the beginning of a line, as text.
func quote(b []byte) string {
	if len(b) > maxQuote {
		b = b[:maxQuote]
	}
	return kit.Safe(string(bytes.ToValidUTF8(b, []byte("\uFFFD"))))
}

// write asks for the text of a comment and has it kept.
func (m *Model) write(c diffreview.Comment) tea.Cmd {
	d := &kit.Write{Head: "comment on " + subject(c), Label: "keep it", Do: func(text string) tea.Cmd {
		c.Body = strings.TrimSpace(text)
		return m.keepComment(c)
	}}
	if c.Quote != "" {
		d.Lines = append(d.Lines, "  "+kit.Cut(kit.Safe(c.Quote), 200))
	}
	if c.ID != "" {
		d.Empty = "take it back"
		if !c.Sent.IsZero() {
			d.Lines = append(d.Lines, "The agent has it already. What you write now is sent anew.")
		}
	}
	d.Set(c.Body)
	m.typing = d
	m.ctx.Tell(kit.Show{Dialog: d})
	return nil
}

// subject says what a comment is about.
func subject(c diffreview.Comment) string {
	switch {
	case c.Path == "":
		return "all of it"
	case c.Line > 0:
		return fmt.Sprintf("%s:%d", diffreview.SafeName(c.Path), c.Line)
	case c.OldLine > 0:
		return fmt.Sprintf("%s:%d as it was", diffreview.SafeName(c.Path), c.OldLine)
	}
	return diffreview.SafeName(c.Path)
}

// keepComment records a comment, or takes one back. Where that fails the text
// is offered again.
func (m *Model) keepComment(c diffreview.Comment) tea.Cmd {
	b, id := m.backend, m.id
	return m.ask("keeping the comment…", func(ctx context.Context) func() tea.Cmd {
		kept, err := b.Comment(ctx, id, c)
		return func() tea.Cmd {
			if err != nil {
				m.ctx.Fail(fmt.Errorf("the comment was not kept: %w", err))
				return m.write(c)
			}
			m.putComment(kept)
			return nil
		}
	})
}

// putComment shows a comment as the session has it now.
func (m *Model) putComment(c diffreview.Comment) {
	at := slices.IndexFunc(m.comments, func(o diffreview.Comment) bool { return o.ID == c.ID })
	switch {
	case c.Body == "" && at >= 0:
		m.comments = slices.Delete(slices.Clone(m.comments), at, at+1)
		m.ctx.Say("comment taken back")
	case c.Body == "":
	case at >= 0:
		m.comments = slices.Clone(m.comments)
		m.comments[at] = c
	default:
		m.comments = append(slices.Clip(m.comments), c)
		if m.elsewhere() {
			m.ctx.Say("comment kept with the decisions")
		} else {
			m.ctx.Say("comment kept; m sends it to the agent")
		}
	}
	m.place()
}

// showComments takes the comments that came with a change set.
func (m *Model) showComments(cs []diffreview.Comment) tea.Cmd {
	m.comments, m.since = cs, map[string]after{}
	m.place()
	return m.lookSince()
}

// unsent gives the comments that the agent does not have.
func (m *Model) unsent() []diffreview.Comment {
	var out []diffreview.Comment
	for _, c := range m.comments {
		if c.Sent.IsZero() {
			out = append(out, c)
		}
	}
	return out
}
