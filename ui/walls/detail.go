package walls

import (
	"fmt"
	"strings"

	"fumehood/isolate/walls"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// detailLines is the selected test in at most h lines: what it means when it
// did not hold, its attempts, and the one under the cursor in full.
func (m *Model) detailLines(l line, w, h int) []string {
	if h < 1 {
		return nil
	}
	var out []string
	if !m.inside || l.bad() {
		out = m.aboutTest(l, w)
	}
	list := l.result.Attempts
	if m.inside && len(list) == 0 {
		m.inside = false // a run has begun it anew
	}
	if len(list) == 0 {
		return cutTo(out, w, h)
	}
	var full []string
	m.attempts.Move(0, len(list))
	if m.inside || h > 20 { // where there is room it is shown unasked
		full = m.attemptLines(list[m.attempts.At], len(list), w)
	}
	if m.inside {
		// What it means gives way to the attempts, and these to the one in full.
		if most := max(0, h-len(full)-4); len(out) > most {
			out = out[:most]
		}
	}
	n := max(1, min(len(list), h-len(out)-len(full)-1))
	if full == nil {
		n = min(len(list), h-len(out))
	}
	if n < 1 {
		return cutTo(out, w, h)
	}
	m.page = n
	from, to := m.attempts.Window(len(list), n)
	for i := from; i < to; i++ {
		out = append(out, m.attemptRow(list[i], full != nil && i == m.attempts.At, w))
	}
	if full != nil {
		out = append(out, "")
		out = append(out, full...)
	}
	return cutTo(out, w, h)
}

// cutTo leaves h lines, of which the last says when there are more.
func cutTo(lines []string, w, h int) []string {
	if len(lines) <= h {
		return lines
	}
	lines = lines[:h:h]
	lines[h-1] = kit.Cut(lines[h-1]+" …", w)
	return lines
}

// aboutTest says what the test is, or what it means that it did not hold.
func (m *Model) aboutTest(l line, w int) []string {
	st := m.ctx.Styles
	t := l.test
	put := func(out []string, s style.Style, head, text string) []string {
		for _, p := range kit.Hang("   "+kit.Fit(head, 12), kit.Safe(text), w-1) {
			out = append(out, s.Render(p))
		}
		return out
	}
	var out []string
	switch {
	case l.bad():
		out = put(out, st.Refused, "came out as", string(l.result.Verdict)+": "+l.result.Reason)
		out = put(out, st.Strong, "it means", l.means())
		return put(out, st.Strong, "do", l.remedy())
	case (l.state == recorded || l.state == stale || l.state == tried) && l.result.Verdict == walls.NA:
		out = put(out, st.Muted, "n.a. because", l.result.Reason)
	}
	out = put(out, st.Text, "tries to", t.Action)
	out = put(out, st.Text, "must be", t.Expected)
	return put(out, st.Muted, "witnesses", t.Evidence)
}

// attemptRow is one attempt in a line: what was tried and what came of it.
func (m *Model) attemptRow(a walls.Attempt, at bool, w int) string {
	mark, text := verdictMark(a.Verdict, false)
	sign, _, _ := strings.Cut(text, " ")
	tried := max(20, (w-8)*45/100)
	who := ""
	rest := w - 6 - tried - 2
	if w >= 100 {
		who = kit.Fit(string(a.Witness), 14)
		rest -= 14
	}
	body := kit.Fit(kit.Safe(a.Tried), tried) + "  " + kit.Safe(who) + kit.Cut(kit.Safe(a.Observed), max(1, rest))
	if at && m.inside {
		return m.ctx.Styles.Selection.Render(kit.Fit(" ▸ "+sign+" "+body, w))
	}
	lead := "   "
	if at {
		lead = " › " // shown in full below, but the keys are elsewhere
	}
	return lead + tint(m.ctx.Styles, mark).Render(sign) + " " + body
}

// attemptLines is one attempt in full.
func (m *Model) attemptLines(a walls.Attempt, of, w int) []string {
	st := m.ctx.Styles
	_, verdict := verdictMark(a.Verdict, false)
	how := "traced"
	if !a.Traced {
		how = "made without the tracer, whose presence alters the shape"
	}
	control := a.Control
	if control == "" {
		control = "none: nothing near it is permitted"
	}
	var out []string
	put := func(head, text string) {
		if text == "" {
			text = "none"
		}
		lines := kit.Hang("   "+kit.Fit(head, 13), kit.Safe(text), w-1)
		for i, l := range lines {
			if i == 4 { // a raw line can be long; the record has all of it
				out[len(out)-1] = kit.Cut(out[len(out)-1], w-2) + "…"
				break
			}
			out = append(out, l)
		}
	}
	out = append(out, st.Strong.Render(kit.Cut(fmt.Sprintf("   attempt %d of %d   %s   id %s", m.attempts.At+1, of, verdict, kit.Safe(a.ID)), w)))
	put("tried", a.Tried)
	put("policy says", a.Expected)
	put("observed", a.Observed)
	put("control", control)
	put("witness", string(a.Witness)+"; "+how)
	put("evidence", a.Evidence)
	put("nonce", a.Nonce)
	return out
}
