package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/egress"
	"fumehood/isolate/layer"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// env is one run: where it keeps its things and what it is pointed at.
type env struct {
	host   *session.Host // with a folder of sessions of its own
	real   *session.Host // the account's
	pol    *policy.Policy
	target target
	tell   func(walls.Event)
	test   int // the one that runs

	dir    string // the run's own folder, in the state folder
	lock   *os.File
	repo   string // a throw-away repository
	id     string // random, part of every name that the run makes
	token  string // made-up text in every canary: it must never come out
	secret string // the made-up credential
	layers []layer.Fact

	ready   bool // newEnv is done with it
	rooms   int  // opened so far
	planted []string
	open    []room // not closed yet
	common  room   // see shared

	// strict are the controls that another's sandbox refuses as well.
	strict map[string]bool

	// once makes each attempt under the tracer alone, and loosen changes the
	// policy of what is started but not of what is judged; both are Mutate's.
	once   bool
	loosen func(*policy.Policy)

	// dest is what the policy's destinations are here, and omit the part of the
	// proxy that Mutate leaves out.
	destMu sync.Mutex
	dest   *destination
	omit   egress.Part
}

// newEnv makes the run's folder and everything that all tests use.
func newEnv(ctx context.Context, h *session.Host, r walls.Run, tell func(walls.Event)) (*env, error) {
	pol, _, err := policy.Find(r.Policy, h.Config)
	if err != nil {
		return nil, err
	}
	if errs := policy.Check(pol); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	_, id := nonce()
	e := &env{real: h, pol: pol, tell: tell, id: id, strict: map[string]bool{}}
	if e.tell == nil {
		e.tell = func(walls.Event) {}
	}
	_, a := nonce()
	_, b := nonce()
	e.token, e.secret = "fhc"+a, "fhs"+b
	base := filepath.Join(filepath.Dir(string(h.Root)), "walls")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of wall tests: %w", err)
	}
	turn, err := takeTurn(base)
	if err != nil {
		return nil, err
	}
	defer turn.Close() // which gives the turn to the next
	if err := sweep(base); err != nil {
		return nil, err
	}
	e.dir = filepath.Join(base, "run-"+id)
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of this run: %w", err)
	}
	if e.lock, err = os.OpenFile(filepath.Join(e.dir, "lock"), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600); err == nil {
		err = unix.Flock(int(e.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of this run: %w", err), e.close())
	}
	e.host = &session.Host{
		Root: store.Root(filepath.Join(e.dir, "sessions")), Config: h.Config, Home: h.Home, User: h.User, UID: h.UID, GID: h.GID, TTY: h.TTY,
		Env: append(withAgents(h.Env, id), secretName+"="+e.secret),
	}
	// What a starter ignores stays ignored across every exec: so there is
	// something that must not be handed on.
	signal.Ignore(ignoredSignal)
	if err := e.makeRepo(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.target, err = e.newTarget(r); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.ready = true
	return e, nil
}

// takeTurn waits until no other run makes or removes its folder: one that is not
// locked yet, or no longer, would look like what a killed run has left. Closing
// the file ends the turn.
func takeTurn(base string) (*os.File, error) {
	turn, err := os.OpenFile(filepath.Join(base, "turn"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("wait for another run of the wall tests: %w", err)
	}
	if err := unix.Flock(int(turn.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another run of the wall tests: %w", err), turn.Close())
	}
	return turn, nil
}

// ignoredSignal is one that nobody sends here.
const ignoredSignal = unix.SIGTTOU

// secretName is the variable that holds the made-up credential where a sandbox
// is started from. It looks like one.
const secretName = "FUMEHOOD_CANARY_API_TOKEN"

func (e *env) newTarget(r walls.Run) (target, error) {
	if len(r.Against) > 0 {
		return newForeign(e, r.Against)
	}
	return &sessions{e: e}, nil
}

// record begins the run's record.
func (e *env) record(now time.Time) (*walls.Record, error) {
	shape, err := e.real.Shape(e.pol)
	if err != nil {
		return nil, err
	}
	rec := &walls.Record{
		Version: walls.RecordVersion, Policy: e.pol.Name, PolicyHash: policy.Hash(e.pol),
		Shape: shape, ShapeHash: shape.Hash(), Kernel: shape.Kernel, Build: shape.Build,
		Date: now.UTC().Truncate(time.Second), By: e.real.User, Tests: []walls.Result{}, Layers: []layer.Fact{}, Left: []string{},
	}
	if f, ok := e.target.(*command); ok {
		rec.Against = strings.Join(f.words, " ")
	}
	return rec, nil
}

// plant makes a folder for targets at a place on the host and remembers it.
func (e *env) plant(parent string) (string, error) {
	dir := filepath.Join(parent, "fumehood-canary-"+e.id)
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	e.planted = append(e.planted, dir)
	// Told to the next run before anything lies in it, should this one be killed.
	return dir, atomicfile.Write(filepath.Join(e.dir, "planted"), []byte(strings.Join(e.planted, "\n")), 0o600)
}

// canary makes a file with the token in it, at a place outside every mount.
func (e *env) canary(parent, name string) (string, error) {
	dir, err := e.plant(parent)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return path, atomicfile.Write(path, []byte("token = "+e.token+"\n"), 0o644)
}

// openRoom makes a sandbox that close ends if nobody else did.
func (e *env) openRoom(ctx context.Context, pol *policy.Policy) (room, error) {
	if e.loosen != nil {
		looser := *pol
		e.loosen(&looser)
		pol = &looser
	}
	rm, err := e.target.open(ctx, pol)
	if err != nil {
		return nil, err
	}
	e.open = append(e.open, rm)
	return rm, nil
}

// lasting is the policy under test with clocks that do not end a session in the
// middle of a test. The clocks have one of their own, with the policy's numbers.
func (e *env) lasting() *policy.Policy {
	pol := *e.pol
	for _, clock := range []*time.Duration{&pol.Limits.RunTime, &pol.Limits.SessionTime, &pol.Lifecycle.Idle} {
		if *clock > 0 {
			*clock = max(*clock, lastingFor)
		}
	}
	// Nor may what a test asks for use up what an entry allows in all.
	pol.Network.Allow = slices.Clone(pol.Network.Allow)
	for i := range pol.Network.Allow {
		a := &pol.Network.Allow[i]
		if a.PerMinute > 0 {
			a.PerMinute = max(a.PerMinute, 6000)
		}
		if a.MaxUpload > 0 {
			a.MaxUpload = max(a.MaxUpload, 1<<20)
		}
	}
	return &pol
}

const lastingFor = 10 * time.Minute

// shared is one sandbox with the policy under test for every test that leaves
// nothing in it that could mislead another.
func (e *env) shared(ctx context.Context) (room, error) {
	if e.common == nil {
		rm, err := e.openRoom(ctx, e.lasting())
		if err != nil {
			return nil, err
		}
		e.common = rm
	}
	return e.common, nil
}

// close ends every sandbox and takes away all that the run made.
func (e *env) close() error {
	// A run that was interrupted has to clean up all the same.
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	signal.Reset(ignoredSignal)
	var all []error
	for _, rm := range e.open {
		all = append(all, rm.close(ctx))
	}
	if e.dest != nil {
		all = append(all, e.dest.srv.Close())
		e.dest = nil
	}
	for _, dir := range e.planted {
		all = append(all, workspace.Remove(dir))
	}
	if e.dir != "" {
		// Within newEnv, which has the turn, nobody else can be at it.
		if e.ready {
			if turn, err := takeTurn(filepath.Dir(e.dir)); err != nil {
				all = append(all, err)
			} else {
				defer turn.Close()
			}
		}
		all = append(all, workspace.Remove(e.dir))
	}
	if e.lock != nil {
		_ = e.lock.Close() // the file is gone; nothing more depends on it
	}
	return errors.Join(all...)
}

// left looks for what the run has left on the host.
func (e *env) left() []string {
	var out []string
	for _, path := range append([]string{e.dir}, e.planted...) {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, "the folder "+path)
		}
	}
	procs, err := processesOf(e.id)
	// A supervisor whose session has ended may not have.
	for end := time.Now().Add(goneWithin); len(procs) > 0 && time.Now().Before(end) && hogPause(context.Background(), lookEvery); {
		procs, err = processesOf(e.id)
	}
	if err != nil {
		out = append(out, "the process table can't be read: "+err.Error())
	}
	for _, p := range procs {
		out = append(out, "the process "+p)
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), e.id) {
		out = append(out, "a mount below "+e.dir)
	}
	return out
}

// processesOf lists the host's processes whose command line holds a word.
func processesOf(word string) ([]string, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var out []string
	self := fmt.Sprintf("/proc/%d", os.Getpid())
	for _, d := range dirs {
		text, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil || d == self || !strings.Contains(string(text), word) {
			continue // gone, or another's
		}
		out = append(out, fmt.Sprintf("%s %q", filepath.Base(d), strings.ReplaceAll(string(text), "\x00", " ")))
	}
	return out, nil
}

// sweep takes away what runs that were killed have left. A run that goes on
// holds its lock.
func sweep(base string) error {
	old, err := filepath.Glob(filepath.Join(base, "run-*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at an earlier run of the wall tests: %w", err)
		}
		if lock != nil {
			busy := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
			if busy {
				_ = lock.Close() // only looked at
				continue
			}
		}
		err = sweepOne(dir)
		if lock != nil {
			_ = lock.Close() // the file is gone
		}
		if err != nil {
			return fmt.Errorf("take away an earlier run of the wall tests: %w", err)
		}
	}
	return nil
}

// endProcesses ends what a run that was killed has left running: supervisors,
// whose sandboxes go with them, and helpers. Each has the run's random name in
// its command line.
func endProcesses(id string) error {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left, err := processesOf("run-" + id)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("what an earlier run has left does not end: %s", strings.Join(left, ", "))
		}
		for _, p := range left {
			var pid int
			if _, err := fmt.Sscan(p, &pid); err != nil {
				return err
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
				return err
			}
		}
	}
}

func sweepOne(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "planted"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	id := strings.TrimPrefix(filepath.Base(dir), "run-")
	if err := endProcesses(id); err != nil {
		return err
	}
	for _, p := range strings.Split(string(text), "\n") {
		// Only what is named as this run would have named it.
		if filepath.IsAbs(p) && filepath.Base(p) == "fumehood-canary-"+id {
			if err := workspace.Remove(p); err != nil {
				return err
			}
		}
	}
	return workspace.Remove(dir)
}
