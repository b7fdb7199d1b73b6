package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/wire"
)

// launch is a start under way, and what has to be given back if it fails.
type launch struct {
	spec   Spec
	plan   *plan.Plan
	mounts []*os.File // detached, when root starts
	stderr *tail
}

// Start closes the walls and returns when all are closed and were seen closed.
// It takes some ten milliseconds. Ending ctx before it returns ends the start;
// afterwards ctx means nothing. The caller guarantees that workspace and home
// belong to Spec.UID and GID and that Spec.Canary is empty.
func Start(ctx context.Context, spec Spec) (*Sandbox, error) {
	l := &launch{spec: spec}
	defer func() {
		for _, f := range l.mounts {
			_ = f.Close() // the stage has its own
		}
	}()
	if err := l.compile(); err != nil {
		return nil, err
	}
	s, err := l.begin()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() }) // seen as an end of file below
	err = l.close(s)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("start was ended: %w", context.Cause(ctx))
		}
		return nil, errors.Join(err, s.Kill())
	}
	s.run()
	return s, nil
}

func (l *launch) compile() error {
	spec := l.spec
	if uid := os.Getuid(); uid != 0 && (spec.UID != uid || spec.GID != os.Getgid()) {
		return fmt.Errorf("session ids %d:%d: an ordinary user can start a session only as itself, %d:%d", spec.UID, spec.GID, uid, os.Getgid())
	}
	host, err := lookHost()
	if err != nil {
		return err
	}
	in := plan.Input{
		UID: spec.UID, GID: spec.GID, User: spec.User, Shell: shell(), HostHome: spec.HostHome,
		Limits:   plan.Limits{Processes: uint64(max(spec.Processes, 0)), Data: spec.DataBytes, OpenFiles: spec.OpenFiles},
		TmpBytes: spec.TmpBytes, Nonce: randomHex(16), MachineID: randomHex(16), Require: spec.Require, Host: host,
	}
	for _, m := range []struct {
		from Mount
		to   *plan.Place
	}{{spec.Workspace, &in.Workspace}, {spec.Home, &in.Home}, {Mount{Host: spec.Canary, Inside: plan.Canary}, &in.Canary}} {
		if *m.to, err = l.place(m.from); err != nil {
			return err
		}
		if m.to.File {
			return fmt.Errorf("%q is a file, want a folder", m.from.Host)
		}
	}
	if in.Program, err = l.ownProgram(); err != nil {
		return err
	}
	for _, m := range spec.ReadOnly {
		p, err := l.place(m)
		if err != nil {
			return err
		}
		in.ReadOnly = append(in.ReadOnly, p)
	}
	l.plan, err = plan.Compile(in)
	return err
}

func shell() string {
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// begin starts PID 1 in its namespaces. It waits for the plan.
func (l *launch) begin() (*Sandbox, error) {
	ctl, ctlInside, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	spawn, spawnInside, err := wire.Pair()
	if err != nil {
		closeFDs(ctl, ctlInside)
		return nil, err
	}
	inside := []*os.File{os.NewFile(uintptr(ctlInside), "control"), os.NewFile(uintptr(spawnInside), "spawner")}
	defer func() {
		for _, f := range inside {
			_ = f.Close() // PID 1 has its own
		}
	}()
	s := &Sandbox{spec: l.spec, plan: l.plan, done: make(chan struct{}), procs: map[uint64]*Process{}, answers: make(chan plan.FromStage, 1), gate: make(chan struct{}, 1)}
	if s.ctl, err = wire.New(ctl, "control", plan.MaxFromStage); err != nil {
		closeFDs(spawn)
		return nil, err
	}
	if s.spawn, err = wire.New(spawn, "spawner", plan.MaxFromSpawner); err != nil {
		return nil, errors.Join(err, s.ctl.Close())
	}
	stat, err := os.Open("/proc/self/stat")
	if err != nil {
		return nil, errors.Join(err, s.closeConns())
	}
	inside = append(inside, stat)
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return nil, errors.Join(err, s.closeConns())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, s.closeConns())
	}
	l.stderr = readTail(r)

	cmd := exec.Command("/proc/self/exe", "__stage")
	cmd.Args[0] = "fumehood"
	cmd.Env = []string{"GOMAXPROCS=1"} // nothing is inherited; one processor is enough
	cmd.Dir = "/"
	cmd.Stderr = w
	cmd.ExtraFiles = append(append([]*os.File(nil), inside...), l.mounts...)
	cmd.SysProcAttr = namespaces(l.spec)
	s.cmd = cmd
	started := make(chan error)
	go func() {
		// The kernel ends PID 1 when the thread that is its parent ends, so this
		// one is kept for as long, and ends with this goroutine.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended says nothing that the messages don't
			close(s.done)
		}
	}()
	// Meanwhile, what PID 1 waits for: it takes two milliseconds to get there.
	sent := make(chan error, 1)
	go func() {
		err := prepareCanary(l.spec)
		if err == nil {
			err = s.ctl.Send(plan.ToStage{Plan: l.plan.Encode()})
		}
		sent <- err
	}()
	err = <-started
	_ = w.Close() // PID 1 has its own
	if err != nil {
		err = errors.Join(cloneError(err), s.closeConns()) // which ends a send
		if sendErr := <-sent; err == nil {                 // the plan had nobody to go to: what failed before is the reason
			err = sendErr
		}
		return nil, err
	}
	if err := <-sent; err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// namespaces is what PID 1 is born into. A session's id is mapped to itself, so
// that files look right and there is no root inside; when root starts, no id of
// root's is in the namespace at all.
func namespaces(spec Spec) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: spec.UID, HostID: spec.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: spec.GID, HostID: spec.GID, Size: 1}},
		// Carried over the exec of the stage, and dropped by it.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE},
		Pdeathsig:   syscall.SIGKILL,
		Setsid:      true, // no terminal of the starter's
	}
	if os.Getuid() == 0 {
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(spec.UID), Gid: uint32(spec.GID)}
	}
	return attr
}

// close has the stage close every layer and looks from outside.
func (l *launch) close(s *Sandbox) error {
	msg, err := l.next(s)
	if err != nil {
		return err
	}
	spawner := msg.Spawner
	if spawner <= 1 {
		return unexpected(layer.Landlock, "a report of the spawner")
	}
	var told plan.FromSpawner
	fds, err := s.spawn.Recv(&told)
	closeFDs(fds...)
	if err != nil || told.Canary == nil {
		return l.lost(s, errors.Join(err, errors.New("the spawner did not report")))
	}
	canary, err := checkCanary(l.spec, l.plan, *told.Canary)
	if err != nil {
		return err
	}
	if err := s.ctl.Send(plan.ToStage{Lock: true}); err != nil {
		return l.lost(s, err)
	}
	// What is closed already is looked at while PID 1 closes the rest.
	v := verifier{first: s.PID(), plan: l.plan}
	if err := v.see(look{layer.Landlock, func() (Facts, error) { return canary, nil }}); err != nil {
		return err
	}
	if err := v.spawnerClosed(spawner); err != nil {
		return err
	}
	msg, err = l.next(s)
	if err != nil {
		return err
	}
	if !msg.Locked {
		return unexpected(layer.Seccomp, "a report that all is closed")
	}
	if err := v.firstClosed(); err != nil {
		return err
	}
	s.facts = v.facts
	return nil
}

// next is the stage's next message, or the layer that it could not close.
func (l *launch) next(s *Sandbox) (plan.FromStage, error) {
	var msg plan.FromStage
	fds, err := s.ctl.Recv(&msg)
	closeFDs(fds...)
	if err != nil {
		return msg, l.lost(s, err)
	}
	if msg.Failure != nil {
		return msg, hinted(msg.Failure.Err())
	}
	return msg, nil
}

// lost is the error for a stage that ended without a word: its last words are
// on its standard error. What it said by message before comes first.
func (l *launch) lost(s *Sandbox, err error) error {
	_ = s.cmd.Process.Kill() // it may hang
	<-s.done
	var msg plan.FromStage
	for {
		if _, rerr := s.ctl.Recv(&msg); rerr != nil {
			break
		}
		if msg.Failure != nil {
			return hinted(msg.Failure.Err())
		}
	}
	if text := l.stderr.text(); text != "" {
		err = fmt.Errorf("%w; it wrote %q", err, text)
	}
	return &layer.Error{Layer: layer.Namespaces, Op: "the stage ended before every layer was closed", Err: err}
}

func unexpected(l layer.Name, want string) error {
	return &layer.Error{Layer: l, Op: "talk to the stage", Err: fmt.Errorf("got something else than %s", want)}
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // unused
	}
}

// tail keeps the last words of the stage.
type tail struct {
	done chan struct{}
	buf  []byte
}

const tailBytes = 4 << 10

func readTail(r *os.File) *tail {
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer r.Close()
		t.buf, _ = io.ReadAll(io.LimitReader(r, tailBytes)) // what came before an error is what there is
		_, _ = io.Copy(io.Discard, r)                       // so that it can't block on a full pipe
	}()
	return t
}

func (t *tail) text() string {
	<-t.done
	return strings.TrimSpace(string(t.buf))
}
