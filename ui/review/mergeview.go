package review

import (
	"fmt"
	"strings"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/diffreview/merge"
	"fumehood/session"
	"fumehood/ui/kit"
)

// View draws the conflict under the cursor.
func (v *merges) View(w, h int) []string {
	if !v.drawn {
		v.drawn, v.seen = true, v.m.ctx.Clock.Now().UnixNano()
	}
	st := v.m.ctx.Styles
	out := []string{st.Strong.Render(kit.Fit(v.where(), w)), st.Muted.Render(kit.Fit(v.state(), w))}
	out = append(out, v.risks(w, max(1, h-2)/2)...)
	v.page = max(1, h-len(out))
	return append(out, v.body(w, v.page)...)
}

// risks says what the rules found in what comes out, in at most h lines, the
// gravest first.
func (v *merges) risks(w, h int) []string {
	st := v.m.ctx.Styles
	var out []string
	for _, x := range v.now().Risks {
		tint := st.Warn
		if x.Severity == diffreview.Danger {
			tint = st.Refused
		}
		for n, l := range kit.Wrap(findingText(&x), max(20, w-2)) {
			if n > 0 {
				l = "  " + l
			}
			out = append(out, tint.Render(kit.Fit(l, w)))
		}
	}
	if len(out) > h {
		out = append(out[:h-1:h-1], st.Refused.Render(kit.Fit(fmt.Sprintf("! and more: %s in all; o shows what comes out", kit.Plural(len(v.now().Risks), "risk")), w)))
	}
	return out
}

// where names the file and the conflict.
func (v *merges) where() string {
	f := v.now()
	text := fmt.Sprintf("file %d of %d  %s", v.file+1, len(v.all), diffreview.SafeName(f.Path))
	if v.part < 0 {
		return text
	}
	n, of := 0, 0
	for p := range f.Parts {
		if f.Parts[p].Kind == merge.Conflict {
			of++
			if p <= v.part {
				n++
			}
		}
	}
	return text + fmt.Sprintf("  conflict %d of %d  %s line %d", n, of, whose(f), f.Parts[v.part].HostLine)
}

// state says what was chosen.
func (v *merges) state() string {
	f := v.now()
	switch {
	case f.Left:
		if f.Commit != "" {
			return "left out of the branch: the file stays as the commit has it"
		}
		return "left out of the apply: the file stays as you have it"
	case v.part >= 0:
		p := &f.Parts[v.part]
		text := takeWords(f, p.Take)
		switch {
		case f.Open == 0:
			text += " (o shows what comes out)"
		case f.Base.Kind == diffreview.KindAbsent && p.Take == "":
			text = "both made this file; " + text
		}
		return text
	case f.Why != "" && f.Take != "":
		return takeWords(f, f.Take)
	case f.Why != "":
		return "open: can't be merged by lines (" + kit.Safe(f.Why) + "); choose one or leave it out"
	}
	if len(f.Parts) == 0 {
		return mergeWords(f) + ": merges without conflict"
	}
	if f.Commit != "" {
		return mergeWords(f) + ", merged to this (+ is new to the commit)"
	}
	return mergeWords(f) + ", merged to this (+ is new to you)"
}

// yours names the side that is not the agent's.
func yours(f *session.Merge) string {
	if f.Commit != "" {
		return "the commit's"
	}
	return "yours"
}

// whose is yours before a word.
func whose(f *session.Merge) string {
	if f.Commit != "" {
		return "the commit's"
	}
	return "your"
}

func takeWords(f *session.Merge, t diffreview.Take) string {
	return map[diffreview.Take]string{
		"":                   "open: choose one, both, or write it",
		diffreview.TakeHost:  "chosen: " + yours(f),
		diffreview.TakeAgent: "chosen: the agent's",
		diffreview.TakeBoth:  "chosen: both, " + yours(f) + " first",
		diffreview.TakeEdit:  "chosen: what you wrote",
	}[t]
}

// wasThere names what both sides started from: for a branch that is the copy, the
// user's uncommitted edits in it.
func wasThere(f *session.Merge) string {
	if f.Commit != "" {
		return "as it was copied in, with your uncommitted edits"
	}
	return "as it was"
}

// mergeWords counts what each side changed.
func mergeWords(f *session.Merge) string {
	host, agent := 0, 0
	for i := range f.Parts {
		switch f.Parts[i].Kind {
		case merge.FromHost:
			host++
		case merge.FromAgent:
			agent++
		case merge.Same, merge.FromBoth, merge.Conflict:
		}
	}
	if len(f.Parts) == 0 {
		return "only one side changed the content"
	}
	return fmt.Sprintf("%s of %s, %s of the agent's", kit.Plural(host, "change"), yours(f), kit.Plural(agent, "change"))
}

// column is one of the texts of a conflict.
type column struct {
	head  string
	lines [][]byte
	from  int // number of the first line
	take  bool
}

// body draws the texts, h lines of them from top on.
func (v *merges) body(w, h int) []string {
	f := v.now()
	if v.part < 0 && (f.Why != "" || len(f.Parts) == 0 || f.Open > 0) {
		v.total = 0
		return v.whole(f, w)
	}
	if v.part < 0 {
		lines := v.clean(f, w)
		v.total = len(lines)
		v.top = max(0, min(v.top, v.total-h))
		return lines[v.top:min(v.total, v.top+h)]
	}
	p := &f.Parts[v.part]
	cols := []column{
		{wasThere(f), linediff.Split(p.Base), p.BaseLine, false},
		{"h  " + yours(f), linediff.Split(p.Host), p.HostLine, p.Take == diffreview.TakeHost || p.Take == diffreview.TakeBoth},
		{"g  the agent's", linediff.Split(p.Agent), p.AgentLine, p.Take == diffreview.TakeAgent || p.Take == diffreview.TakeBoth},
	}
	if p.Take == diffreview.TakeEdit {
		cols = append(cols, column{"e  written by you", linediff.Split(p.Edit), p.HostLine, true})
	}
	before, behind := v.context(f)
	if w < stackedBelow {
		return v.stacked(cols, before, behind, w, h)
	}
	return v.beside(cols, before, behind, w, h)
}

// context gives the lines of yours around the conflict.
func (v *merges) context(f *session.Merge) (before, behind [][]byte) {
	if v.part > 0 {
		ls := linediff.Split(merged(f.Parts[v.part-1]))
		before = ls[max(0, len(ls)-mergeAround):]
	}
	if v.part+1 < len(f.Parts) {
		ls := linediff.Split(merged(f.Parts[v.part+1]))
		behind = ls[:min(len(ls), mergeAround)]
	}
	return before, behind
}

// merged is what a part without conflict comes to.
func merged(p merge.Part) []byte {
	if p.Kind == merge.FromAgent {
		return p.Agent
	}
	return p.Host
}

// beside draws the texts in columns.
func (v *merges) beside(cols []column, before, behind [][]byte, w, h int) []string {
	st := v.m.ctx.Styles
	cw := (w - len(cols) + 1) / len(cols)
	rows := 0
	for _, c := range cols {
		rows = max(rows, len(c.lines))
	}
	v.total = rows + len(before) + len(behind) + 1
	v.top = max(0, min(v.top, v.total-h))
	var out []string
	for i := v.top; i < min(v.total, v.top+h); i++ {
		cells := make([]string, len(cols))
		for k, c := range cols {
			n := i - len(before) - 1
			switch {
			case i < len(before):
				cells[k] = v.line(before[i], 0, ' ', cw)
			case n == -1:
				head := "── " + c.head + " "
				if c.take {
					head += "✓ "
				}
				cells[k] = st.Accent.Render(kit.Fit(head+strings.Repeat("─", max(0, cw-kit.Width(head))), cw))
			case n < len(c.lines):
				cells[k] = v.line(c.lines[n], c.from+n, sign(k), cw)
			case n >= rows:
				cells[k] = v.line(behind[n-rows], 0, ' ', cw)
			default:
				cells[k] = strings.Repeat(" ", cw)
			}
		}
		out = append(out, strings.Join(cells, st.Border.Render("│")))
	}
	return out
}

// stacked draws the texts one below the other.
func (v *merges) stacked(cols []column, before, behind [][]byte, w, h int) []string {
	st := v.m.ctx.Styles
	v.total = len(before) + len(behind)
	for _, c := range cols {
		v.total += len(c.lines) + 1
	}
	v.top = max(0, min(v.top, v.total-h))
	var out []string
	i := 0
	put := func(draw func() string) {
		if i >= v.top && i < v.top+h {
			out = append(out, draw())
		}
		i++
	}
	for _, l := range before {
		put(func() string { return v.line(l, 0, ' ', w) })
	}
	for k, c := range cols {
		put(func() string {
			head := "── " + c.head + " "
			if c.take {
				head += "✓ "
			}
			return st.Accent.Render(kit.Fit(head+strings.Repeat("─", max(0, w-kit.Width(head))), w))
		})
		if i+len(c.lines) <= v.top || i >= v.top+h { // not on the screen: a conflict may be long
			i += len(c.lines)
			continue
		}
		for n, l := range c.lines {
			put(func() string { return v.line(l, c.from+n, sign(k), w) })
		}
	}
	for _, l := range behind {
		put(func() string { return v.line(l, 0, ' ', w) })
	}
	return out
}

// sign tells the texts apart without colour.
func sign(column int) byte {
	switch column {
	case 0:
		return '-'
	case 1:
		return 'h'
	case 2:
		return 'g'
	}
	return 'e'
}

// line draws a line of a text in w cells.
func (v *merges) line(raw []byte, no int, sign byte, w int) string {
	st := v.m.ctx.Styles
	p := painter{st: st, w: w}
	gutter := "        "
	if no > 0 {
		gutter = fmt.Sprintf("%5d %c ", no, sign)
	}
	body, eol := []byte(nil), false
	if n := len(raw); n > 0 && raw[n-1] == '\n' {
		body, eol = raw[:n-1], true
	} else {
		body = raw
	}
	l := &diffreview.Line{Op: ' ', Text: body, NoEOL: !eol && no > 0}
	base := st.Text
	switch sign {
	case '-':
		base = st.RemovedLine
	case 'h', 'g', 'e':
		l.Op, base = '+', st.AddedLine
	}
	if w <= len(gutter)+1 {
		return kit.Fit(gutter, w)
	}
	return st.Muted.Render(gutter) + p.raw(l, body, nil, v.left, false, base, st.Text, w-len(gutter))
}

// clean gives what comes out of a merge without conflict, drawn once for each
// file and width.
func (v *merges) clean(f *session.Merge, w int) []string {
	if v.out.id != f.ID || v.out.w != w {
		lines, err := outOf(f)
		if err != nil {
			return []string{kit.Safe(err.Error())}
		}
		v.out.id, v.out.w, v.out.lines = f.ID, w, drawResult(lines, painter{st: v.m.ctx.Styles, w: w})
	}
	return v.out.lines
}

// outOf gives the lines that come out of a merge, those marked that are new to
// the host's file.
func outOf(f *session.Merge) ([]resultLine, error) {
	text, err := merge.Text(f.Parts)
	if err != nil {
		return nil, err
	}
	var host []byte
	for i := range f.Parts {
		host = append(host, f.Parts[i].Host...)
	}
	return resultLines(host, text), nil
}

// whole says what there is to choose from where lines can't be.
func (v *merges) whole(f *session.Merge, w int) []string {
	side := func(key, name string, e diffreview.Entry) string {
		if f.Why == "" {
			key = " " // there is nothing to choose
		}
		switch e.Kind {
		case diffreview.KindAbsent:
			return key + "  " + name + ": no file"
		case diffreview.KindSymlink:
			return key + "  " + name + ": a link to " + diffreview.SafeName(e.Target)
		case diffreview.KindFile:
		}
		return fmt.Sprintf("%s  %s: %s, mode %s", key, name, kit.Bytes(e.Size), e.Mode())
	}
	return kit.Block(strings.Join([]string{
		"", side(" ", wasThere(f), f.Base), side("h", yours(f), f.Host), side("g", "the agent's", f.Agent),
	}, "\n"), w, 5)
}
