package merge

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"fumehood/diffreview/linediff"
)

// Unfit says why texts can't be merged by lines, "" when they can: one of them
// is binary or beyond what linediff compares.
func Unfit(texts ...[]byte) string {
	for _, t := range texts {
		switch {
		case linediff.Binary(t):
			return "binary"
		case linediff.TooLarge(t):
			return "too large to compare by lines"
		}
	}
	return ""
}

// Lines merges what host and agent made of base. The parts are in order and
// together hold every line of each of the three texts once. Changes that overlap
// or touch are a conflict, unless they are alike; so a line ending that only one
// side changed conflicts with an edit of the same line. The path goes into the
// names of conflicts. The texts must not be Unfit.
func Lines(path string, base, host, agent []byte) []Part {
	m := merger{base: cut(base), host: cut(host), agent: cut(agent)}
	toHost, toAgent := linediff.Diff(m.base.lines, m.host.lines), linediff.Diff(m.base.lines, m.agent.lines)
	for len(toHost)+len(toAgent) > 0 {
		h, a := region(toHost, toAgent)
		m.change(toHost[:h], toAgent[:a])
		toHost, toAgent = toHost[h:], toAgent[a:]
	}
	m.same(len(m.base.lines))
	name(path, m.parts)
	return m.parts
}

// region gives how many of the next runs of either side belong together, since
// each overlaps or touches another of them.
func region(host, agent []linediff.Run) (h, a int) {
	end := 0
	if len(agent) == 0 || len(host) > 0 && host[0].A0 < agent[0].A0 {
		h, end = 1, host[0].A1
	} else {
		a, end = 1, agent[0].A1
	}
	for {
		switch {
		case h < len(host) && host[h].A0 <= end:
			end = max(end, host[h].A1)
			h++
		case a < len(agent) && agent[a].A0 <= end:
			end = max(end, agent[a].A1)
			a++
		default:
			return h, a
		}
	}
}

// text is one side with how much of it is in parts.
type text struct {
	raw   []byte
	lines [][]byte
	at    int // lines
	pos   int // bytes
}

func cut(raw []byte) text { return text{raw: raw, lines: linediff.Split(raw)} }

// take gives the next n lines as one piece, and the number of the first.
func (t *text) take(n int) (piece []byte, line int) {
	end, line := t.pos, t.at+1
	for _, l := range t.lines[t.at : t.at+n] {
		end += len(l)
	}
	piece = t.raw[t.pos:end:end]
	t.at, t.pos = t.at+n, end
	return piece, line
}

// merger walks the three texts.
type merger struct {
	base, host, agent text
	parts             []Part
}

// same takes the lines up to base's line end, which neither side changed.
func (m *merger) same(end int) {
	if n := end - m.base.at; n > 0 {
		m.take(Same, n, n, n)
	}
}

func (m *merger) change(host, agent []linediff.Run) {
	start, end := len(m.base.lines), 0
	for _, runs := range [][]linediff.Run{host, agent} {
		if len(runs) > 0 {
			start, end = min(start, runs[0].A0), max(end, runs[len(runs)-1].A1)
		}
	}
	m.same(start)
	lines := end - start
	hl, al := lines+grown(host), lines+grown(agent)
	switch {
	case len(agent) == 0:
		m.take(FromHost, lines, hl, lines)
	case len(host) == 0:
		m.take(FromAgent, lines, lines, al)
	default:
		m.both(lines, hl, al)
	}
}

// both takes a region that both sides changed. Lines at its ends that came out
// alike are no part of the conflict.
func (m *merger) both(lines, hl, al int) {
	host, agent := m.host.lines[m.host.at:m.host.at+hl], m.agent.lines[m.agent.at:m.agent.at+al]
	n := min(hl, al)
	pre, suf := 0, 0
	for pre < n && bytes.Equal(host[pre], agent[pre]) {
		pre++
	}
	if pre == hl && pre == al {
		m.take(FromBoth, lines, hl, al)
		return
	}
	for suf < n-pre && bytes.Equal(host[hl-1-suf], agent[al-1-suf]) {
		suf++
	}
	if pre > 0 {
		m.take(FromBoth, 0, pre, pre)
	}
	m.take(Conflict, lines, hl-pre-suf, al-pre-suf)
	if suf > 0 {
		m.take(FromBoth, 0, suf, suf)
	}
}

// grown is by how many lines runs make a text longer.
func grown(runs []linediff.Run) int {
	n := 0
	for _, r := range runs {
		n += (r.B1 - r.B0) - (r.A1 - r.A0)
	}
	return n
}

func (m *merger) take(k Kind, base, host, agent int) {
	p := Part{Kind: k}
	p.Base, p.BaseLine = m.base.take(base)
	p.Host, p.HostLine = m.host.take(host)
	p.Agent, p.AgentLine = m.agent.take(agent)
	m.parts = append(m.parts, p)
}

// nameLen is the length of a conflict's name, as of all that is decided.
const nameLen = 40

// name gives each conflict the hash of the path and its three texts, and of how
// many with the same texts came before: they are chosen for one by one.
func name(path string, parts []Part) {
	seen := map[string]uint64{}
	for i := range parts {
		p := &parts[i]
		if p.Kind != Conflict {
			continue
		}
		id := hash(0, path, p.Base, p.Host, p.Agent)
		n := seen[id]
		seen[id]++
		if n > 0 {
			id = hash(n, path, p.Base, p.Host, p.Agent)
		}
		p.ID = id
	}
}

func hash(n uint64, path string, texts ...[]byte) string {
	h := sha256.New()
	put := func(b []byte) {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b)))) // a hash takes all
		_, _ = h.Write(b)
	}
	put([]byte("fumehood conflict 1"))
	put(binary.LittleEndian.AppendUint64(nil, n))
	put([]byte(path))
	for _, t := range texts {
		put(t)
	}
	return hex.EncodeToString(h.Sum(nil))[:nameLen]
}

// ID names a merge as a whole, of a path and whatever tells its sides apart.
func ID(path string, sides ...string) string {
	texts := [][]byte{[]byte("whole")}
	for _, s := range sides {
		texts = append(texts, []byte(s))
	}
	return hash(0, path, texts...)
}
