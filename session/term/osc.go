package term

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what the inside can tell about itself, in characters.
const (
	maxTitle    = 200
	maxRequest  = 200
	maxRequests = 32        // kept; older ones are counted only
	maxClip     = 100 << 10 // bytes
)

// Agent states, as Agent returns them.
const (
	AgentUnknown = ""
	AgentWorking = "working"
	AgentWaiting = "waiting" // for the person
	AgentDone    = "done"
)

// requests are what the inside asked of the outer terminal.
type requests struct {
	text  []string
	total int
}

func (r *requests) add(text string) {
	text = clean(text, maxRequest)
	r.total++
	if n := len(r.text); n > 0 && r.text[n-1] == text {
		return // a repetition needs no second line
	}
	if len(r.text) == maxRequests {
		r.text = append(r.text[:0], r.text[1:]...)
	}
	r.text = append(r.text, text)
}

// str handles OSC and the other strings. Unknown ones are swallowed.
func (s *Screen) str(kind byte, data []byte, total int) {
	s.dirty = true
	switch kind {
	case ']':
		s.osc(data, total)
	case 'P':
		if rest, ok := bytes.CutPrefix(data, []byte("$q")); ok {
			s.settingQuery(string(rest))
		}
	}
}

func (s *Screen) osc(data []byte, total int) {
	head, rest, _ := bytes.Cut(data, []byte{';'})
	n, err := strconv.Atoi(string(head))
	if err != nil || len(head) > 5 {
		return
	}
	switch n {
	case 0, 2:
		s.setTitle(string(rest))
	case 4:
		s.paletteQuery(rest)
	case 9:
		if !bytes.HasPrefix(rest, []byte("4;")) { // 9;4 is a progress bar
			s.notify(string(rest))
		}
	case 10, 11, 12:
		s.colourQuery(n, rest)
	case 52:
		s.clipboard(rest, total > len(data))
	case 777:
		if msg, ok := bytes.CutPrefix(rest, []byte("notify;")); ok {
			s.notify(strings.ReplaceAll(string(msg), ";", ": "))
		}
	case 7501:
		s.agentState(string(rest))
	}
}

func (s *Screen) setTitle(text string) {
	s.title = clean(text, maxTitle)
	read := titleState
	if sig := s.opts.Signals; sig != nil {
		read = sig.Title
	}
	if read == nil {
		return
	}
	if state := read(s.title); state != AgentUnknown {
		s.state = state
	}
}

// titleState reads the glyph that agents put in front of their title.
func titleState(title string) string {
	r, _ := utf8.DecodeRuneInString(title)
	switch {
	case r == '✳' || r == '◇':
		return AgentWaiting
	case r >= 0x2801 && r <= 0x28ff || r == '✦':
		return AgentWorking
	case r == '✋':
		return AgentWaiting
	}
	return AgentUnknown
}

func (s *Screen) notify(text string) {
	if sig := s.opts.Signals; sig == nil || sig.Notification {
		s.state = AgentWaiting
	}
	s.requests.add("notification: " + text)
}

// agentState reads OSC 7501: "state=idle:app=codex" and the like.
func (s *Screen) agentState(text string) {
	if sig := s.opts.Signals; sig != nil && !sig.OSC7501 {
		return
	}
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ':' }) {
		switch strings.TrimSpace(f) {
		case "state=idle":
			s.state = AgentWaiting
		case "state=working":
			s.state = AgentWorking
		case "state=done":
			s.state = AgentDone
		}
	}
}

// clipboard handles OSC 52. A read is never answered.
func (s *Screen) clipboard(args []byte, cut bool) {
	_, payload, ok := bytes.Cut(args, []byte{';'})
	if !ok || string(payload) == "?" {
		s.requests.add("asked to read the clipboard, refused")
		return
	}
	text, err := base64.StdEncoding.DecodeString(string(payload))
	if cut || err != nil || len(text) == 0 || len(text) > maxClip {
		s.requests.add("asked to set the clipboard to something too large or malformed, refused")
		return
	}
	switch s.opts.Clipboard {
	case "ask", "allow":
		s.clip = ClipText(text)
		s.clips++
	default:
		s.requests.add(fmt.Sprintf("asked to set the clipboard: %d bytes, refused", len(text)))
	}
}

// Title is the program's title, cleaned: one line without control, direction or
// invisible characters, at most 200 characters.
func (s *Screen) Title() string { return s.title }

// Agent is what the program says about itself, by its title, a notification or
// OSC 7501: one of the Agent constants. It is a hint; the inside can lie.
func (s *Screen) Agent() string { return s.state }

// Requests are what the inside asked of the outer terminal and did not get,
// newest last, at most 32, cleaned; total counts all of them.
func (s *Screen) Requests() (list []string, total int) {
	return append([]string(nil), s.requests.text...), s.requests.total
}

// clean makes text fit for one line on a screen: at most limit characters, bad
// bytes replaced, everything without a shape of its own left out.
func clean(text string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		switch {
		case r == '\t' || r == '\n' || unicode.Is(unicode.Zs, r):
			r = ' '
		case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.M):
			if !unicode.Is(unicode.Co, r) {
				continue
			}
		}
		if n++; n > limit {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}
