package review

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
)

const (
	// around is how many unchanged lines are shown about each change of a
	// resulting file that is too long to be shown whole.
	around = 20
	// shownWhole is the most lines of a file that is shown whole.
	shownWhole = 500
	// maxResult bounds the lines that are shown of one file.
	maxResult = 20_000
)

type resultMsg struct {
	Session string
	Gen     int
	Head    string
	Lines   []resultLine
	Err     error
}

// resultLine is a line of the resulting file, or a sentence about it.
type resultLine struct {
	no      int // 0: said has it
	changed bool
	text    []byte
	said    string
}

// askResult works out what the decisions make of the file under the cursor.
func (m *Model) askResult() tea.Cmd {
	f := m.fileNow()
	if f == nil || m.inList && !m.onFile() {
		return nil
	}
	now := *f // as it is decided at this key
	now.Hunks = slices.Clone(f.Hunks)
	id, gen, ctx, b := m.id, m.gen, m.ctx.Base, m.backend
	return func() tea.Msg {
		head, lines, err := resultOf(ctx, &now, func(blob diffreview.Blob) ([]byte, error) { return b.Text(ctx, id, blob) })
		return resultMsg{Session: id, Gen: gen, Head: head, Lines: lines, Err: err}
	}
}

// resultOf gives what the decisions on a file make of it, by line.
func resultOf(ctx context.Context, f *diffreview.File, content func(diffreview.Blob) ([]byte, error)) (string, []resultLine, error) {
	outs, err := diffreview.Outcomes(f, content)
	if err != nil || ctx.Err() != nil {
		return "", nil, err
	}
	path, want, text := f.Path, f.Old, []byte(nil)
	head, said := "", "nothing is approved in it: it stays as it is"
	if f.OldPath != "" {
		path = f.OldPath
	}
	for _, o := range outs {
		if o.Want.Kind == diffreview.KindAbsent {
			said = diffreview.SafeName(o.Path) + " is gone"
			continue
		}
		path, want, text = o.Path, o.Want, o.Content
		head, said = "as decided now: ", strings.TrimPrefix(said, "nothing is approved in it: it stays as it is")
	}
	head = head + diffreview.SafeName(path)
	lines := []resultLine{}
	if said != "" {
		lines = append(lines, resultLine{said: said})
	}
	if len(outs) > 0 && want == f.Old || want.Kind != diffreview.KindFile || f.Binary {
		if want.Kind == diffreview.KindSymlink {
			lines = append(lines, resultLine{said: "a link to " + diffreview.SafeName(want.Target)})
		} else if f.Binary {
			lines = append(lines, resultLine{said: "NOT SHOWN: " + f.Unshown + ", " + kit.Bytes(want.Size)})
		}
		return head, lines, nil
	}
	if text == nil && want.Blob != "" {
		if text, err = content(want.Blob); err != nil {
			return "", nil, err
		}
	}
	if want.Exec != f.Old.Exec && len(outs) > 0 {
		lines = append(lines, resultLine{said: "mode " + want.Mode()})
	}
	var old []byte
	if f.Old.Kind == diffreview.KindFile {
		if old, err = content(f.Old.Blob); err != nil {
			return "", nil, err
		}
	}
	return head, append(lines, resultLines(old, text)...), nil
}

// resultLines are the lines of a text, those marked that the old one does not
// have; of a long one those about each change.
func resultLines(old, text []byte) []resultLine {
	a, b := linediff.Split(old), linediff.Split(text)
	changed, near := make([]bool, len(b)), make([]bool, len(b))
	for _, r := range linediff.Diff(a, b) {
		for i := r.B0; i < r.B1; i++ {
			changed[i] = true
		}
		for i := max(0, r.B0-around); i < min(len(b), r.B1+around); i++ {
			near[i] = true
		}
	}
	var out []resultLine
	left := 0
	flush := func() {
		if left > 0 {
			out = append(out, resultLine{said: "⋯ " + kit.Plural(left, "line") + " as before, not shown"})
		}
		left = 0
	}
	for i, l := range b {
		if len(out) == maxResult {
			return append(out, resultLine{said: "⋯ " + kit.Plural(len(b)-i, "line") + " more, NOT SHOWN"})
		}
		if len(b) > shownWhole && !near[i] {
			left++
			continue
		}
		flush()
		body, eol := bytes.CutSuffix(l, []byte{'\n'})
		out = append(out, resultLine{no: i + 1, changed: changed[i], text: body})
		if !eol {
			out = append(out, resultLine{said: "no newline at the end"})
		}
	}
	flush()
	if len(b) == 0 {
		out = append(out, resultLine{said: "an empty file"})
	}
	return out
}

func (m *Model) showResult(msg resultMsg) tea.Cmd {
	switch {
	case msg.Session != m.id || msg.Gen != m.gen:
		return nil
	case msg.Err != nil:
		m.ctx.Fail(fmt.Errorf("what the decisions come to: %w", msg.Err))
		return nil
	}
	st := m.ctx.Styles
	width, drawn := 0, []string(nil)
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: msg.Head, Clock: m.ctx.Clock, Late: true, Body: func(w int) []string {
		if w != width {
			width, drawn = w, drawResult(msg.Lines, painter{st: st, w: w})
		}
		return drawn
	}}})
	return nil
}

func drawResult(lines []resultLine, p painter) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		if l.no == 0 {
			out = append(out, p.st.Muted.Render(kit.Cut("        "+l.said, p.w)))
			continue
		}
		line := &diffreview.Line{Op: ' ', Text: l.text}
		sign, base := " ", p.st.Text
		if l.changed {
			line.Op, sign, base = '+', "+", p.st.AddedLine
		}
		gutter := fmt.Sprintf("%6d %s ", l.no, sign)
		out = append(out, p.st.Muted.Render(gutter)+p.raw(line, l.text, nil, 0, false, base, p.st.Text, max(1, p.w-len(gutter))))
	}
	return out
}
