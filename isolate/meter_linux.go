package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/meter"
	"fumehood/isolate/wire"
)

// gauge is the starter's end of a meter. One question at a time: gate is full
// while one is asked.
type gauge struct {
	cmd  *exec.Cmd
	conn *wire.Conn
	gate chan struct{}
	done chan struct{} // closed when the meter was reaped
}

// meterFor is how long an answer may take. Walking some thousand processes
// on a loaded machine takes a second.
const meterFor = 10 * time.Second

func startGauge() (*gauge, error) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, noMeter(err)
	}
	file := os.NewFile(uintptr(theirs), "meter")
	defer file.Close() // the meter has its own
	g := &gauge{gate: make(chan struct{}, 1), done: make(chan struct{})}
	if g.conn, err = wire.New(ours, "meter", meter.MaxMessage); err != nil {
		return nil, noMeter(err)
	}
	g.cmd = exec.Command("/proc/self/exe", meter.Arg)
	g.cmd.Args[0] = "fumehood"
	g.cmd.Env = []string{"GOMAXPROCS=1"}
	g.cmd.Dir = "/"
	g.cmd.ExtraFiles = []*os.File{file}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // its parent is this thread; see begin
		err := g.cmd.Start()
		started <- err
		if err == nil {
			_ = g.cmd.Wait() // how it ended says nothing
			close(g.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(noMeter(err), g.conn.Close())
	}
	return g, nil
}

func noMeter(err error) error {
	return &layer.Error{Layer: layer.Limits, Op: "start the meter of memory and disk", Err: err}
}

// ErrNoMeter says that the meter has ended or gave no answer in time. It is not
// started again: a session that can make it slow could do that again.
var ErrNoMeter = errors.New("the meter is gone")

func (g *gauge) ask(a meter.Ask) (limits.Verdict, error) {
	g.gate <- struct{}{}
	defer func() { <-g.gate }()
	var answer meter.Answer
	err := g.conn.Send(a)
	if err == nil {
		err = g.conn.SetReadDeadline(time.Now().Add(meterFor))
	}
	if err == nil {
		var fds []int
		fds, err = g.conn.Recv(&answer)
		closeFDs(fds...)
	}
	if err != nil {
		// A late answer would be taken for the next one's.
		_ = g.cmd.Process.Kill() // gone already, mostly
		return limits.Verdict{}, fmt.Errorf("%w: %w", ErrNoMeter, err)
	}
	if answer.Err != "" {
		return limits.Verdict{}, errors.New(answer.Err)
	}
	return answer.Verdict, nil
}

func (s *Sandbox) stopGauge() {
	if s.gauge != nil {
		s.gauge.stop()
	}
}

// stop ends the meter and waits for that; more than once does no harm.
func (g *gauge) stop() {
	_ = g.conn.Close()       // which ends it
	_ = g.cmd.Process.Kill() // in the middle of a look, too
	<-g.done
}

// gauge starts a meter if the session is to have one, and finds the device of
// its workspace.
func (l *launch) gauge() (*gauge, uint64, error) {
	if !l.spec.Metered {
		return nil, 0, nil
	}
	var st syscall.Stat_t
	if err := syscall.Stat(l.spec.Workspace.Host, &st); err != nil {
		return nil, 0, noMeter(err)
	}
	g, err := startGauge()
	return g, st.Dev, err
}
