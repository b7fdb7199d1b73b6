// Package uitest drives the workbench in tests: a backend whose answers the
// test sets, a clock that the test turns, and a driver that types, looks and
// compares with golden screens. It talks to no session and waits for nothing
// but the program under test.
package uitest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/session"
)

// Backend answers from what the test put into it. The zero value has no
// sessions. All fields may be set before the program starts, and afterwards
// through With.
type Backend struct {
	mu      sync.Mutex
	Rows    []session.Summary
	Details map[string]session.Detail
	Screens map[string]session.Frame
	Above   map[string][]string // the lines above a screen, oldest first
	Sets    map[string]*diffreview.ChangeSet
	Fresh   map[string]*diffreview.ChangeSet // what the next fresh snapshot finds
	Names   []string
	Look    session.Preview
	Would   []string
	Check   session.Applied
	Fail    map[string]error // by method
	Calls   []string         // in order, with arguments

	holds   map[string]bool
	waiters []*waiter
}

// waiter is a call that waits for the test.
type waiter struct {
	method string // held; "" waits for a newer screen
	ctx    context.Context
	ch     chan struct{}
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

// Preview gives what was set.
func (b *Backend) Preview(ctx context.Context, r session.Request) (session.Preview, error) {
	err := b.enter(ctx, "Preview", r.Agent+" "+r.Policy, true)
	defer b.mu.Unlock()
	return b.Look, err
}

// Create makes a running session with a screen.
func (b *Backend) Create(ctx context.Context, r session.Request, progress func(done, total int, bytes int64)) (string, error) {
	progress(40, 100, 4<<20)
	err := b.enter(ctx, "Create", fmt.Sprintf("%s %s %q %q", r.Agent, r.Policy, r.Name, r.Command), true)
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
func (b *Backend) ChangeSet(ctx context.Context, id string, fresh bool) (*diffreview.ChangeSet, error) {
	err := b.enter(ctx, "ChangeSet", fmt.Sprintf("%s fresh=%v", id, fresh), true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if f := b.Fresh[id]; fresh && f != nil {
		b.Sets[id] = f
		delete(b.Fresh, id)
	}
	return Copy(b.Sets[id]), nil
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

// Decide records verdicts in the backend's own change set.
func (b *Backend) Decide(ctx context.Context, id string, ids, paths []string, v diffreview.Verdict) error {
	err := b.enter(ctx, "Decide", fmt.Sprintf("%s %v %v %q", id, ids, paths, v), true)
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	set := b.Sets[id]
	for _, u := range ids {
		for i := range set.Files {
			f := &set.Files[i]
			if f.Whole == u {
				f.WholeDecision = v
			}
			for h := range f.Hunks {
				if f.Hunks[h].ID == u {
					f.Hunks[h].Decision = v
				}
			}
		}
	}
	return nil
}

// PreviewApply gives what was set.
func (b *Backend) PreviewApply(ctx context.Context, id string) (session.Applied, []string, error) {
	err := b.enter(ctx, "PreviewApply", id, true)
	defer b.mu.Unlock()
	return b.Check, b.Would, err
}

// Apply says that what was set is written.
func (b *Backend) Apply(ctx context.Context, id string) (session.Applied, error) {
	err := b.enter(ctx, "Apply", id, true)
	defer b.mu.Unlock()
	return session.Applied{Session: id, Applied: b.Would}, err
}

// Undo says that what was set is taken back.
func (b *Backend) Undo(ctx context.Context, id string) (session.Applied, error) {
	err := b.enter(ctx, "Undo", id, true)
	defer b.mu.Unlock()
	return session.Applied{Session: id, Applied: b.Would}, err
}
