package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
	"fumehood/session/store"
)

// sessions is fumehood itself as a target: every room is a session like an
// agent's, made and ended by the same calls.
type sessions struct {
	e *env
	// names changes what the names of destinations stand for; nil leaves it.
	names func(*session.StandIn)
}

func (*sessions) kind() kind { return ours }

// open starts a session whose own command is a probe that waits, so that it
// stays, and puts the probe's file into its home before.
func (t *sessions) open(ctx context.Context, pol *policy.Policy) (room, error) {
	e := t.e
	e.rooms++
	file := filepath.Join(e.dir, fmt.Sprintf("policy-%d.toml", e.rooms))
	if err := atomicfile.Write(file, policy.Encode(pol), 0o600); err != nil {
		return nil, fmt.Errorf("policy of a session: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%d", probe.Name, e.id, e.rooms)
	// At the top of the home: the account's own ~/.local/bin may lie over that of
	// the session, as a toolchain.
	s := &sess{e: e, path: isolate.HomeInside + "/" + name}
	dest, err := e.far()
	if err != nil {
		return nil, err
	}
	s.stand = dest.stand(e.omit)
	if t.names != nil {
		t.names(s.stand)
	}
	id, err := e.host.Create(ctx, session.Request{
		Repo: e.repo, Policy: file, Agent: "command", Name: fmt.Sprintf("walls-%d", e.rooms), Command: []string{s.path}, Hold: true, Bound: true, Proving: true, Stand: s.stand,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	s.dir = e.host.Root.Dir(id)
	if err := s.begin(ctx, name); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// sess is one session.
type sess struct {
	e     *env
	dir   store.Dir
	path  string // of the probe, inside
	pid   int    // of the sandbox's first process
	stand *session.StandIn
	quit  *os.File
	ended chan struct{}
}

func (s *sess) begin(ctx context.Context, name string) error {
	rec, err := s.dir.LoadRecord()
	if err != nil {
		return err
	}
	if err := copyProgram(filepath.Join(s.dir.Home(), name), rec.UID, rec.GID); err != nil {
		return err
	}
	return s.attach(ctx)
}

// again stops the session and resumes it on the same workspace and home.
func (s *sess) again(ctx context.Context) error {
	if err := s.e.host.Stop(ctx, s.dir); err != nil {
		return err
	}
	<-s.ended
	_ = s.quit.Close() // nobody reads it any more
	s.quit = nil
	if err := s.e.host.Resume(ctx, s.dir, session.Request{Command: []string{s.path}, Hold: true, Bound: true, Proving: true, Stand: s.stand}); err != nil {
		return fmt.Errorf("resume the session: %w", err)
	}
	return s.attach(ctx)
}

// attach lets the session's command begin, and finds it on the host.
func (s *sess) attach(ctx context.Context) error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe for a session's command: %w", err)
	}
	s.quit, s.ended = inW, make(chan struct{})
	out := &sink{said: map[int]probe.Said{}, hello: make(chan probe.Hello, 1), word: make(chan struct{}, 1)}
	failure := make(chan error, 1)
	go func() {
		defer close(s.ended)
		defer inR.Close()
		_, err := session.Attach(context.WithoutCancel(ctx), s.dir, session.Streams{In: inR, Out: out, Err: out})
		failure <- err
	}()
	select {
	case hello := <-out.hello:
		pid, err := findProbe(s.path, hello.PID)
		if err != nil {
			return err
		}
		if s.pid, err = firstOf(pid); err != nil {
			return err
		}
	case err := <-failure:
		return errors.Join(fmt.Errorf("the session's command ended at once: %q", tail(out.bytes())), err)
	case <-ctx.Done():
		return ctx.Err()
	}
	d, err := s.e.host.DetailOf(ctx, s.dir)
	if err != nil {
		return err
	}
	if s.e.layers == nil {
		s.e.layers = d.Layers
	}
	return nil
}

func (s *sess) probe(ctx context.Context, job probe.Job, o how) (*ran, error) {
	return talk(ctx, job, o, s.path, func(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
		end, err := session.Exec(ctx, s.dir, session.Execed{Argv: []string{s.path}}, session.Streams{In: in, Out: out, Err: out})
		if err != nil {
			return "", err
		}
		switch {
		case end.Limit != nil:
			return fmt.Sprintf("limit %s of %s, used %s", end.Limit.Name, end.Limit.Value, end.Limit.Used), nil
		case end.Signal != 0:
			return "signal " + session.SignalName(end.Signal), nil
		case end.Error != "":
			return end.Error, nil
		}
		return fmt.Sprintf("exit %d", end.Code), nil
	})
}

// stay runs a probe that is told nothing more after its job, and waits for quit
// before it ends it. planted is told once all of the job was made.
func (s *sess) stay(ctx context.Context, job probe.Job, planted chan<- error, quit <-chan struct{}) error {
	job.Stay = true
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe for a probe: %w", err)
	}
	defer r.Close()
	text, err := json.Marshal(job)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	out := &sink{said: map[int]probe.Said{}, hello: make(chan probe.Hello, 1), word: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		_, err := session.Exec(ctx, s.dir, session.Execed{Argv: []string{s.path}}, session.Streams{In: r, Out: out, Err: out})
		ended <- err
	}()
	go func() { _, _ = w.Write(append(text, '\n')) }() // a probe that has ended shows below
	for told := false; ; {
		select {
		case <-out.word:
			out.mu.Lock()
			done, said := out.done, out.said[0]
			out.mu.Unlock()
			if done && !told {
				told = true
				var err error
				if said.Err != "" {
					err = errors.New(said.Err)
				}
				planted <- err
			}
		case err := <-ended:
			return errors.Join(err, w.Close())
		case <-quit:
			quit = nil
			_ = w.Close() // the end of its input ends it
		}
	}
}

// nested starts fumehood itself in the session, with a command that leaves a
// marker, and gives its exit status and output.
func (s *sess) nested(ctx context.Context, mark string) (int, string, error) {
	rec, err := s.dir.LoadRecord()
	if err != nil {
		return 0, "", err
	}
	const name = "fumehood"
	if err := copyProgram(filepath.Join(s.dir.Home(), name), rec.UID, rec.GID); err != nil {
		return 0, "", err
	}
	out := &sink{hello: make(chan probe.Hello, 1), word: make(chan struct{}, 1)}
	end, err := session.Exec(ctx, s.dir, session.Execed{Argv: []string{isolate.HomeInside + "/" + name, "run", "--repo", s.e.repo, "--", "/bin/sh", "-c", "echo began > marker-" + mark}},
		session.Streams{Out: out, Err: out})
	if err != nil {
		return 0, "", err
	}
	return end.Code, string(out.bytes()), nil
}

func (s *sess) workspace() (host, inside string) { return s.dir.Workspace(), s.e.repo }
func (s *sess) home() string                     { return isolate.HomeInside }
func (s *sess) first() int                       { return s.pid }

// close ends the session and removes it; more than once does no harm.
func (s *sess) close(ctx context.Context) error {
	if s.quit != nil {
		_ = s.quit.Close() // the probe's standard input ends, and it with it
		s.quit = nil
	}
	if _, err := os.Lstat(string(s.dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := s.e.host.Remove(ctx, s.dir, true)
	if s.ended != nil && err == nil {
		<-s.ended
	}
	return err
}

// copyProgram puts fumehood's own program where a sandbox can run it.
func copyProgram(to string, uid, gid int) error {
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("copy the probe: %w", err)
	}
	defer src.Close()
	// What this process starts while the file is open for writing would hold it
	// open, too, for a moment, in which it can't be run (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	// Where it goes nothing has run yet, so that nothing hostile lies there.
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o755)
	if err != nil {
		return fmt.Errorf("copy the probe: %w", err)
	}
	_, err = io.Copy(dst, src)
	if os.Getuid() == 0 && uid >= 0 {
		err = errors.Join(err, dst.Chown(uid, gid))
	}
	err = errors.Join(err, dst.Chmod(0o755), dst.Close())
	if err != nil {
		return fmt.Errorf("copy the probe: %w", err)
	}
	return nil
}

// firstOf is the process above pid that is the first of its namespace, as the
// host numbers it.
func firstOf(pid int) (int, error) {
	for range 64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		parent := 0
		for line := range strings.Lines(string(text)) {
			k, v, _ := strings.Cut(line, ":")
			f := strings.Fields(v)
			switch {
			case k == "PPid" && len(f) == 1:
				if parent, err = strconv.Atoi(f[0]); err != nil {
					return 0, err
				}
			case k == "NSpid" && len(f) > 1 && f[len(f)-1] == "1":
				return pid, nil
			}
		}
		if parent <= 1 {
			break
		}
		pid = parent
	}
	return 0, fmt.Errorf("no first process above %d", pid)
}
