package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// command is another sandbox as a target: words to run, in which "{}" stands
// for the probe and "{workspace}" for the folder that may be written.
type command struct {
	e     *env
	words []string
	path  string // of the probe
}

func newForeign(e *env, words []string) (*command, error) {
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{}") }) {
		return nil, fmt.Errorf("--against %q has no {} in it, which stands for the program to run", strings.Join(words, " "))
	}
	c := &command{e: e, words: words, path: filepath.Join(e.dir, "bin", probe.Name+"-"+e.id+"-1")}
	if err := os.Mkdir(filepath.Dir(c.path), 0o755); err != nil {
		return nil, fmt.Errorf("copy the probe: %w", err)
	}
	return c, copyProgram(c.path, -1, -1)
}

func (*command) kind() kind { return foreign }

// against says whether another's sandbox is tested.
func (e *env) against() bool {
	_, ok := e.target.(*command)
	return ok
}

func (c *command) open(_ context.Context, pol *policy.Policy) (room, error) {
	return &launched{c: c, pol: pol}, nil
}

// launched is one room of it: each probe is a launch of its own.
type launched struct {
	c   *command
	pol *policy.Policy
}

func (r *launched) probe(ctx context.Context, job probe.Job, o how) (*ran, error) {
	return talk(ctx, job, o, r.c.path, func(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
		cmd := r.c.launch(ctx)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
		cmd.WaitDelay = time.Second // what it left may hold its output open
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case errors.Is(err, exec.ErrWaitDelay), err == nil:
			return "exit 0", nil
		case errors.As(err, &exit):
			if n := exit.ExitCode() - 128; n > 0 && n <= 64 {
				return "signal " + session.SignalName(n), nil
			}
			return fmt.Sprintf("exit %d", exit.ExitCode()), nil
		}
		return "", fmt.Errorf("start %q: %w", cmd.Args, err)
	})
}

// launch is the command with its words filled in, started by a process between,
// in a process group of its own, so that all of it can be ended.
func (c *command) launch(ctx context.Context) *exec.Cmd {
	words := []string{probe.Launch}
	for _, w := range c.words {
		words = append(words, strings.NewReplacer("{}", c.path, "{workspace}", c.e.repo).Replace(w))
	}
	cmd := exec.CommandContext(ctx, c.path, words...)
	cmd.Dir, cmd.Env = c.e.repo, c.e.host.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	return cmd
}

func (r *launched) workspace() (host, inside string) { return r.c.e.repo, r.c.e.repo }
func (r *launched) home() string                     { return "" }
func (r *launched) first() int                       { return 0 }

// close ends what the launches have left: nothing here is the probe's to keep.
func (r *launched) close(context.Context) error { return endAll(r.c.path) }

// accountAlone makes what was held in another's sandbox once more without it,
// where the account itself may lack the right. What is refused there too shows
// nothing of that sandbox, and does not apply.
func (e *env) accountAlone(ctx context.Context, list []row, outcomes map[string]outcome, tracing bool) error {
	theirs, ok := e.target.(*command)
	if !ok {
		return nil
	}
	var again []row
	for _, r := range list {
		if r.account && outcomes[r.id].verdict == walls.Held {
			again = append(again, r)
		}
	}
	if len(again) == 0 {
		return nil
	}
	free := &command{e: e, words: []string{"{}"}, path: theirs.path}
	_, without, err := e.judgeAll(ctx, &launched{c: free}, again, tracing)
	if err != nil {
		return fmt.Errorf("make the same attempts without the sandbox: %w", err)
	}
	for id, o := range without {
		if o.verdict == walls.Held {
			outcomes[id] = notApplicable("this account is refused it without a sandbox, too: " + o.observed)
		}
	}
	return nil
}

// stricter finds the attempts, controls above all, that another's sandbox refuses
// by the kernel's own answer: it may forbid all sockets, say, where a control asks
// for one of its own. They do not apply then, and what such a control stands
// beside is judged without: that its target can be reached was shown from the host.
func (e *env) stricter(list []row, all []*seen, outcomes map[string]outcome) {
	if !e.against() {
		return
	}
	for i, r := range list {
		if outcomes[r.id].verdict != walls.Errored {
			continue
		}
		key := e.strictKey(r.id)
		if all[i].traced {
			e.strict[key] = refusedOutright(all[i])
		}
		if e.strict[key] { // what is not traced was before
			outcomes[r.id] = notApplicable("this sandbox refuses that, or a step to it: " + outcomes[r.id].observed)
		}
	}
}

func (e *env) strictKey(id string) string { return fmt.Sprint(e.test, " ", id) }

// refusedOutright says whether an attempt was ended by a refusal that no
// target's state brings about.
func refusedOutright(s *seen) bool {
	if s.seg == nil || !s.seg.Ended {
		return false
	}
	for _, c := range slices.Backward(s.seg.Calls) {
		if c.Name == "close" || c.Name == "exit_group" {
			continue
		}
		return c.Returned && slices.Contains([]syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EADDRNOTAVAIL}, c.Errno())
	}
	return false
}

// endAll ends every process that runs from a probe's file.
func endAll(path string) error {
	want := filepath.Base(path)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, d := range dirs {
		text, err := os.ReadFile(filepath.Join(d, "cmdline"))
		first, _, _ := strings.Cut(string(text), "\x00")
		if err != nil || filepath.Base(first) != want {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(d), "%d", &pid); err != nil {
			continue
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("end what a probe left: %w", err)
		}
	}
	return nil
}
