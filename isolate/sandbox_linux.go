package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/meter"
	"fumehood/isolate/plan"
	"fumehood/isolate/wire"
)

const (
	beatEvery = 5 * time.Second
	// Ending takes milliseconds, but the kernel may still have a file of many GiB to
	// free on a busy disk.
	killFor = 15 * time.Second
)

// Sandbox is the walls around one session's processes. Its methods may be
// called from several goroutines.
type Sandbox struct {
	spec   Spec
	plan   *plan.Plan
	cmd    *exec.Cmd
	ctl    *wire.Conn
	spawn  *wire.Conn
	facts  Facts
	group  *grouped      // nil when it has none
	gauge  *gauge        // nil when nothing is metered
	disk   uint64        // the device of the workspace
	egress []int         // the sockets of Spec.Egress, until Egress gives them away
	null   *os.File      // /dev/null, which the caller may not be able to open later
	done   chan struct{} // closed when PID 1 was reaped
	wg     sync.WaitGroup

	answers chan plan.FromStage // of PID 1, to whoever pauses

	// gate is full while a pause lasts or a command is being started: neither
	// may happen during the other.
	gate   chan struct{}
	pauses int // guarded by gate

	egressOnce sync.Once

	mu     sync.Mutex
	procs  map[uint64]*Process // those not ended
	nextID uint64
	ended  bool
}

// run starts what a closed sandbox needs: the readers of both sockets and the
// heartbeat. All end when PID 1 does.
func (s *Sandbox) run() {
	s.wg.Go(s.readControl)
	s.wg.Go(s.readSpawner)
	s.wg.Go(s.beat)
	go func() {
		<-s.done
		_ = s.closeConns()  // unblocks the readers
		_ = s.removeGroup() // Kill tells; else the next session's start removes it
		s.stopGauge()       // after it: a meter that is in the scope keeps the group
		s.wg.Wait()
		s.endAll()
	}()
}

func (s *Sandbox) closeConns() error {
	err := errors.Join(s.ctl.Close(), s.spawn.Close())
	s.egressOnce.Do(func() { closeFDs(s.egress...) })
	if s.null != nil {
		err = errors.Join(err, s.null.Close())
	}
	return err
}

// Layers is what was read from outside about each layer when the sandbox was
// closed. All of it was as it should be, or Start would have failed.
func (s *Sandbox) Layers() Facts { return append(Facts(nil), s.facts...) }

// PID is PID 1's number on the host.
func (s *Sandbox) PID() int { return s.cmd.Process.Pid }

// Done is closed when PID 1 has ended, whatever the reason. Nothing of the
// sandbox runs then.
func (s *Sandbox) Done() <-chan struct{} { return s.done }

// Kill ends every process inside. When it returns nil nothing of the sandbox
// runs: the kernel lets PID 1 end only after all others. It waits 15 s at most.
func (s *Sandbox) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill sandbox: %w", err)
	}
	t := time.NewTimer(killFor)
	defer t.Stop()
	select {
	case <-s.done:
		return s.closeQuietly()
	case <-t.C:
		return fmt.Errorf("kill sandbox: process %d still there after %v: a process in it hangs in the kernel", s.PID(), killFor)
	}
}

// closeQuietly closes the sockets of a sandbox that may never have run.
func (s *Sandbox) closeQuietly() error {
	err := s.removeGroup()
	s.stopGauge() // as in run
	if err != nil {
		return err
	}
	if err := s.closeConns(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Usage is what the processes inside use now, PID 1 and spawner included, read
// from the host's /proc. Where Spec.Metered asks for it a process of its own
// does that, so that the caller may confine itself; else what the caller may
// not look into is left out. Over says that memory, weighed as limits.Judge
// does, is over Spec.TreeBytes.
func (s *Sandbox) Usage() (Usage, error) {
	v, err := s.look()
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	return Usage{Processes: v.Threads, RSS: v.Used, CPU: v.CPU, Work: v.Work, Deleted: v.Deleted, Over: v.Over, Kernel: v.Kernel, Pressed: v.Pressed}, nil
}

// Work is the Work of Usage alone, for little.
func (s *Sandbox) Work() (int64, error) { return limits.Work(s.PID()) }

func (s *Sandbox) look() (limits.Verdict, error) {
	ask := meter.Ask{Root: s.PID(), Limit: s.spec.TreeBytes, Disk: s.disk}
	if s.group != nil {
		ask.Limit = 0 // the kernel's, and exact
	}
	if s.gauge != nil {
		return s.gauge.ask(ask)
	}
	return new(limits.Judge).Look(ask.Root, ask.Limit, ask.Disk)
}

// beat tells PID 1 that this process is alive and not only not stopped.
func (s *Sandbox) beat() {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-t.C:
			if s.ctl.Send(plan.ToStage{Beat: true}) != nil {
				return // PID 1 ends by itself without
			}
		}
	}
}

// readControl hands PID 1's answers on. It says nothing unasked, so whatever
// does not fit ends the sandbox.
func (s *Sandbox) readControl() {
	for {
		var m plan.FromStage
		fds, err := s.ctl.Recv(&m)
		closeFDs(fds...)
		if err != nil || len(fds) > 0 || m.Paused == nil && m.Resumed == nil {
			_ = s.cmd.Process.Kill() // gone already, mostly
			return
		}
		select {
		case s.answers <- m:
		default: // nobody asked
			_ = s.cmd.Process.Kill()
			return
		}
	}
}

// unexpectedSignal is how a command ended that its sandbox took along.
const unexpectedSignal = int(unix.SIGKILL)

func (s *Sandbox) endAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for id, p := range s.procs {
		p.end(Status{Signal: unexpectedSignal})
		delete(s.procs, id)
	}
}
