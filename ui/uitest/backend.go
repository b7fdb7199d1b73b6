// Package uitest drives the workbench in tests: a backend whose answers the
// test sets, a clock that the test turns, and a driver that types, looks and
// compares with golden screens. It talks to no session and waits for nothing
// but the program under test.
package uitest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
	"fumehood/isolate"
	"fumehood/isolate/walls"
	"fumehood/session"
)

// Backend answers from what the test put into it. The zero value has no
// sessions. All fields may be set before the program starts, and afterwards
// through With.
type Backend struct {
	mu       sync.Mutex
	Rows     []session.Summary
	Details  map[string]session.Detail
	Screens  map[string]session.Frame
	Above    map[string][]string // the lines above a screen, oldest first
	Sets     map[string]*diffreview.ChangeSet
	Fresh    map[string]*diffreview.ChangeSet // what the next fresh snapshot finds
	Comments []diffreview.Comment
	Texts    map[diffreview.Blob][]byte
	Judge    func(*diffreview.ChangeSet) // puts findings into a set after a decision, as the rules would; may be nil
	Edited   []byte                      // what the editor was given last
	TryEnds  session.Tried
	Both     []session.Merge // what host and agent both changed
	Gone     bool            // the agent went on since the snapshot
	Away     bool            // all that there is of a session is a record, as of a bundle
	Names    []string
	Choices  []session.AgentChoice // nil is a shell and the demo
	Look     session.Preview
	Would    []string
	Check    session.Applied
	About    map[string]session.Walls // by session, or "policy NAME"; "" is any other
	Told     []walls.Event            // what a run of the wall tests tells before it is held
	Outcome  *walls.Record            // what it comes to
	Matrix   *walls.Matrix
	Clip     string // what the inside wants in the clipboard
	Traffic  map[string]session.Traffic
	Drafts   map[string]session.Draft // by the attempt's destination
	Fail     map[string]error         // by method
	Calls    []string                 // in order, with arguments

	holds   map[string]bool
	waiters []*waiter
}

// waiter is a call that waits for the test.
type waiter struct {
	method string // held; "" waits for a newer screen
	ctx    context.Context
	ch     chan struct{}
}

// Elsewhere says whether there is only a record.
func (b *Backend) Elsewhere() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Away
}

// With changes the backend and wakes who waits for a frame.
func (b *Backend) With(f func(b *Backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
	b.wake("")
}

// Hold makes calls of a method wait until Release.
func (b *Backend) Hold(method string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holds == nil {
		b.holds = map[string]bool{}
	}
	b.holds[method] = true
}

// Release lets held calls go on.
func (b *Backend) Release(method string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holds, method)
	b.wake(method)
}

func (b *Backend) wake(method string) {
	keep := b.waiters[:0]
	for _, w := range b.waiters {
		if w.method != method {
			keep = append(keep, w)
			continue
		}
		close(w.ch)
	}
	b.waiters = keep
}

// Blocked counts calls that wait for the test. One that was cancelled waits no
// longer, even if it has not noticed yet.
func (b *Backend) Blocked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, w := range b.waiters {
		if w.ctx.Err() == nil {
			n++
		}
	}
	return n
}

// wait gives the lock up until the test wakes the call, or it is cancelled.
func (b *Backend) wait(ctx context.Context, method string) error {
	w := &waiter{method, ctx, make(chan struct{})}
	b.waiters = append(b.waiters, w)
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-w.ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Called gives the calls so far and forgets them.
func (b *Backend) Called() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.Calls
	b.Calls = nil
	return c
}

// enter records a call, waits where a hold is, and gives the error that is set.
// It returns with the lock held.
func (b *Backend) enter(ctx context.Context, method, args string, record bool) error {
	b.mu.Lock()
	if record {
		b.Calls = append(b.Calls, method+" "+args)
	}
	if b.holds[method] {
		if err := b.wait(ctx, method); err != nil {
			return err
		}
	}
	return b.Fail[method]
}

// List gives the rows.
func (b *Backend) List(ctx context.Context, _ bool) ([]session.Summary, error) {
	err := b.enter(ctx, "List", "", false)
	defer b.mu.Unlock()
	return append([]session.Summary{}, b.Rows...), err
}

// Detail gives what was set, with the row's summary.
func (b *Backend) Detail(ctx context.Context, id string) (session.Detail, error) {
	err := b.enter(ctx, "Detail", id, false)
	defer b.mu.Unlock()
	d := b.Details[id]
	for _, s := range b.Rows {
		if s.ID == id {
			d.Summary = s
			return d, err
		}
	}
	return d, errors.Join(err, fmt.Errorf("no session %q", id))
}

// Frame waits until the screen is newer than since.
func (b *Backend) Frame(ctx context.Context, id string, since uint64, offset int) (session.Frame, error) {
	err := b.enter(ctx, "Frame", id, false)
	for {
		if f, ok := b.Screens[id]; !ok || err != nil || f.Ended || f.Gen > since {
			if !ok && err == nil {
				err = fmt.Errorf("no session %q", id)
			}
			f.Offset = min(offset, f.Scrollback)
			if above := b.Above[id]; len(above) > 0 {
				all := append(append([]string{}, above...), f.Lines...)
				f.Scrollback = len(above)
				f.Offset = max(0, min(offset, f.Scrollback))
				from := len(above) - f.Offset
				f.Lines = all[from : from+len(f.Lines)]
			}
			b.mu.Unlock()
			return f, err
		}
		if err := b.wait(ctx, ""); err != nil {
			b.mu.Unlock()
			return session.Frame{}, err
		}
		err = b.Fail["Frame"]
	}
}

func deps(r session.Request) string {
	if r.Dependencies {
		return " with dependencies"
	}
	return ""
}

// Preview gives what was set.
func (b *Backend) Preview(ctx context.Context, r session.Request) (session.Preview, error) {
	err := b.enter(ctx, "Preview", r.Agent+" "+r.Policy+deps(r), true)
	defer b.mu.Unlock()
	return b.Look, err
}

// TrustPolicy notes what was trusted; from then on it is in force.
func (b *Backend) TrustPolicy(r *session.RepositoryPolicy) error {
	err := b.enter(context.Background(), "TrustPolicy", r.SHA256, true)
	defer b.mu.Unlock()
	if err == nil {
		now := *r
		now.Widenings = slices.Clone(r.Widenings)
		for i := range now.Widenings {
			now.Widenings[i].InForce = now.Widenings[i].Trustable
		}
		b.Look.Repository = &now
	}
	return err
}

// Create makes a running session with a screen.
func (b *Backend) Create(ctx context.Context, r session.Request, progress func(done, total int, bytes int64)) (string, error) {
	progress(40, 100, 4<<20)
	err := b.enter(ctx, "Create", fmt.Sprintf("%s %s %q %q", r.Agent, r.Policy, r.Name, r.Command)+deps(r), true)
	defer b.mu.Unlock()
	if err != nil {
		return "", err
	}
	id := "new-1"
	b.Rows = append(b.Rows, session.Summary{ID: id, Name: "new", Agent: r.Agent, Policy: r.Policy, State: session.StateRunning, Live: true, ChangedFiles: -1})
	if b.Screens == nil {
		b.Screens = map[string]session.Frame{}
	}
	b.Screens[id] = session.Frame{Gen: 1, Cols: 80, Rows: 19, Lines: []string{"$ "}, CursorX: 2, CursorOn: true, State: session.StateRunning}
	return id, nil
}

func (b *Backend) simple(ctx context.Context, method, args string) error {
	err := b.enter(ctx, method, args, true)
	b.mu.Unlock()
	return err
}

// Resume records the call.
func (b *Backend) Resume(ctx context.Context, id string, command []string, size isolate.Size) error {
	return b.simple(ctx, "Resume", fmt.Sprintf("%s %q %dx%d", id, command, size.Cols, size.Rows))
}

// Stop records the call.
func (b *Backend) Stop(ctx context.Context, id string) error { return b.simple(ctx, "Stop", id) }

// Remove takes the row away; unless forced it refuses while files are undecided.
func (b *Backend) Remove(ctx context.Context, id string, force bool) error {
	err := b.enter(ctx, "Remove", fmt.Sprintf("%s force=%v", id, force), true)
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	for i, s := range b.Rows {
		if s.ID == id && s.Undecided > 0 && !force {
			return &session.UndecidedError{ID: id, Files: s.Undecided}
		}
		if s.ID == id {
			b.Rows = append(b.Rows[:i:i], b.Rows[i+1:]...)
			break
		}
	}
	return nil
}

// Policies gives the names that were set.
func (b *Backend) Policies(context.Context) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Names
}

// Keys records what went in.
func (b *Backend) Keys(ctx context.Context, id string, keys []session.Key) error {
	text := ""
	for _, k := range keys {
		if k.Text != "" {
			text += k.Text
			continue
		}
		text += fmt.Sprintf("<%d+%d>", k.Mod, k.Code)
	}
	return b.simple(ctx, "Keys", id+" "+text)
}

// Paste records what went in.
func (b *Backend) Paste(ctx context.Context, id, text string) error {
	return b.simple(ctx, "Paste", fmt.Sprintf("%s %q", id, text))
}

// Mouse records what went in.
func (b *Backend) Mouse(ctx context.Context, id string, m session.Mouse) error {
	return b.simple(ctx, "Mouse", fmt.Sprintf("%s %s %d,%d %d", id, m.Kind, m.X, m.Y, m.Button))
}

// Resize records the size.
func (b *Backend) Resize(ctx context.Context, id string, s isolate.Size) error {
	return b.simple(ctx, "Resize", fmt.Sprintf("%s %dx%d", id, s.Cols, s.Rows))
}

// ChangeSet gives a copy of what was set, so that the program's verdicts and
// the backend's are two things.
func (b *Backend) ChangeSet(ctx context.Context, id string, fresh bool) (*diffreview.ChangeSet, []diffreview.Comment, error) {
	err := b.enter(ctx, "ChangeSet", fmt.Sprintf("%s fresh=%v", id, fresh), true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	if f := b.Fresh[id]; fresh && f != nil {
		b.Sets[id] = f
		delete(b.Fresh, id)
	}
	return Copy(b.Sets[id]), slices.Clone(b.Comments), nil
}

// Copy is a change set that shares no verdict with cs.
func Copy(cs *diffreview.ChangeSet) *diffreview.ChangeSet {
	if cs == nil {
		return &diffreview.ChangeSet{}
	}
	out := *cs
	out.Files = append([]diffreview.File{}, cs.Files...)
	for i := range out.Files {
		out.Files[i].Hunks = append([]diffreview.Hunk{}, out.Files[i].Hunks...)
	}
	return &out
}

// Decide records decisions in the backend's own change set.
func (b *Backend) Decide(ctx context.Context, id string, choices []session.Choice) error {
	said := id
	for _, c := range choices {
		said += fmt.Sprintf(" %s %s %q", c.Unit, c.Path, c.Verdict)
		if c.Lines != "" {
			said += " lines=" + c.Lines
		}
		if c.Edit != nil {
			said += fmt.Sprintf(" edit=%q", c.Edit)
		}
	}
	err := b.enter(ctx, "Decide", said, true)
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	set := b.Sets[id]
	for _, c := range choices {
		rec := diffreview.Decision{Verdict: c.Verdict, Lines: c.Lines}
		if c.Edit != nil {
			sum := sha256.Sum256(c.Edit)
			rec.Edit = diffreview.Blob(hex.EncodeToString(sum[:]))
			if b.Texts == nil {
				b.Texts = map[diffreview.Blob][]byte{}
			}
			b.Texts[rec.Edit] = c.Edit
		}
		for i := range set.Files {
			set.Files[i].Decide(c.Unit, rec)
		}
		if b.Judge != nil {
			b.Judge(set)
		}
	}
	return nil
}

// Comment keeps a comment, or takes one back.
func (b *Backend) Comment(ctx context.Context, id string, c diffreview.Comment) (diffreview.Comment, error) {
	err := b.enter(ctx, "Comment", fmt.Sprintf("%s %s:%d %q", id, c.Path, c.Line, c.Body), true)
	defer b.mu.Unlock()
	if err != nil {
		return c, err
	}
	c.By, c.Sent = "ada", time.Time{} // as the session records them
	b.Comments = slices.DeleteFunc(b.Comments, func(o diffreview.Comment) bool { return o.ID == c.ID })
	if c.ID == "" {
		c.ID = fmt.Sprintf("%016x", len(b.Comments)+1)
	}
	if c.Body != "" {
		b.Comments = append(b.Comments, c)
	}
	return c, nil
}

// Text gives what was set for a blob.
func (b *Backend) Text(ctx context.Context, id string, blob diffreview.Blob) ([]byte, error) {
	err := b.enter(ctx, "Text", fmt.Sprintf("%s %s", id, blob), true)
	defer b.mu.Unlock()
	return b.Texts[blob], err
}

// PreviewSend makes a message of the comments that are not sent.
func (b *Backend) PreviewSend(ctx context.Context, id string) (*session.Message, error) {
	err := b.enter(ctx, "PreviewSend", id, false)
	defer b.mu.Unlock()
	m := &session.Message{}
	for _, c := range b.Comments {
		if c.Sent.IsZero() {
			m.Comments = append(m.Comments, c)
			m.Text += fmt.Sprintf("%s:%d: %s\n", c.Path, c.Line, c.Body)
		}
	}
	if len(m.Comments) == 0 || err != nil {
		return nil, err
	}
	return m, nil
}

// SendComments says that they were typed.
func (b *Backend) SendComments(ctx context.Context, id string) (session.Sent, error) {
	err := b.enter(ctx, "SendComments", id, true)
	defer b.mu.Unlock()
	if err != nil {
		return session.Sent{}, err
	}
	s := session.Sent{How: session.SentTyped}
	for i := range b.Comments {
		if c := &b.Comments[i]; c.Sent.IsZero() {
			c.Sent = time.Date(2026, 11, 30, 12, 45, 0, 0, time.UTC)
			s.Comments++
		}
	}
	return s, nil
}

// Try ends as was set.
func (b *Backend) Try(ctx context.Context, id string, argv []string) (session.Tried, error) {
	err := b.enter(ctx, "Try", fmt.Sprintf("%s %q", id, argv), true)
	defer b.mu.Unlock()
	t := b.TryEnds
	t.Trial.Command, t.Trial.Outcome = argv, diffreview.TrialPassed
	if t.Code != 0 || t.Signal != 0 || t.Limit != nil {
		t.Trial.Outcome, t.Trial.Code = diffreview.TrialFailed, t.Code
	}
	if s := b.Sets[id]; s != nil && t.Trial.Approved == "" {
		t.Trial.Approved = s.ApprovedHash()
	}
	return t, err
}

// Merges gives what was set.
func (b *Backend) Merges(ctx context.Context, id string) ([]session.Merge, error) {
	err := b.enter(ctx, "Merges", id, false)
	defer b.mu.Unlock()
	out := make([]session.Merge, len(b.Both))
	for i, m := range b.Both {
		m.Parts = slices.Clone(m.Parts)
		out[i] = m
	}
	return out, err
}

// Resolve puts choices into what was set.
func (b *Backend) Resolve(ctx context.Context, id string, choices []session.ResolutionChoice) error {
	said := id
	for _, c := range choices {
		said += fmt.Sprintf(" %s %s %q", c.Conflict, c.Path, c.Take)
		if c.Edit != nil {
			said += fmt.Sprintf(" edit=%q", c.Edit)
		}
	}
	err := b.enter(ctx, "Resolve", said, true)
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	for _, c := range choices {
		for i := range b.Both {
			resolve(&b.Both[i], c)
		}
	}
	return nil
}

func resolve(m *session.Merge, c session.ResolutionChoice) {
	if m.ID == c.Conflict {
		if m.Left = c.Take == diffreview.TakeLeave; m.Why != "" && !m.Left {
			m.Take, m.Open = c.Take, 0
			if c.Take == "" {
				m.Open = 1
			}
		}
		return
	}
	m.Open = 0
	if m.Why != "" && m.Take == "" {
		m.Open = 1
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.ID == c.Conflict {
			p.Take, p.Edit = c.Take, c.Edit
		}
		if p.Kind == merge.Conflict && p.Take == "" {
			m.Open++
		}
	}
}

// GoneOn says what was set.
func (b *Backend) GoneOn(ctx context.Context, id string, _ time.Time) (bool, error) {
	err := b.enter(ctx, "GoneOn", id, false)
	defer b.mu.Unlock()
	return b.Gone, err
}

// OpenEdit gives a path that is no file.
func (b *Backend) OpenEdit(ctx context.Context, id string, text []byte) (string, error) {
	err := b.enter(ctx, "OpenEdit", fmt.Sprintf("%s %q", id, text), true)
	defer b.mu.Unlock()
	b.Edited = text
	return "/edit/hunk", err
}

// CloseEdit gives what the editor is said to have written: what it was given,
// unless the test sets Edited in between.
func (b *Backend) CloseEdit(ctx context.Context, id, path string) ([]byte, error) {
	err := b.enter(ctx, "CloseEdit", id+" "+path, true)
	defer b.mu.Unlock()
	return b.Edited, err
}

// PreviewApply gives what was set.
func (b *Backend) PreviewApply(ctx context.Context, id string) (session.Applied, []string, error) {
	err := b.enter(ctx, "PreviewApply", id, true)
	defer b.mu.Unlock()
	return b.Check, b.Would, err
}

// Apply says that what was set is written.
func (b *Backend) Apply(ctx context.Context, id, plan string) (session.Applied, error) {
	err := b.enter(ctx, "Apply", strings.TrimSpace(id+" "+plan), true)
	defer b.mu.Unlock()
	return session.Applied{Session: id, Applied: b.Would}, err
}

// Undo says that what was set is taken back.
func (b *Backend) Undo(ctx context.Context, id string) (session.Applied, error) {
	err := b.enter(ctx, "Undo", id, true)
	defer b.mu.Unlock()
	return session.Applied{Session: id, Applied: b.Would}, err
}
