package bundle

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/session/store"
)

// Remote is a bundle as the workbench asks for it: one session, of which the
// change set can be looked at and decided on. What acts on a session says that
// there is none.
type Remote struct {
	// What this file does not answer goes to a client without any session, whose
	// state folder can't exist: nothing of this machine is reached through it.
	*session.Client
	b     *Bundle
	by    string
	tty   string
	notes []string

	mu      sync.Mutex // guards what follows
	out     Outside
	dec     *diffreview.Decisions
	decided *Decided
	counts  *session.Counts // of the change set as it was looked at last
	tried   *[2]int         // requests let through and refused, once they were counted
}

// nowhere is a folder that no account can make.
const nowhere = "/dev/null/no-session"

// newRemote reviews a bundle as its reader asks; what was decided goes out.
func newRemote(b *Bundle, d *Decided, out Outside, by, tty string) *Remote {
	none := &session.Host{Root: store.Root(nowhere), Config: nowhere, User: by, TTY: tty}
	return &Remote{
		Client: &session.Client{Host: none, Repo: b.Manifest.Session.Repo},
		b:      b, by: by, tty: tty, out: out, dec: d.onto(b.Decisions), decided: d,
	}
}

// Said tells whether the reviewer has decided or commented anything.
func (r *Remote) Said() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.decided.saysNothing()
}

// ChangeSet builds the change set, with the risks that are found here.
func (r *Remote) ChangeSet(ctx context.Context, _ string, _ bool) (*diffreview.ChangeSet, []diffreview.Comment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set, err := r.b.ChangeSet(ctx, r.dec, r.decided.Edits)
	if err == nil {
		c := session.CountsOf(set)
		r.counts = &c
	}
	return set, append([]diffreview.Comment{}, r.dec.Comments...), err
}

// Decide records decisions in the file, all or none.
func (r *Remote) Decide(_ context.Context, _ string, choices []session.Choice) error {
	return r.change(func(dec *diffreview.Decisions, edits map[diffreview.Blob][]byte) error {
		for _, c := range choices {
			rec := diffreview.Decision{Verdict: c.Verdict, Lines: c.Lines, Path: c.Path, By: r.by, TTY: r.tty, At: time.Now().UTC()}
			if c.Edit != nil {
				if len(c.Edit) > maxEdit {
					return fmt.Errorf("an edit of %d bytes: the limit is %d", len(c.Edit), maxEdit)
				}
				rec.Edit = diffreview.Blob(hexSum(c.Edit))
				edits[rec.Edit] = c.Edit
			}
			dec.Set(rec, c.Unit)
		}
		return nil
	})
}

// maxEdit bounds a reviewer's own text for one hunk, in bytes, as in a session.
const maxEdit = 1 << 20

// Comment records a comment, or replaces the body of the one with its ID; an
// empty body takes it back. It gives the comment as it is recorded.
func (r *Remote) Comment(_ context.Context, _ string, c diffreview.Comment) (diffreview.Comment, error) {
	if c.ID == "" {
		id := make([]byte, 8)
		if _, err := rand.Read(id); err != nil {
			return c, err
		}
		c.ID = hex.EncodeToString(id)
	}
	c.By, c.TTY, c.At, c.Sent = r.by, r.tty, time.Now().UTC(), time.Time{}
	err := r.change(func(dec *diffreview.Decisions, _ map[diffreview.Blob][]byte) error {
		old, there := commentsByID(dec)[c.ID]
		switch {
		case strings.TrimSpace(c.Body) != "":
			if there {
				old.Body, old.By, old.TTY, old.At, old.Sent = c.Body, c.By, c.TTY, c.At, c.Sent
				c = old
			}
			putComment(dec, c)
		case there:
			kept := dec.Comments[:0:0]
			for _, o := range dec.Comments {
				if o.ID != c.ID {
					kept = append(kept, o)
				}
			}
			dec.Comments = kept
		default:
			return errors.New("a comment that says nothing is not kept")
		}
		return nil
	})
	return c, err
}

// change changes the decisions and writes the file; when that can't be done they
// are as before.
func (r *Remote) change(do func(*diffreview.Decisions, map[diffreview.Blob][]byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := *r.decided
	dec := (&Decided{Decisions: &diffreview.Decisions{}}).onto(r.dec)
	edits := map[diffreview.Blob][]byte{}
	for b, text := range r.decided.Edits {
		edits[b] = text
	}
	if err := do(dec, edits); err != nil {
		return err
	}
	now.Decisions, now.Back, now.CommentsBack = since(r.b.Decisions, dec)
	now.Edits, now.At = edits, time.Now().UTC()
	raw, err := now.Encode()
	if err != nil {
		return err
	}
	if err := r.out.Save(raw); err != nil {
		return err
	}
	r.dec, r.decided = dec, &now
	return nil
}

// Text gives a file's content out of the bundle, or the reviewer's own text.
func (r *Remote) Text(_ context.Context, _ string, blob diffreview.Blob) ([]byte, error) {
	r.mu.Lock()
	text, ok := r.decided.Edits[blob]
	r.mu.Unlock()
	if ok {
		return text, nil
	}
	return r.b.Content(blob, session.MaxContent)
}

// List gives the one session.
func (r *Remote) List(ctx context.Context, _ bool) ([]session.Summary, error) {
	r.mu.Lock()
	tried := r.tried
	r.mu.Unlock()
	if tried == nil {
		t, err := r.Egress(ctx, "")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		tried = &[2]int{t.Allowed, t.Refused}
		if err != nil {
			tried = &[2]int{-1, 0}
		}
		r.mu.Lock()
		r.tried = tried
		r.mu.Unlock()
	}
	s := r.summary()
	s.Requests, s.Refusals = tried[0], tried[1]
	return []session.Summary{s}, nil
}

func (r *Remote) summary() session.Summary {
	s := r.b.Manifest.Session
	out := session.Summary{
		ID: s.ID, Name: shownLine(s.Name), Repo: Shown(s.Repo), Agent: shownLine(s.Agent), Policy: shownLine(s.Policy),
		State: session.State(shownLine(string(s.State))), ExitCode: s.ExitCode, Signal: shownLine(s.Signal),
		Created: s.Created, Started: s.Started, Ended: s.Ended, ChangedFiles: -1, LastLine: "from a bundle",
	}
	r.mu.Lock()
	if c := r.counts; c != nil {
		out.ChangedFiles, out.Added, out.Removed, out.Undecided = c.Files, c.Added, c.Removed, c.Undecided
	}
	r.mu.Unlock()
	if out.State == session.StatePreparing || out.State == session.StateRunning || out.State == session.StateWaiting {
		out.State = "bundle" // it was so at the export: nobody knows of now
	}
	for _, a := range s.Command {
		out.Command = append(out.Command, Shown(a))
	}
	if s.Limit != nil {
		out.Limit = &session.Limit{Name: shownLine(s.Limit.Name), Value: shownLine(s.Limit.Value), Used: shownLine(s.Limit.Used)}
	}
	return out
}

// Detail gives the session as the bundle tells of it.
func (r *Remote) Detail(ctx context.Context, _ string) (session.Detail, error) {
	s := r.b.Manifest.Session
	d := session.Detail{
		Summary: r.summary(), Files: s.Files, Bytes: s.Bytes, LeftOut: leftOuts(r.b.state.LeftOut), Block: Shown(string(r.b.Policy)),
		PolicyID: shownLine(s.PolicyHash), Elsewhere: true,
		Notes: append([]string{"this is a bundle from elsewhere: what it says of the session is the word of whoever made it"}, r.notes...),
	}
	var why error
	if d.Reach, why = r.reach(); why != nil {
		d.ReachErr = shownLine(why.Error())
	}
	c, err := walk(ctx, r.b.section(r.b.events), func(line []byte) {
		var e store.Event
		if json.Unmarshal(line, &e) == nil {
			d.Events = append(d.Events, e.Time.Local().Format("15:04:05")+" "+shownLine(e.Kind)+" "+Shown(e.Text))
			d.Events = d.Events[max(0, len(d.Events)-20):]
		}
	})
	if err == nil && c.Broken > 0 {
		d.Events = append(d.Events, fmt.Sprintf("the event log is damaged at line %d", c.Broken))
	}
	return d, errors.Join(err, ctx.Err())
}

// reach is what the session's policy lets through, as the bundle has it.
func (r *Remote) reach() ([]string, error) {
	pol, err := policy.Parse(policyName, r.b.Policy)
	if err != nil {
		return nil, err
	}
	out := session.ReachOf(pol)
	for i := range out {
		out[i] = shownLine(out[i])
	}
	return out, nil
}

// Egress gives what the session tried to reach, as the bundle tells it.
func (r *Remote) Egress(ctx context.Context, _ string) (session.Traffic, error) {
	var broken int
	var err error
	t := session.TrafficOf(func(yield func(session.Attempt) bool) {
		var c Chain
		more := true
		c, err = walk(ctx, r.b.section(r.b.egress), func(line []byte) {
			var a session.Attempt
			if more && json.Unmarshal(line, &a) == nil {
				more = yield(a)
			}
		})
		broken = c.Broken
	})
	t.Policy, t.Damaged = r.summary().Policy, broken
	var why error
	if t.Entries, why = r.reach(); why != nil {
		t.Policy += " (it can't be read)"
	}
	return t, errors.Join(err, ctx.Err())
}

// notHere is the answer to what needs the session itself.
func notHere(what string) error {
	return fmt.Errorf("not from a bundle: %s is only where the session is", what)
}

// Frame gives a picture that says so.
func (r *Remote) Frame(context.Context, string, uint64, int) (session.Frame, error) {
	return session.Frame{
		Gen: 1, Cols: 80, Rows: 1, Ended: true, State: r.summary().State,
		Lines: []string{notHere("the terminal").Error()},
	}, nil
}

// Elsewhere says that neither the session nor its repository is at hand, so that
// nothing which needs them is offered.
func (r *Remote) Elsewhere() bool { return true }

// The rest of what the workbench asks acts on a session, or on this machine.

// Stop says that there is none.
func (r *Remote) Stop(context.Context, string) error { return notHere("what runs") }

// Remove likewise.
func (r *Remote) Remove(context.Context, string, bool) error { return notHere("the session's folder") }

// Agents gives none.
func (r *Remote) Agents(context.Context) []session.AgentChoice { return nil }

// Policies gives none.
func (r *Remote) Policies(context.Context) []string { return nil }

// Preview says why nothing can be started.
func (r *Remote) Preview(context.Context, session.Request) (session.Preview, error) {
	return session.Preview{Repo: r.summary().Repo, Err: notHere("the repository").Error()}, nil
}

// TrustPolicy says that there is no repository whose policy it could be.
func (r *Remote) TrustPolicy(*session.RepositoryPolicy) error { return notHere("the repository") }

// Create says that there is nothing to copy.
func (r *Remote) Create(context.Context, session.Request, func(done, total int, bytes int64)) (string, error) {
	return "", notHere("the repository")
}

// ClipText says that there is no terminal.
func (r *Remote) ClipText(context.Context, string, int) (string, error) {
	return "", notHere("the terminal")
}

// Keys likewise.
func (r *Remote) Keys(context.Context, string, []session.Key) error { return notHere("the terminal") }

// Paste likewise.
func (r *Remote) Paste(context.Context, string, string) error { return notHere("the terminal") }

// Mouse likewise.
func (r *Remote) Mouse(context.Context, string, session.Mouse) error { return notHere("the terminal") }

// Resize likewise.
func (r *Remote) Resize(context.Context, string, isolate.Size) error { return notHere("the terminal") }

// Resume likewise.
func (r *Remote) Resume(context.Context, string, []string, isolate.Size) error {
	return notHere("the workspace")
}

// PreviewApply says that there is nothing to write to.
func (r *Remote) PreviewApply(context.Context, string) (session.Applied, []string, error) {
	return session.Applied{}, nil, notHere("the repository to apply to")
}

// Apply likewise.
func (r *Remote) Apply(context.Context, string, string) (session.Applied, error) {
	return session.Applied{}, notHere("the repository to apply to")
}

// Undo likewise.
func (r *Remote) Undo(context.Context, string) (session.Applied, error) {
	return session.Applied{}, notHere("the repository to apply to")
}

// DraftEntry says that there is no policy to change.
func (r *Remote) DraftEntry(context.Context, string, session.Attempt) (session.Draft, error) {
	return session.Draft{}, notHere("the policy in force")
}

// AllowEntry likewise.
func (r *Remote) AllowEntry(context.Context, string, string, bool) (string, error) {
	return "", notHere("the policy in force")
}

// Walls says that nothing is proven here.
func (r *Remote) Walls(context.Context, string, string) (session.Walls, error) {
	return session.Walls{}, notHere("what is proven of its walls")
}

// Prove likewise.
func (r *Remote) Prove(context.Context, walls.Run, func(walls.Event)) (*walls.Record, error) {
	return nil, notHere("what its walls are tested with")
}

// Mutate likewise.
func (r *Remote) Mutate(context.Context, string, func(walls.Event)) (*walls.Matrix, error) {
	return nil, notHere("what its walls are tested with")
}

// SaveRecord likewise.
func (r *Remote) SaveRecord(context.Context, *walls.Record, string) (string, error) {
	return "", notHere("a record of wall tests")
}
