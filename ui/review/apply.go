package review

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui/kit"
)

// askApply has worked out what would be written; the question comes with the
// answer, after all decisions that are still on their way.
func (m *Model) askApply() tea.Cmd {
	if m.set == nil || m.jobs.has(jobPreview) || m.jobs.has(jobApply) || m.jobs.has(jobUndo) {
		return nil
	}
	return m.push(job{kind: jobPreview})
}

func (m *Model) previewed(msg previewMsg) tea.Cmd {
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("apply: %w", msg.Err))
		return m.pump()
	}
	if msg.Set.ApprovedHash() != m.set.ApprovedHash() {
		// The question would name the risks of what is on the screen.
		m.ctx.Fail(errors.New("apply: approvals changed elsewhere: look again, then press A"))
		return m.loaded(changeSetMsg{Session: msg.Session, Set: msg.Set, Comments: msg.Comments})
	}
	lines, can := m.applyLines(msg)
	ask := &kit.Ask{
		Head: question(msg.Check), Lines: lines, Clock: m.ctx.Clock, Late: true,
		Choices: []kit.Choice{{Key: "n", Label: "write nothing"}},
	}
	switch n := len(msg.Check.Conflicts); {
	case n+len(msg.Check.Notes) > 0 && msg.Check.Branch != "":
		ask.Choices = append(ask.Choices, kit.Choice{Key: "M", Label: "see what the commit has otherwise", Do: m.askMerges})
	case n+len(msg.Check.Merged) > 0:
		ask.Choices = append(ask.Choices, kit.Choice{Key: "M", Label: "see what you changed too", Do: m.askMerges})
	}
	if can {
		gen := m.gen
		ask.Choices = append(ask.Choices, kit.Choice{Key: "y", Label: "write it", Grave: true, Do: func() tea.Cmd {
			if gen != m.gen {
				m.ctx.Fail(fmt.Errorf("not written: the change set is another by now; press A again"))
				return nil
			}
			return m.push(job{kind: jobApply, plan: msg.Check.Plan})
		}})
	} else {
		ask.Head = "Nothing can be written"
	}
	m.ctx.Tell(kit.Show{Dialog: ask})
	return m.pump()
}

// question names where an apply would write to.
func question(c session.Applied) string {
	switch {
	case c.Branch == "":
		return "Write this to your repository?"
	case c.Parent == "":
		return "Make branch " + kit.Safe(c.Branch) + "?"
	}
	return fmt.Sprintf("Make branch %s on commit %.12s?", kit.Safe(c.Branch), c.Parent)
}

// applyLines says what would be written, what conflicts, what is risky in it
// and what is left out; can says whether there is anything to say yes to.
func (m *Model) applyLines(msg previewMsg) (out []string, can bool) {
	// The set that was read with the answer has the same approved as the one on the
	// screen, and maybe other risks in it.
	byPath := make(map[string]*diffreview.File, len(msg.Set.Files))
	for i := range msg.Set.Files {
		// The edits of a rename that is not approved are written at its old name.
		f := &msg.Set.Files[i]
		byPath[f.Path] = f
		if f.OldPath != "" {
			byPath[f.OldPath] = f
		}
	}
	if msg.Check.MovedOn != "" {
		out = append(out, kit.Safe(msg.Check.MovedOn)+".")
	}
	if n := len(msg.Check.Conflicts); n > 0 {
		why := ": your files have changed there since the copy. Nothing is written while one stands: M settles them one by one, or leaves a file out."
		if msg.Check.Branch != "" {
			why = ": the commit that the branch follows is without your uncommitted edits there. No branch is made while one stands: M settles them one by one, or leaves a file out."
		}
		out = append(out, kit.Plural(n, "conflict")+why)
		for _, c := range msg.Check.Conflicts {
			out = append(out, "  ✗ "+diffreview.SafeName(c.Path)+"  "+kit.Safe(c.Why))
		}
	}
	if n := len(msg.Check.Merged); n > 0 {
		out = append(out, kit.Plural(n, "file")+" merged with your changes:")
		for _, x := range msg.Check.Merged {
			out = append(out, "  ~ "+diffreview.SafeName(x.Path)+"  "+kit.Safe(x.Why))
		}
	}
	for _, x := range msg.Check.Notes {
		out = append(out, "  ~ "+diffreview.SafeName(x.Path)+"  "+kit.Safe(x.Why))
	}
	var risky, unseen []string
	for _, p := range msg.Would {
		if f := byPath[p]; f != nil && f.Binary && p == f.Path {
			unseen = append(unseen, "  ? "+diffreview.SafeName(p)+"  "+kit.Safe(unshown(f))+", "+sizes(f))
		}
	}
	told := map[*diffreview.File]bool{}
	for _, p := range msg.Would {
		if f := byPath[p]; f != nil && !told[f] {
			told[f] = true
			for _, x := range approvedRisks(f) {
				risky = append(risky, "  ! "+diffreview.SafeName(p)+"  "+kit.Safe(x.Why))
			}
		}
	}
	for _, x := range msg.Check.Risks {
		at := ""
		if x.Line > 0 {
			at = fmt.Sprintf(" line %d", x.Line)
		}
		risky = append(risky, "  ! "+diffreview.SafeName(x.Path)+at+", "+ownWords[x.In]+"  "+kit.Safe(x.Why))
	}
	if len(risky) > 0 {
		out = append(out, kit.Plural(len(risky), "risk")+" in it that you approved:")
		out = append(out, risky...)
	}
	if len(unseen) > 0 {
		out = append(out, kit.Plural(len(unseen), "file")+" in it NOT SHOWN, taken unseen:")
		out = append(out, unseen...)
	}
	if n := len(msg.Would); n > 0 {
		out = append(out, kit.Plural(n, "file")+" would change:")
		for _, p := range msg.Would {
			line := "  "
			if f := byPath[p]; f != nil {
				line += fmt.Sprintf("%-9s", whatOf(f, p))
				if f.Binary && p == f.Path {
					line += " NOT SHOWN"
				}
			}
			out = append(out, line+" "+diffreview.SafeName(p))
		}
	} else if len(msg.Check.Conflicts) == 0 && msg.Check.Branch != "" {
		out = append(out, "The commit has all that is approved and not left out.")
	} else if len(msg.Check.Conflicts) == 0 {
		out = append(out, "Nothing that is approved differs from your files.")
	}
	if n := len(msg.Check.Skipped); n > 0 {
		out = append(out, kit.Plural(n, "file")+" left out:")
		for _, s := range msg.Check.Skipped {
			out = append(out, "  · "+diffreview.SafeName(s.Path)+"  "+kit.Safe(s.Why))
		}
	}
	if t := m.tally; t.units > t.decided {
		out = append(out, kit.Plural(t.units-t.decided, "hunk")+" undecided: not written.")
	}
	out = append(out, m.triedLines()...)
	return out, len(msg.Would) > 0 && len(msg.Check.Conflicts) == 0
}

// ownWords say what a risk is in that the agent's change as a whole does not have.
var ownWords = map[string]string{"edit": "a reviewer's text", "merge": "merged", "part": "without the rest"}

func unshown(f *diffreview.File) string {
	if f.Unshown != "" {
		return f.Unshown
	}
	return "binary"
}

// whatOf is what becomes of one path that a file of the change set is about.
func whatOf(f *diffreview.File, path string) string {
	switch {
	case path == f.Path:
		return string(f.Status)
	case f.WholeMark.Decision == diffreview.Approved:
		return "old name"
	}
	return string(diffreview.Modified)
}

// approvedRisks are those in the agent's lines; what is written in their place the
// session judges as it would write it.
func approvedRisks(f *diffreview.File) []*diffreview.Finding {
	if len(f.Findings) == 0 {
		return nil
	}
	var out []*diffreview.Finding
	risky := f.Risky()
	seen := map[*diffreview.Finding]bool{}
	f.Each(func(id string, mark *diffreview.Mark, h *diffreview.Hunk) {
		some := mark.Decision == diffreview.Approved || h != nil && strings.ContainsRune(h.Letters(), 'a') // line by line
		if x := risky[id]; x != nil && some && !seen[x] && x.Edit == "" {
			seen[x] = true
			out = append(out, x)
		}
	})
	return out
}

// applied tells what happened to the host, of an apply or of an undo.
func (m *Model) applied(msg appliedMsg) tea.Cmd {
	what := "apply"
	if msg.Undo {
		what = "undo"
	}
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("%s: %w", what, msg.Err))
		m.jobs.wait = nil
		return m.push(job{kind: jobLoad})
	}
	d := msg.Done
	var lines []string
	head := ""
	switch {
	case len(d.Conflicts) > 0:
		head = "Nothing was written"
		for _, c := range d.Conflicts {
			lines = append(lines, "✗ "+diffreview.SafeName(c.Path)+"  "+kit.Safe(c.Why))
		}
	case msg.Undo && d.Branch != "":
		head = "Branch " + kit.Safe(d.Branch) + " taken away"
	case len(d.Applied) == 0:
		head = "Nothing to " + what
	case d.Branch != "":
		head = fmt.Sprintf("Branch %s made at %.12s: %s", kit.Safe(d.Branch), d.Commit, kit.Plural(len(d.Applied), "file"))
	case msg.Undo:
		head = "Taken back: " + kit.Plural(len(d.Applied), "file") + " as before the apply"
	default:
		head = "Written to your repository: " + kit.Plural(len(d.Applied), "file")
	}
	for _, p := range d.Applied {
		lines = append(lines, "✓ "+diffreview.SafeName(p))
	}
	for _, s := range d.Skipped {
		lines = append(lines, "· "+diffreview.SafeName(s.Path)+"  "+kit.Safe(s.Why))
	}
	if !msg.Undo && len(d.Applied) > 0 {
		still := "the files stay as they are now."
		if d.Branch != "" {
			still = "the branch stays where it is."
		}
		lines = append(lines, "", "U takes it back, as long as "+still)
	}
	sheet := &kit.Sheet{Head: head, Clock: m.ctx.Clock, Late: true, Body: func(w int) []string {
		var out []string
		for _, l := range lines {
			out = append(out, kit.Wrap(l, w)...)
		}
		return out
	}}
	if !msg.Undo && len(d.Applied) > 0 {
		sheet.Extra = []kit.Binding{{Keys: []string{"U"}, Help: "take it back", Hint: 2, Do: func() tea.Cmd {
			sheet.Close()
			return m.askUndo()
		}}}
	}
	m.ctx.Tell(kit.Show{Dialog: sheet})
	return m.push(job{kind: jobLoad})
}

// askUndo has looked whether there is anything to take back; the question comes
// with the answer.
func (m *Model) askUndo() tea.Cmd {
	if m.id == "" || m.set == nil || m.jobs.has(jobApply) || m.jobs.has(jobUndo) || m.jobs.has(jobHistory) {
		return nil
	}
	return m.push(job{kind: jobHistory})
}

// fewEvents is the least number of events of which older ones may be missing.
const fewEvents = 20

// nothingApplied says that a session's events, which begin with their time and
// their kind, tell of no apply that was not taken back. Where some may be
// missing it is not said: the undo itself reads the journal.
func nothingApplied(events []string) bool {
	if len(events) == 0 || len(events) >= fewEvents {
		return false
	}
	stand := 0
	for _, e := range events {
		f := strings.Fields(e)
		switch {
		case len(f) < 2 || strings.HasPrefix(e, "the event log"):
			return false
		case f[1] == "applied":
			stand++
		case f[1] == "undone":
			stand--
		}
	}
	return stand <= 0
}

func (m *Model) toldHistory(msg historyMsg) tea.Cmd {
	if msg.Nothing {
		m.ctx.Say("no apply of this session stands: there is nothing to take back")
		return m.pump()
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "Take the newest apply back?", Clock: m.ctx.Clock, Late: true,
		Lines: []string{"Your files become what they were before it, if they are still as it left them (a branch that it made goes, if it is still there); else nothing changes. The approvals stay."},
		Choices: []kit.Choice{
			{Key: "n", Label: "leave them"},
			{Key: "y", Label: "take it back", Grave: true, Do: func() tea.Cmd { return m.push(job{kind: jobUndo}) }},
		},
	}})
	return m.pump()
}

// showLeftOut lists what no key here can bring back.
func (m *Model) showLeftOut() tea.Cmd {
	if m.set == nil {
		return nil
	}
	left, ign := m.set.LeftOut, m.set.Ignored
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "not in this review", Body: func(w int) []string {
		var out []string
		if ign.Count > 0 {
			out = append(out, kit.Wrap(kit.Plural(ign.Count, "change")+" under paths that git ignores. They stay in the workspace and can't be applied yet:", w)...)
			for _, p := range ign.Paths {
				out = append(out, kit.Hang("  ", diffreview.SafeName(p), w)...)
			}
			if ign.Truncated {
				out = append(out, "  … and more")
			}
			out = append(out, "")
		}
		for _, l := range left {
			size := ""
			if l.Size > 0 {
				size = kit.Bytes(l.Size)
			}
			out = append(out, kit.Hang(kit.Right(size, 9)+"  ", diffreview.SafeName(l.Path)+"   "+kit.Safe(l.Reason), w)...)
		}
		if len(out) == 0 {
			out = append(out, "Nothing was left out.")
		}
		return out
	}}})
	return nil
}
