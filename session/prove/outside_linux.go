package prove

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
)

// outside runs a probe where no wall stands, so that it shows what this machine
// answers by itself. As root it runs as an ordinary user.
func (e *env) outside(ctx context.Context, job probe.Job, uid int) (*ran, error) {
	name := probe.Name + "-" + e.id + "-outside"
	got, err := talk(ctx, job, how{trace: true}, name, func(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
		cmd := exec.CommandContext(ctx, "/proc/self/exe", probe.Again)
		cmd.Args[0], cmd.Dir, cmd.Env = name, "/", []string{}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
		cmd.WaitDelay = time.Second
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: asUser(uid)}
		cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			return "", fmt.Errorf("start a probe outside: %w", err)
		}
		return cmd.ProcessState.String(), nil
	})
	if err == nil && got.blind != "" {
		err = errors.New(got.blind)
	}
	return got, err
}

// asUser is the account that root's own processes outside run as.
func asUser(uid int) *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
}

// hostID is the host's number of the account that a room's processes run as.
func (e *env) hostID(rm room) (int, error) {
	if rm.first() == 0 {
		return os.Getuid(), nil // another's sandbox: it was started as this account
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", rm.first()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Uid:"); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				return strconv.Atoi(f[0])
			}
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no Uid", rm.first())
}

// ordinary is an account without rights for what root has done outside.
func ordinary(uid int) int {
	if uid == 0 {
		return 65534
	}
	return uid
}

// victim is a process of the run's own on the host, which writes down the
// signals that it receives.
type victim struct {
	cmd  *exec.Cmd
	in   io.Closer
	pid  int
	addr string // where it keeps a text
	text string

	mu    sync.Mutex
	lines []string
	more  chan struct{} // there is a line
	ended chan struct{}
}

// newVictim starts one as an account of the host.
func (e *env) newVictim(uid int) (*victim, error) {
	v := &victim{text: e.token, more: make(chan struct{}, 1), ended: make(chan struct{})}
	cmd := exec.Command("/proc/self/exe", probe.Victim, v.text)
	cmd.Args[0], cmd.Dir, cmd.Env = probe.Name+"-"+e.id+"-victim", "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid != os.Getuid() {
		cmd.SysProcAttr.Credential = asUser(uid)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a victim: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a victim: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a victim: %w", err)
	}
	v.cmd, v.in, v.pid = cmd, in, cmd.Process.Pid
	go func() {
		defer close(v.ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			v.mu.Lock()
			v.lines = append(v.lines, s.Text())
			v.mu.Unlock()
			select {
			case v.more <- struct{}{}:
			default:
			}
		}
	}()
	first, err := v.await(0, func(line string) bool { return strings.HasPrefix(line, "victim ") })
	if err == nil {
		f := strings.Fields(first)
		if len(f) != 3 {
			err = fmt.Errorf("it says %q", first)
		} else {
			v.addr = f[2]
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a victim: %w", err), v.close())
	}
	return v, nil
}

// await waits for a line, from one of a number on.
func (v *victim) await(from int, is func(string) bool) (string, error) {
	deadline := time.After(3 * time.Second)
	for {
		for _, line := range v.since(from) {
			if is(line) {
				return line, nil
			}
		}
		select {
		case <-v.more:
		case <-v.ended:
			return "", errors.New("it has ended")
		case <-deadline:
			return "", errors.New("it does not answer")
		}
	}
}

func (v *victim) since(from int) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.lines[min(from, len(v.lines)):]...)
}

// fence is the signal that the host sends itself to see that all before it has
// been written down: the kernel gives the lower numbers first.
const fence = 60

// log is what it has received since a number of lines, once it has answered.
func (v *victim) log(from int) ([]string, error) {
	for _, send := range []func() error{
		func() error { return unix.Kill(v.pid, fence) },
		// What was sent to its first thread alone waits there, and not in line with the others.
		func() error { return unix.Tgkill(v.pid, v.pid, fence) },
	} {
		fenced := len(v.since(0))
		if err := send(); err != nil {
			return nil, fmt.Errorf("the victim can't be reached from the host either: %w", err)
		}
		if _, err := v.await(fenced, func(line string) bool { return line == fmt.Sprintf("signal %d", fence) }); err != nil {
			return nil, fmt.Errorf("the victim: %w", err)
		}
	}
	return v.since(from), nil
}

// close ends it.
func (v *victim) close() error {
	_ = v.in.Close() // it ends by itself then; below makes sure
	err := v.cmd.Process.Kill()
	<-v.ended
	_ = v.cmd.Wait() // ended by a signal
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
