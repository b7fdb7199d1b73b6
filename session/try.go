package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/isolate/egress/account"
	"fumehood/isolate/policy"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
	"fumehood/session/workspace"
)

// TryRequest is a command for a try. Without Follow its streams are captured:
// nil ones are empty and dropped.
type TryRequest struct {
	Argv           []string
	From           string        // the host's folder that it starts in the likes of; see StartFolder
	Timeout        time.Duration // instead of limits.run_time when not 0
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Progress       Progress
	// Follow connects the caller to the command until its end, where streams
	// won't do: TTY, Term and Size are then those of its terminal.
	Follow func(ctx context.Context, d store.Dir) (*wire.End, error)
	TTY    bool
	Term   string
	Size   isolate.Size
}

// Tried is how a try ended.
type Tried struct {
	Code, Signal int // of the command
	Limit        *wire.Limit
	Output       string // the tail, cleaned for the screen
	Wall         time.Duration
	Left         []PathWhy // what the session had and the try had not
	Session      string    // the try's own, removed by now
	End          wire.End
	Trial        diffreview.Trial // as recorded
	Egress       Egress
	Hint         string // why a command was not found, and what to do
	changed      []diffreview.Outcome
}

// ErrNothingToTry says that nothing is approved.
var ErrNothingToTry = errors.New("nothing is approved, so there is nothing to try")

// errTryLeft says that the caller left before the command's end.
var errTryLeft = errors.New("left before the command's end; it was ended, and the try removed")

// Try runs a command in a fresh workspace of the session's baseline plus what is
// approved of its newest snapshot, behind the same walls: the session's frozen
// policy, toolchains and caches, with a home and layers of its own. The session's
// workspace has no part in it. What it ran in is removed at the end. How it ended
// is on the session's record; what the command itself wrote comes back nowhere.
//
// An error means that the command did not run, or that nobody saw its end.
func (h *Host) Try(ctx context.Context, d store.Dir, req TryRequest) (*Tried, error) {
	if len(req.Argv) == 0 {
		return nil, errors.New("no command given")
	}
	r, err := h.Review(ctx, d, false)
	if err != nil {
		return nil, err
	}
	if r.Record.TryOf != "" {
		return nil, errIsTry(d, r.Record)
	}
	changed, err := approvedOutcomes(ctx, r)
	if err != nil {
		return nil, err
	}
	hash := r.Set.ApprovedHash()
	if hash == "" || len(changed) == 0 {
		return nil, ErrNothingToTry
	}
	if err := h.stillProven(d); err != nil {
		return nil, err
	}
	_, _, _ = h.sweepTries(ctx, func(rec *store.Record) bool { return rec.TryOf == d.ID() }) // prune tells what stays
	out, err := h.try(ctx, d, r, changed, req)
	if out == nil {
		return nil, err
	}
	out.changed = changed
	out.Trial = trialOf(out, hash, req.Argv, err)
	out.Trial.By, out.Trial.TTY, out.Trial.At = h.User, h.TTY, time.Now().UTC()
	return out, errors.Join(err, h.recordTrial(d, out))
}

// approvedOutcomes is every path that what is approved changes.
func approvedOutcomes(ctx context.Context, r *Review) ([]diffreview.Outcome, error) {
	var out []diffreview.Outcome
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		some, err := diffreview.Outcomes(f, r.Content)
		if err != nil {
			return nil, fmt.Errorf("approved part of %s: %w", diffreview.SafeName(f.Path), err)
		}
		out = append(out, some...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// try makes the throw-away session, runs the command in it and removes it. Tried
// is nil unless its walls were closed.
func (h *Host) try(ctx context.Context, d store.Dir, r *Review, changed []diffreview.Outcome, req TryRequest) (out *Tried, err error) {
	td, err := h.Root.Create()
	if err != nil {
		return nil, err
	}
	release, err := td.HoldTry()
	if err != nil {
		return nil, errors.Join(err, workspace.Remove(string(td)))
	}
	defer release()
	defer func() {
		// Whatever ended this, a cancelled caller too, takes it away.
		rmCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTryWithin)
		defer cancel()
		if rmErr := h.Remove(rmCtx, td, true); rmErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the try: %w; \"fumehood prune\" does", rmErr))
		}
	}()
	unlock, err := td.Lock()
	if err != nil {
		return nil, err
	}
	left, err := h.fillTry(ctx, d, td, r, changed, req)
	unlock()
	if err == nil {
		err = h.launchWith(ctx, td, nil, nil)
	}
	if err != nil {
		return nil, err
	}
	out = &Tried{Session: td.ID(), Left: left}
	follow := req.Follow
	if follow == nil {
		follow = func(ctx context.Context, d store.Dir) (*wire.End, error) {
			return Attach(ctx, d, Streams{In: req.Stdin, Out: orDiscard(req.Stdout), Err: orDiscard(req.Stderr)})
		}
	}
	begin := time.Now()
	end, err := follow(ctx, td)
	out.Wall = time.Since(begin)
	if errors.Is(err, ErrDetached) {
		err = errTryLeft
	}
	out.Output = outputTail(td)
	out.Egress.Allowed, out.Egress.Refused = h.counts(td)
	if err != nil {
		return out, err
	}
	out.End, out.Code, out.Signal, out.Limit = *end, end.Code, end.Signal, end.Limit
	out.Hint = h.Missing(td, end.Code, end.Began)
	return out, nil
}

// removeTryWithin bounds the removal of a try whose caller may have gone.
const removeTryWithin = time.Minute

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// fillTry lays the workspace out and records what the supervisor needs, as fill
// does for a session.
func (h *Host) fillTry(ctx context.Context, d, td store.Dir, r *Review, changed []diffreview.Outcome, req TryRequest) ([]PathWhy, error) {
	st, err := d.LoadStart()
	if err != nil {
		return nil, err
	}
	pol, err := frozen(d, r.Record)
	if err != nil {
		return nil, err
	}
	base, err := baseline.Load(baselineDirs(d))
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	mark, err := account.Random(account.MarkLen)
	if err != nil {
		return nil, err
	}
	rec := tryRecord(r.Record, td.ID(), req, mark)
	rec.UID, rec.GID, rec.User = h.insideIDs(td.ID())
	var own *workspace.Owner
	if h.UID == 0 {
		own = &workspace.Owner{UID: rec.UID, GID: rec.GID}
	}
	p := &Prepared{Policy: pol, Repo: &workspace.Repo{Root: rec.Repo}}
	if repo, err := workspace.Inspect(ctx, rec.Repo, h.Home); err == nil {
		p.Repo = repo // for the author's name; the folder may be gone
	}
	if err := h.readOnly(p); err != nil {
		return nil, err
	}
	if err := h.seedHome(td.Home(), own, p, mark); err != nil {
		return nil, fmt.Errorf("make the try's home: %w", err)
	}
	left := h.tryCaches(p, st)
	if err := prepareCaches(td, p.Caches, rec.UID, rec.GID); err != nil {
		return nil, err
	}
	laid, err := workspace.Lay(ctx, workspace.Source{
		Of: baselineDirs(d), Base: base, Repo: rec.Repo, Git: rec.GitDir != "", Changed: changed,
	}, workspace.Target{Dirs: baselineDirs(td), Own: own, Progress: workspace.Progress(req.Progress)})
	if err != nil {
		return nil, err
	}
	for _, l := range laid.LeftOut {
		left = append(left, PathWhy{l.Path, l.Reason})
	}
	rec.Files, rec.Bytes = laid.Files, laid.Bytes
	src, err := readPrivate(d.Policy())
	if err != nil {
		return nil, err
	}
	if err := writePrivate(td.Policy(), src); err != nil {
		return nil, err
	}
	tenant, err := readPrivate(d.Tenant())
	if err != nil {
		return nil, err
	}
	if err := writePrivate(td.Tenant(), tenant); err != nil {
		return nil, err
	}
	if err := td.SaveRecord(rec); err != nil {
		return nil, err
	}
	if err := td.AppendEvent(time.Now(), "created", "laid out for a try of "+d.ID(), map[string]any{"by": h.User, "tty": h.TTY, "of": d.ID()}); err != nil {
		return nil, err
	}
	start, note := tryStart(st, p, req), ""
	if start.Folder, note = StartFolder(td, rec.Repo, req.From); note != "" {
		left = append(left, PathWhy{".", note})
	}
	return left, td.SaveStart(start)
}

// tryCaches keeps of the account's caches those that the session has, each to get
// a layer of its own, and names those that can't be found again.
func (h *Host) tryCaches(p *Prepared, st *store.Start) (left []PathWhy) {
	found := p.Caches
	p.Caches = nil
	for _, c := range st.Caches {
		i := slices.IndexFunc(found, func(f policy.Cache) bool { return f.Name == c.Name && f.Real == c.Host && f.Path == c.Inside })
		if i < 0 {
			left = append(left, PathWhy{c.Inside, "the cache is not there any more"})
			continue
		}
		p.Caches = append(p.Caches, found[i])
	}
	return left
}

func tryRecord(of *store.Record, id string, req TryRequest, mark string) *store.Record {
	return &store.Record{
		ID: id, Name: "try-" + of.Name, TryOf: of.ID, Repo: of.Repo, RepoDev: of.RepoDev, RepoIno: of.RepoIno,
		GitDir: of.GitDir, GitDev: of.GitDev, GitIno: of.GitIno, Branch: of.Branch, Head: of.Head, HooksPath: of.HooksPath, ObjectFormat: of.ObjectFormat,
		PolicyName: of.PolicyName, PolicyHash: of.PolicyHash, PolicyBase: of.PolicyBase, Agent: "command",
		Mark: mark, Command: req.Argv, TTY: req.TTY, State: StatePreparing, Created: time.Now().UTC(),
	}
}

func tryStart(of *store.Start, p *Prepared, req TryRequest) *store.Start {
	env := slices.Clone(of.Env)
	if req.Term != "" {
		env = append(slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }), "TERM="+req.Term)
	}
	return &store.Start{
		Command: req.Argv, Env: env, TTY: req.TTY, Cols: req.Size.Cols, Rows: req.Size.Rows, Hold: true, Bound: true, RunTime: req.Timeout,
		HostHome: of.HostHome, ReadOnly: of.ReadOnly, Caches: cacheMounts(p.Caches),
	}
}

func errIsTry(d store.Dir, rec *store.Record) error {
	return fmt.Errorf("%s is a try of session %s, not a session", d.ID(), rec.TryOf)
}

// outputTailBytes is how much of a try's output is shown.
const outputTailBytes = 64 << 10

// outputTail is the end of a session's stored output, as it may be shown.
func outputTail(d store.Dir) string {
	var tail []byte
	err := d.ReadOutput(func(_ store.Stream, p []byte) error {
		tail = append(tail, p...)
		if len(tail) > 2*outputTailBytes {
			tail = append(tail[:0], tail[len(tail)-outputTailBytes:]...)
		}
		return nil
	}, func(int64) error { return nil })
	if err != nil {
		return fmt.Sprintf("[fumehood: the stored output can't be read: %v]\n", err)
	}
	if len(tail) > outputTailBytes {
		tail = tail[len(tail)-outputTailBytes:]
		if i := strings.IndexByte(string(tail), '\n'); i >= 0 {
			tail = tail[i+1:]
		}
	}
	c := NewCutter(0)
	_, _ = c.Write([]byte(ansi.Strip(string(tail)))) // a Cutter's Write never fails
	return c.Text().Text
}

// sweepTries removes tries that nobody runs any more: their caller was killed.
func (h *Host) sweepTries(ctx context.Context, fits func(*store.Record) bool) (removed []string, kept []PathWhy, err error) {
	dirs, err := h.Root.List()
	if err != nil {
		return nil, nil, err
	}
	for _, d := range dirs {
		rec, err := d.LoadRecord()
		if err != nil || rec.TryOf == "" || !fits(rec) {
			continue // a record that can't be read is a session's, for all that is known
		}
		if d.TryHeld() {
			kept = append(kept, PathWhy{d.ID(), "it is a try that runs"})
			continue
		}
		if err := h.Remove(ctx, d, true); err != nil && !errors.Is(err, os.ErrNotExist) {
			kept = append(kept, PathWhy{d.ID(), err.Error()})
			continue
		}
		removed = append(removed, d.ID())
	}
	return removed, kept, nil
}
