package session

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"fumehood/diffreview"
	"fumehood/isolate/layer"
	"fumehood/session/wire"
)

// Result is what `run --json` prints: how a command ended and what it left.
type Result struct {
	Session  string                    `json:"session"`
	Started  bool                      `json:"started"` // the command itself ran
	State    State                     `json:"state"`
	ExitCode *int                      `json:"exit_code"`
	Signal   string                    `json:"signal"`
	Limit    *Limit                    `json:"limit"`
	Error    string                    `json:"error,omitempty"`
	Stdout   Text                      `json:"stdout"`
	Stderr   Text                      `json:"stderr"`
	Files    []ResultFile              `json:"files"`
	Ignored  diffreview.IgnoredChanges `json:"ignored_changes"`
	Egress   Egress                    `json:"egress"`
	Refusals []Refused                 `json:"refusals"`
	Usage    wire.Used                 `json:"usage"`
	Layers   []layer.Fact              `json:"layers"`
}

// ResultFile is one changed path.
type ResultFile struct {
	Path    string               `json:"path"`
	PathB64 string               `json:"path_b64,omitempty"`
	Status  diffreview.Status    `json:"status"`
	Added   int                  `json:"added"`
	Removed int                  `json:"removed"`
	Risks   []diffreview.Finding `json:"risks"`
}

// Egress counts requests at the egress proxy while the command ran.
type Egress struct {
	Allowed int `json:"allowed"`
	Refused int `json:"refused"`
}

// Text is output cut to a number of characters, head and tail kept.
type Text struct {
	Text    string `json:"text"`
	Chars   int    `json:"chars"`         // in all, before the cut
	Omitted int    `json:"omitted_chars"` // left out in the middle
}

// Cutter collects output of any length in bounded memory and gives it as Text.
// A limit of 0 keeps everything.
type Cutter struct {
	limit   int
	head    []rune
	tail    []rune // ring once full
	tailAt  int
	chars   int
	missing int64 // bytes that the stored log itself no longer has
	partial []byte
}

// NewCutter keeps at most limit characters.
func NewCutter(limit int) *Cutter { return &Cutter{limit: limit} }

// Gap notes bytes that were not kept in the stored log.
func (c *Cutter) Gap(n int64) { c.missing += n }

// Write adds output. Bytes that are no UTF-8 count as one character each.
func (c *Cutter) Write(p []byte) (int, error) {
	n := len(p)
	if len(c.partial) > 0 {
		p = append(c.partial, p...)
		c.partial = nil
	}
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			c.partial = append([]byte(nil), p...)
			break
		}
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		c.add(r)
	}
	return n, nil
}

func (c *Cutter) add(r rune) {
	c.chars++
	half := c.limit / 2
	switch {
	case c.limit <= 0 || len(c.head) < c.limit-half:
		c.head = append(c.head, r)
	case half == 0:
	case len(c.tail) < half:
		c.tail = append(c.tail, r)
	default:
		c.tail[c.tailAt] = r
		c.tailAt = (c.tailAt + 1) % half
	}
}

// Text gives what was kept, control characters made visible and the cut
// announced where it is.
func (c *Cutter) Text() Text {
	for range c.partial {
		c.add(utf8.RuneError)
	}
	c.partial = nil
	omitted := c.chars - len(c.head) - len(c.tail)
	var b strings.Builder
	writeVisible(&b, c.head)
	switch {
	case omitted > 0 && c.missing > 0:
		fmt.Fprintf(&b, "\n[fumehood: %d characters left out here, and %d bytes are no longer stored]\n", omitted, c.missing)
	case omitted > 0:
		fmt.Fprintf(&b, "\n[fumehood: %d characters left out here]\n", omitted)
	case c.missing > 0:
		fmt.Fprintf(&b, "\n[fumehood: %d bytes are no longer stored]\n", c.missing)
	}
	writeVisible(&b, c.tail[c.tailAt:])
	writeVisible(&b, c.tail[:c.tailAt])
	return Text{Text: b.String(), Chars: c.chars, Omitted: omitted}
}

// writeVisible shows control characters as their pictures (U+2400 and on) and
// format characters by number; newline and tab stay.
func writeVisible(b *strings.Builder, rs []rune) {
	for i, r := range rs {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' && i+1 < len(rs) && rs[i+1] == '\n':
			// A terminal's own line end is no surprise.
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case isFormat(r):
			b.WriteString("<U+" + strings.ToUpper(strconv.FormatInt(int64(r), 16)) + ">")
		default:
			b.WriteRune(r)
		}
	}
}

// isFormat tells C1 controls, bidi controls and invisible characters, which a
// reader could not see.
func isFormat(r rune) bool {
	return r >= 0x80 && r <= 0x9f || r == 0xad || r == 0x61c || r >= 0x200b && r <= 0x200f ||
		r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f
}

// SignalName gives a signal's name, such as SIGKILL, or "" for 0.
func SignalName(n int) string {
	if n == 0 {
		return ""
	}
	return signalName(n)
}
