package session

import (
	"context"
	"errors"
	"sort"
	"sync"
	"time"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/session/baseline"
	"fumehood/session/wire"
)

// Client is a Host looking at one repository: what the workbench asks.
type Client struct {
	*Host
	Repo string
	// Ignored are pathspecs of ignored paths that reviews bring in as well.
	Ignored []string
	// To is where applies write to; the zero value is the work tree.
	To     ApplyTo
	opened sync.Map // IDs of sessions whose change set was shown here
	// unchanged has, by session, the snapshot that is shown and a later one of the
	// same.
	unchanged sync.Map
}

// List gives the repository's sessions, or every one. Live ones are asked what
// they are at; one that does not answer soon is listed by its record.
func (c *Client) List(ctx context.Context, all bool) ([]Summary, error) {
	repo := c.Repo
	if all {
		repo = ""
	}
	list, err := c.Sessions(repo)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if !list[i].Live {
			continue
		}
		soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		r, err := ask(soon, c.Root.Dir(list[i].ID), wire.Request{Op: wire.OpStatus})
		cancel()
		if err == nil && r.Status != nil {
			list[i].State, list[i].LastLine = r.Status.State, r.Status.LastLine
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i]) < rank(list[j]) })
	return list, nil
}

// Detail gives one session in full.
func (c *Client) Detail(ctx context.Context, id string) (Detail, error) {
	return c.DetailOf(ctx, c.Root.Dir(id))
}

// Policies lists the policies that can be named.
func (c *Client) Policies(context.Context) []string { return policy.Names(c.Config) }

// Agents lists what can run by name.
func (c *Client) Agents(context.Context) []AgentChoice { return c.AgentChoices() }

// Preview says what a new session of the repository would be.
func (c *Client) Preview(ctx context.Context, r Request) (Preview, error) {
	r, err := c.fillIn(r)
	if err != nil {
		return Preview{Err: err.Error()}, nil //nolint:nilerr // the page shows why a start would be refused
	}
	return c.Host.Preview(ctx, r)
}

// Create starts a session of the repository.
func (c *Client) Create(ctx context.Context, r Request, progress func(done, total int, bytes int64)) (string, error) {
	r, err := c.fillIn(r)
	if err != nil {
		return "", err
	}
	return c.Host.Create(ctx, r, progress)
}

func (c *Client) fillIn(r Request) (Request, error) {
	if r.Repo == "" {
		r.Repo = c.Repo
	}
	r.TTY = true
	if len(r.Command) > 0 {
		if r.Agent == "" {
			r.Agent = "command"
		}
		return r, nil
	}
	if r.Agent == "command" || r.Agent == "" {
		return r, errors.New("no command given")
	}
	argv, err := c.AgentCommand(r.Agent, "", true)
	r.Command = argv
	return r, err
}

// Resume starts a session again; an empty command is the one before.
func (c *Client) Resume(ctx context.Context, id string, command []string, size isolate.Size) error {
	return c.Host.Resume(ctx, c.Root.Dir(id), Request{Command: command, TTY: true, Size: size})
}

// Stop ends everything inside a session.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.Host.Stop(ctx, c.Root.Dir(id))
}

// Remove deletes a session with its workspace.
func (c *Client) Remove(ctx context.Context, id string, force bool) error {
	return c.Host.Remove(ctx, c.Root.Dir(id), force)
}

// Frame waits for a newer picture of a session's terminal.
func (c *Client) Frame(ctx context.Context, id string, since uint64, offset int) (Frame, error) {
	return c.Host.Frame(ctx, c.Root.Dir(id), since, offset)
}

// ClipText gives what the inside wanted in the clipboard by its n-th request.
func (c *Client) ClipText(ctx context.Context, id string, n int) (string, error) {
	r, err := ask(ctx, c.Root.Dir(id), wire.Request{Op: wire.OpClip, Since: uint64(max(0, n))})
	if err != nil {
		return "", err
	}
	return r.Text, nil
}

// Keys presses keys in a session's terminal.
func (c *Client) Keys(ctx context.Context, id string, keys []Key) error {
	return c.Input(ctx, c.Root.Dir(id), keys, "", nil, nil)
}

// Paste pastes a text into a session's terminal.
func (c *Client) Paste(ctx context.Context, id, text string) error {
	return c.Input(ctx, c.Root.Dir(id), nil, text, nil, nil)
}

// Mouse passes a mouse event on to a session's terminal.
func (c *Client) Mouse(ctx context.Context, id string, m Mouse) error {
	return c.Input(ctx, c.Root.Dir(id), nil, "", &m, nil)
}

// Resize gives a session's terminal a new size.
func (c *Client) Resize(ctx context.Context, id string, size isolate.Size) error {
	return c.Input(ctx, c.Root.Dir(id), nil, "", nil, &size)
}

// ChangeSet gives the change set of the newest snapshot with its comments; fresh
// makes one. It counts as shown to a person. The first time, a session that has
// ended is shown by its last snapshot: nothing can have changed since, and taking
// another would only be waited for. For a live one see open.
func (c *Client) ChangeSet(ctx context.Context, id string, fresh bool) (*diffreview.ChangeSet, []diffreview.Comment, error) {
	d := c.Root.Dir(id)
	_, again := c.opened.LoadOrStore(id, true)
	if !again && fresh {
		fresh = !c.isFinal(ctx, d)
	}
	look := func() (*Review, error) { return c.Review(ctx, d, fresh, c.Ignored...) }
	if !again && fresh {
		look = func() (*Review, error) { return c.open(ctx, d) }
	}
	r, err := look()
	if err != nil {
		return nil, nil, err
	}
	return r.Set, r.Decisions.Comments, noteShown(d, r.Set)
}

// Decide records decisions, all or none.
func (c *Client) Decide(_ context.Context, id string, choices []Choice) error {
	return c.Host.Decide(c.Root.Dir(id), choices)
}

// Comment records a comment, or takes one back: see Host.Comment.
func (c *Client) Comment(_ context.Context, id string, what diffreview.Comment) (diffreview.Comment, error) {
	return c.Host.Comment(c.Root.Dir(id), what)
}

// Text gives a file's content out of the session's store, to show what is
// between hunks or for a hunk to be edited.
func (c *Client) Text(_ context.Context, id string, b diffreview.Blob) ([]byte, error) {
	return baseline.NewBlobs(baselineDirs(c.Root.Dir(id)).BlobsDir()).Read(b, MaxContent)
}

// Merges gives the files that host and agent both changed: see Host.Merges.
func (c *Client) Merges(ctx context.Context, id string) ([]Merge, error) {
	return c.Host.Merges(ctx, c.Root.Dir(id), ApplyOptions{Ignored: c.Ignored, To: c.To})
}

// Resolve records what was chosen for conflicts, all or none.
func (c *Client) Resolve(_ context.Context, id string, choices []ResolutionChoice) error {
	return c.Host.Resolve(c.Root.Dir(id), choices)
}

// PreviewApply says what an apply would write now, merges among it, and writes
// nothing.
func (c *Client) PreviewApply(ctx context.Context, id string) (Applied, []string, error) {
	a, err := c.Host.Apply(ctx, c.Root.Dir(id), ApplyOptions{DryRun: true, Merge: true, Ignored: c.Ignored, To: c.To})
	if errors.Is(err, ErrNothing) || errors.Is(err, ErrConflict) {
		err = nil
	}
	return a, a.Applied, err
}

// Apply writes what is approved to the host, all or nothing, and only what was
// shown: plan is Applied.Plan of a preview.
func (c *Client) Apply(ctx context.Context, id, plan string) (Applied, error) {
	a, err := c.Host.Apply(ctx, c.Root.Dir(id), ApplyOptions{Merge: true, Plan: plan, Ignored: c.Ignored, To: c.To})
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNothing) {
		err = nil // the lists say it
	}
	return a, err
}

// Undo takes the newest apply back.
func (c *Client) Undo(ctx context.Context, id string) (Applied, error) {
	a, err := c.Host.Undo(ctx, c.Root.Dir(id), "")
	if errors.Is(err, ErrConflict) {
		err = nil
	}
	return a, err
}
