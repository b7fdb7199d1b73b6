package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"fumehood/isolate/wire"
)

// Config is what a keeper is told.
type Config struct {
	Sources map[string]string // by account, as CheckSource takes them
	Env     map[string]string // the values of env: sources
	Home    string            // what ~/ stands for
	Never   []string          // folders that no file and no command may lie in: what a session can write to
	Path    string            // PATH of commands

	deadline, keep time.Duration // of commands; 0 is the default, tests have others
}

const (
	commandFor = 10 * time.Second // a command's deadline
	keepFor    = 30 * time.Second // a command's result
	startFor   = 10 * time.Second
	closeFor   = 2 * time.Second
)

// Keeper is the supervisor's end. Its goroutines end with Close. It may be used
// by several goroutines.
type Keeper struct {
	cmd    *exec.Cmd
	conn   *wire.Conn
	bound  time.Duration // of one question
	ended  chan struct{} // closed when nothing more comes from it
	reaped chan struct{}
	room   chan struct{} // full while maxAsks questions are unanswered

	mu   sync.Mutex
	next uint64
	open map[uint64]chan answer // unanswered questions
}

var errEnded = errors.New("the keeper of credentials has ended")

// StartKeeper starts a keeper, before the caller confines itself, and returns
// when it is ready.
func StartKeeper(cfg Config) (*Keeper, error) {
	set, err := cfg.setup()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, fmt.Errorf("start the keeper of credentials: %w", err)
	}
	file := os.NewFile(uintptr(theirs), "keeper")
	k := &Keeper{bound: set.Deadline + 5*time.Second, ended: make(chan struct{}), reaped: make(chan struct{}), room: make(chan struct{}, maxAsks), open: map[uint64]chan answer{}}
	if k.conn, err = wire.New(ours, "keeper", maxAnswer); err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper of credentials: %w", err), file.Close())
	}
	err = k.start(file)
	_ = file.Close() // the keeper has its own, and its end must be seen
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper of credentials: %w", err), k.conn.Close())
	}
	if err := k.ready(set); err != nil {
		_ = k.conn.Close() // the keeper is told by its end
		_ = k.cmd.Process.Kill()
		<-k.reaped
		return nil, fmt.Errorf("start the keeper of credentials: %w", err)
	}
	go k.read()
	return k, nil
}

// setup checks a Config and leaves out what no source asks for.
func (cfg Config) setup() (setup, error) {
	set := setup{
		Sources: cfg.Sources, Env: map[string]string{}, Home: cfg.Home, Never: cfg.Never, Path: cfg.Path,
		Deadline: commandFor, Keep: keepFor,
	}
	if cfg.deadline > 0 {
		set.Deadline = cfg.deadline
	}
	if cfg.keep > 0 {
		set.Keep = cfg.keep
	}
	for _, dir := range append([]string{cfg.Home}, cfg.Never...) {
		if !filepath.IsAbs(dir) {
			return setup{}, fmt.Errorf("start the keeper of credentials: %q is not an absolute path", dir)
		}
	}
	for name, s := range cfg.Sources {
		if len(name) > maxName {
			return setup{}, errors.New("start the keeper of credentials: the name of an account is too long")
		}
		src, err := parse(s)
		if err != nil {
			return setup{}, fmt.Errorf("account %q: %w", name, err)
		}
		if v, ok := cfg.Env[src.name]; ok && src.kind == kindEnv {
			set.Env[src.name] = v
		}
	}
	return set, nil
}

func (k *Keeper) start(file *os.File) error {
	k.cmd = exec.Command("/proc/self/exe", arg)
	k.cmd.Args[0] = "fumehood"
	k.cmd.Env = []string{"GOMAXPROCS=1"}
	k.cmd.Dir = "/"
	k.cmd.ExtraFiles = []*os.File{file}
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	started := make(chan error)
	go func() {
		// To the kernel its parent is this thread, whose end would kill it.
		runtime.LockOSThread()
		err := k.cmd.Start()
		started <- err
		if err == nil {
			_ = k.cmd.Wait() // how it ended says nothing
		}
		close(k.reaped)
	}()
	return <-started
}

func (k *Keeper) ready(set setup) error {
	if err := k.conn.Send(set); err != nil {
		return err
	}
	if err := k.conn.SetReadDeadline(time.Now().Add(startFor)); err != nil {
		return err
	}
	var a answer
	if fds, err := k.conn.Recv(&a); err != nil || len(fds) > 0 || a.ID != 0 {
		return errors.New("it does not answer")
	}
	if a.Err != "" {
		return errors.New(a.Err)
	}
	return k.conn.SetReadDeadline(time.Time{})
}

// read hands answers to whoever asked.
func (k *Keeper) read() {
	defer close(k.ended)
	for {
		var a answer
		if fds, err := k.conn.Recv(&a); err != nil || len(fds) > 0 {
			return
		}
		k.mu.Lock()
		to := k.open[a.ID]
		delete(k.open, a.ID)
		k.mu.Unlock()
		if to != nil {
			<-k.room
			to <- a // it has room for one
		}
	}
}

// Secret reads an account's secret. An error names the account and the kind of
// its source, and nothing of what was read.
func (k *Keeper) Secret(ctx context.Context, name string) (string, error) {
	if len(name) > maxName {
		return "", errors.New("the name of an account is too long")
	}
	ctx, cancel := context.WithTimeout(ctx, k.bound)
	defer cancel()
	unanswered := func(err error) error {
		return fmt.Errorf("account %q: no answer from the keeper of credentials: %w", name, err)
	}
	select {
	case k.room <- struct{}{}:
	case <-k.ended:
		return "", fmt.Errorf("account %q: %w", name, errEnded)
	case <-ctx.Done():
		return "", unanswered(ctx.Err())
	}
	// Whoever gives up leaves the question open: its answer still comes.
	to := make(chan answer, 1)
	k.mu.Lock()
	k.next++
	id := k.next
	k.open[id] = to
	k.mu.Unlock()
	if k.conn.Send(ask{ID: id, Name: name}) != nil {
		return "", fmt.Errorf("account %q: %w", name, errEnded)
	}
	select {
	case a := <-to:
		if a.Err != "" {
			return "", errors.New(a.Err)
		}
		return a.Secret, nil
	case <-k.ended:
		return "", fmt.Errorf("account %q: %w", name, errEnded)
	case <-ctx.Done():
		return "", unanswered(ctx.Err())
	}
}

// Stale says that a destination refused an account's secret: the next Secret
// asks its command again.
func (k *Keeper) Stale(name string) {
	_ = k.conn.Send(ask{Name: name, Stale: true}) // a keeper that has ended keeps nothing
}

// Close ends the keeper and what it runs, and waits for that, within bounds;
// more than once does no harm.
func (k *Keeper) Close() {
	_ = k.conn.Close() // which ends it
	<-k.ended
	for range 2 {
		select {
		case <-k.reaped:
			return
		case <-time.After(closeFor):
			_ = k.cmd.Process.Kill() // gone already, mostly
		}
	}
}
