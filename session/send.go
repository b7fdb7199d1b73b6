package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// Sent is what became of comments for the agent.
type Sent struct {
	Comments int
	How      string // one of the words below
	Text     string // the message
	More     int    // comments that did not fit and stay for the next message
}

// How a message goes.
const (
	SentTyped  = "typed into its terminal"
	KeptWaits  = "kept until it waits"
	KeptResume = "kept for the next resume" // of a session at a terminal: no other can take it
)

// Bounds of a message, in bytes. It is typed into a program: more would not be
// read at once, nor acted on.
const (
	maxMessage = 32 << 10
	maxBody    = 8 << 10
	maxQuote   = 200
)

// ErrNothingToSend says that every comment was sent.
var ErrNothingToSend = errors.New("there is no comment that was not sent")

// Message is a message for the agent that was not handed over yet.
type Message struct {
	Text     string
	Comments []diffreview.Comment // that are in it
	More     int
	kept     keptMessage
}

// keptMessage is message.json: who sent what. The text is made when it goes, out
// of the comments as they are then.
type keptMessage struct {
	Version  int       `json:"version"`
	By       string    `json:"by"`
	TTY      string    `json:"tty"`
	At       time.Time `json:"at"`
	Extra    string    `json:"extra,omitempty"` // text beside the comments
	Comments []string  `json:"comments"`        // IDs
}

const keptVersion = 1

// SendComments hands the comments that were not sent yet to the agent as one
// message, with extra text behind them. It is typed into the session's terminal
// when the agent waits there, else kept: until it does, or until a resume. A
// comment counts as sent only once it was typed; a supervisor that is killed
// between that and the record types it again after the next resume.
func (h *Host) SendComments(ctx context.Context, d store.Dir, extra string) (Sent, error) {
	m, err := h.keepMessage(d, extra)
	if err != nil {
		return Sent{}, err
	}
	out := Sent{Comments: len(m.Comments), Text: m.Text, More: m.More, How: KeptResume}
	rep, err := ask(ctx, d, wire.Request{Op: wire.OpMessage})
	switch {
	case errors.Is(err, ErrNotLive):
	case err != nil:
		return out, fmt.Errorf("the comments are kept, but the session did not answer: %w", err)
	default:
		out.How = rep.Text
	}
	if out.How == SentTyped {
		return out, nil // the supervisor recorded it
	}
	return out, d.AppendEvent(time.Now(), "send", countComments(out.Comments)+" "+out.How, map[string]any{
		"by": h.User, "tty": h.TTY, "comments": m.kept.Comments, "text": out.Text,
	})
}

func countComments(n int) string {
	if n == 1 {
		return "1 comment"
	}
	return fmt.Sprintf("%d comments", n)
}

// keepMessage records that the unsent comments are to go, beside what an earlier
// message that is still kept has.
func (h *Host) keepMessage(d store.Dir, extra string) (*Message, error) {
	unlock, err := d.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	k, m, err := h.nextMessage(d, extra)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ErrNothingToSend
	}
	return m, saveKept(d, &k)
}

// nextMessage is what would go to the agent now, nil when that is nothing. The
// caller holds the lock.
func (h *Host) nextMessage(d store.Dir, extra string) (keptMessage, *Message, error) {
	k := keptMessage{Version: keptVersion, By: h.User, TTY: h.TTY, At: time.Now().UTC(), Extra: extra}
	dec, err := loadDecisions(d)
	if err != nil {
		return k, nil, err
	}
	old, err := loadKept(d)
	if err != nil {
		return k, nil, err
	}
	if old != nil && old.Extra != "" {
		k.Extra = strings.TrimSpace(old.Extra + "\n\n" + extra)
	}
	if len(k.Extra) > maxBody {
		return k, nil, fmt.Errorf("a text of %d bytes for the agent: the limit is %d", len(k.Extra), maxBody)
	}
	for _, c := range dec.Comments {
		if c.Sent.IsZero() {
			k.Comments = append(k.Comments, c.ID)
		}
	}
	return k, messageOf(k, dec.Comments), nil
}

// PendingMessage gives the message that is kept for a session's agent, nil when
// there is none. The supervisor asks, and tells MessageSent.
func PendingMessage(d store.Dir) (*Message, error) {
	unlock, err := d.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	k, err := loadKept(d)
	if k == nil || err != nil {
		return nil, err
	}
	dec, err := loadDecisions(d)
	if err != nil {
		return nil, err
	}
	m := messageOf(*k, dec.Comments)
	if m == nil { // its comments were taken back
		return nil, os.Remove(d.Message())
	}
	return m, nil
}

// MessageSent records that a message was typed. What was kept meanwhile stays.
func MessageSent(d store.Dir, m *Message, now time.Time) error {
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	dec, err := loadDecisions(d)
	if err != nil {
		return err
	}
	var ids []string
	for _, sent := range m.Comments {
		ids = append(ids, sent.ID)
		for i := range dec.Comments {
			// One that was changed meanwhile has not been sent as it is now.
			if c := &dec.Comments[i]; c.ID == sent.ID && c.At.Equal(sent.At) {
				c.Sent = now.UTC()
			}
		}
	}
	b, err := dec.Encode()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(d.Decisions(), b, 0o600); err != nil {
		return err
	}
	if err := dropKept(d, m, dec.Comments); err != nil {
		return err
	}
	return d.AppendEvent(now, "sent", countComments(len(ids))+" "+SentTyped, map[string]any{
		"by": m.kept.By, "tty": m.kept.TTY, "asked": m.kept.At, "comments": ids, "text": m.Text,
	})
}

// dropKept takes what was sent out of what is kept.
func dropKept(d store.Dir, m *Message, now []diffreview.Comment) error {
	k, err := loadKept(d)
	if k == nil || err != nil {
		return err
	}
	k.Extra = strings.TrimSpace(strings.TrimPrefix(k.Extra, m.kept.Extra))
	if messageOf(*k, now) == nil {
		return os.Remove(d.Message())
	}
	return saveKept(d, k)
}

func loadKept(d store.Dir) (*keptMessage, error) {
	b, err := readBounded(d.Message(), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is kept, and that is no error
	}
	if err != nil {
		return nil, err
	}
	var k keptMessage
	if err := json.Unmarshal(b, &k); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", d.Message(), err)
	}
	if k.Version != keptVersion {
		return nil, fmt.Errorf("%s: version %d, this build reads %d", d.Message(), k.Version, keptVersion)
	}
	return &k, nil
}

// maxKept bounds what is read of message.json, in bytes.
const maxKept = 4 << 20

func saveKept(d store.Dir, k *keptMessage) error {
	b, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	return writePrivate(d.Message(), append(b, '\n'))
}

// messageOf makes the text of what is kept; nil when there is nothing to say.
func messageOf(k keptMessage, all []diffreview.Comment) *Message {
	m := &Message{kept: k}
	var todo []diffreview.Comment
	for _, c := range all {
		if c.Sent.IsZero() && slices.Contains(k.Comments, c.ID) {
			todo = append(todo, c)
		}
	}
	slices.SortStableFunc(todo, func(a, b diffreview.Comment) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return max(a.Line, a.OldLine) - max(b.Line, b.OldLine)
	})
	extra := plainText(k.Extra)
	var parts []string
	size := len(extra)
	for _, c := range todo {
		part := commentText(c)
		if size += len(part) + 2; size > maxMessage {
			break
		}
		parts = append(parts, part)
		m.Comments = append(m.Comments, c)
	}
	m.More = len(todo) - len(m.Comments)
	if len(parts) > 0 {
		head := fmt.Sprintf("Review of your changes: %s.", countComments(len(parts)))
		parts = append([]string{head}, parts...)
	}
	if extra != "" {
		parts = append(parts, extra)
	}
	if len(parts) == 0 {
		return nil
	}
	m.Text = strings.Join(parts, "\n\n")
	return m
}

// commentText is one comment: where, the line, and what is said of it.
func commentText(c diffreview.Comment) string {
	var b strings.Builder
	where := "The whole change"
	if c.Path != "" {
		where = plainLine(diffreview.SafeName(c.Path), maxQuote*4)
	}
	b.WriteString(where)
	switch {
	case c.Line > 0:
		fmt.Fprintf(&b, ":%d", c.Line)
	case c.OldLine > 0:
		fmt.Fprintf(&b, " (line %d of the old file, which you removed)", c.OldLine)
	}
	if q := plainLine(c.Quote, maxQuote); q != "" {
		b.WriteString("\n> " + q)
	}
	body := plainText(c.Body)
	if len(body) > maxBody {
		body = strings.ToValidUTF8(body[:maxBody], "") + " [cut]"
	}
	b.WriteString("\n" + body)
	return b.String()
}

// plainLine is plainText in one line of at most limit bytes.
func plainLine(s string, limit int) string {
	s = strings.Join(strings.Fields(plainText(s)), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// plainText leaves of a text what a terminal program can only take as text: no
// control character, so no escape sequence, the end of a paste among them, and
// nothing that reorders or hides. What it quotes comes out of the workspace.
func plainText(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n', r == '\u2028', r == '\u2029', r == '\r':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case r == utf8.RuneError:
			b.WriteByte('?')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs):
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}
