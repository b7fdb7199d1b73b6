package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	cpus   []int // that all of it may use; nil is all
	// part is what StartWithout leaves out, and whole the plan that has it.
	part  Part
	whole *plan.Plan
	// planted is the one end of a pipe whose other PID 1 has to close.
	planted *os.File
	// ungrouped is why there is no group.
	ungrouped string
}

// Start closes the walls and returns when all are closed and were seen closed.
// It takes some ten milliseconds. Ending ctx before it returns ends the start;
// afterwards ctx means nothing. The caller guarantees that workspace and home
// belong to Spec.UID and GID and that Spec.Canary is empty.
func Start(ctx context.Context, spec Spec) (*Sandbox, error) {
	return (&launch{spec: spec, ungrouped: spec.Ungrouped}).start(ctx)
}

func (l *launch) start(ctx context.Context) (*Sandbox, error) {
	defer func() {
		for _, f := range append(l.mounts, l.planted) {
			_ = f.Close() // the stage has its own
		}
	}()
	if err := l.compile(); err != nil {
		return nil, err
	}
	if err := l.leaveOut(); err != nil {
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
		err = errors.Join(err, s.Kill())
		_, _, _ = seeCanary(l.spec, l.plan.Nonce) // takes away what it may have made; the start failed for another reason
		return nil, err
	}
	s.run()
	return s, nil
}

func (l *launch) compile() error {
	spec := l.spec
	if uid := os.Getuid(); uid != 0 && (spec.UID != uid || spec.GID != os.Getgid()) {
		return fmt.Errorf("session ids %d:%d: an ordinary user can start a session only as itself, %d:%d", spec.UID, spec.GID, uid, os.Getgid())
	}
	if err := idsMapped(spec.UID, spec.GID); err != nil {
		return err
	}
	host, err := lookHost()
	if err != nil {
		return err
	}
	in := plan.Input{
		UID: spec.UID, GID: spec.GID, User: spec.User, Shell: shell(), HostHome: spec.HostHome,
		Limits:   plan.Limits{Processes: uint64(max(spec.Processes, 0)), Data: spec.DataBytes, OpenFiles: spec.OpenFiles, FileSize: spec.FileBytes},
		TmpBytes: spec.TmpBytes, Nonce: randomHex(16), MachineID: randomHex(16), Require: spec.Require, Host: host, Egress: spec.Egress,
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
	if l.cpus, err = chooseCPUs(spec); err != nil {
		return err
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
	if spec.Trust != "" {
		if in.Trust, err = l.place(Mount{Host: spec.Trust, Inside: TrustInside}); err != nil {
			return err
		}
	}
	if in.Caches, err = l.caches(); err != nil {
		return err
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
	cmd.Env = []string{stageEnv} // nothing is inherited
	cmd.Dir = "/"
	cmd.Stderr = w
	cmd.ExtraFiles = append(append([]*os.File(nil), inside...), l.mounts...)
	plant, err := l.plant()
	if err != nil {
		return nil, errors.Join(err, w.Close(), s.closeConns())
	}
	inside = append(inside, plant)
	cmd.ExtraFiles = append(cmd.ExtraFiles, plant)
	cmd.SysProcAttr = namespaces(l.spec)
	l.bornWithout(cmd)
	if s.group, err = l.group(); err != nil {
		return nil, errors.Join(err, w.Close(), s.closeConns())
	}
	l.bornIn(cmd.SysProcAttr, s.group)
	s.cmd = cmd
	started := make(chan error)
	go func() {
		// The kernel ends PID 1 when the thread that is its parent ends, so this
		// one is kept for as long, and ends with this goroutine.
		runtime.LockOSThread()
		err := bindThread(l.boundTo()) // what is born of this thread is bound as it is
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended says nothing that the messages don't
			close(s.done)
		}
	}()
	// Meanwhile, what PID 1 waits for: it takes two milliseconds to get there.
	sent, grouped := make(chan error, 1), make(chan bool, 1)
	if !l.byBus() {
		grouped <- true
	}
	go func() {
		err := prepareCanary(l.spec)
		if <-grouped && err == nil {
			err = s.ctl.Send(plan.ToStage{Plan: l.plan.Encode(), Regroup: l.byBus()})
		}
		sent <- err
	}()
	err = <-started
	_ = w.Close() // PID 1 has its own
	if err != nil {
		close(grouped)
		if refused := groupError(err, s.group); refused != nil {
			err = refused
		}
		err = errors.Join(cloneError(err), s.closeConns(), s.removeGroup()) // which ends a send
		if sendErr := <-sent; err == nil {                                  // the plan had nobody to go to: what failed before is the reason
			err = sendErr
		}
		return nil, err
	}
	s.gauge, s.disk, err = l.gauge()
	if err == nil {
		err = l.adopt(s)
	}
	if l.byBus() {
		grouped <- err == nil
	}
	if err := errors.Join(<-sent, err); err != nil {
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
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE},
		Pdeathsig:   syscall.SIGKILL,
		Setsid:      true, // no terminal of the starter's
	}
	if len(spec.Caches) > 0 {
		// An overlay's own folder in its work folder has no mode bits.
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_DAC_OVERRIDE)
	}
	if os.Getuid() == 0 {
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{Uid: uint32(spec.UID), Gid: uint32(spec.GID)}
	}
	return attr
}

// close has the stage close every layer and looks from outside.
func (l *launch) close(s *Sandbox) error {
	handed := 1
	if l.spec.Egress {
		handed = 3
	}
	msg, err := l.next(s, handed)
	if err != nil {
		return err
	}
	s.egress = msg.fds[1:]
	defer closeFDs(msg.fds[0])
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
	if e := syscall.Errno(told.Canary.Wait); e != 0 {
		return hinted(&layer.Error{Layer: layer.Namespaces, Op: "wait for a command by pidfd_open", Err: e})
	}
	canary, err := checkCanary(l.spec, l.whole, *told.Canary, msg.fds[0])
	if err != nil {
		return err
	}
	if err := s.ctl.Send(plan.ToStage{Lock: true}); err != nil {
		return l.lost(s, err)
	}
	// What is closed already is looked at while PID 1 closes the rest.
	v := verifier{first: s.PID(), plan: l.plan, whole: l.whole, part: l.part, cpus: l.cpus, group: s.group, ungrouped: l.ungrouped, planted: l.planted}
	if err := v.see(look{layer.Landlock, func() (Facts, error) { return canary, nil }}); err != nil {
		return err
	}
	if l.spec.Egress && l.plan.Omit != plan.NetNS { // without it they are the host's
		if err := v.see(look{layer.Namespaces, func() (Facts, error) { return egressFacts(s.PID(), s.egress) }}); err != nil {
			return l.reason(s, err) // it may have ended meanwhile, over a later layer
		}
	}
	if err := v.spawnerClosed(spawner); err != nil {
		return l.reason(s, err)
	}
	msg, err = l.next(s, 0)
	if err != nil {
		return err
	}
	if !msg.Locked {
		return unexpected(layer.Seccomp, "a report that all is closed")
	}
	if err := v.firstClosed(); err != nil {
		return l.reason(s, err)
	}
	if err := v.leftOut(msg.Reached); err != nil {
		return err
	}
	s.facts = v.facts
	return nil
}

// report is a message of the stage's, with what came beside it.
type report struct {
	plan.FromStage
	fds []int
}

// next is the stage's next message, with so many descriptors, or the layer that
// it could not close.
func (l *launch) next(s *Sandbox, fds int) (report, error) {
	var msg report
	var err error
	msg.fds, err = s.ctl.Recv(&msg.FromStage)
	switch {
	case err != nil:
		err = l.lost(s, err)
	case msg.Failure != nil:
		err = hinted(msg.Failure.Err())
	case len(msg.fds) != fds:
		err = unexpected(layer.Namespaces, fmt.Sprintf("%d descriptors beside a message", fds))
	}
	if err != nil {
		closeFDs(msg.fds...)
	}
	return msg, err
}

// lost is the error for a stage that ended without a word: its last words are
// on its standard error. What it said by message before comes first.
func (l *launch) lost(s *Sandbox, err error) error {
	if told := l.reason(s, nil); told != nil {
		return told
	}
	if text := l.stderr.text(); text != "" {
		err = fmt.Errorf("%w; it wrote %q", err, text)
	}
	return &layer.Error{Layer: layer.Namespaces, Op: "the stage ended before every layer was closed", Err: err, Hint: hintNone}
}

// reason ends the stage and gives what it could not close, if it said so: then
// a look from outside failed for that. Else it gives err.
func (l *launch) reason(s *Sandbox, err error) error {
	_ = s.cmd.Process.Kill() // it may hang
	<-s.done
	var msg plan.FromStage
	for {
		fds, rerr := s.ctl.Recv(&msg)
		closeFDs(fds...)
		if rerr != nil {
			return err
		}
		if msg.Failure != nil {
			return hinted(msg.Failure.Err())
		}
	}
}

func unexpected(l layer.Name, want string) error {
	return &layer.Error{Layer: l, Op: "talk to the stage", Err: fmt.Errorf("got something else than %s", want), Hint: hintLie}
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // unused
	}
}
