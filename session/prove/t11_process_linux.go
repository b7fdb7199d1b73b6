package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
)

// herd is processes by their numbers, with when each began: a number can come
// again, a beginning can't.
type herd map[int]string

// herdBelow is a process and all below it.
func herdBelow(first int) (herd, error) {
	pids, err := limits.Tree(first)
	if err != nil {
		return nil, err
	}
	h := herd{}
	for _, pid := range append(pids, first) {
		if st, err := limits.ReadStat(pid, 0); err == nil {
			h[pid] = st.Start
		}
	}
	return h, nil
}

// alive lists those that still run or stand still. What has ended and was not
// waited for runs nothing, once the last of its threads is gone.
func (h herd) alive() []string {
	var out []string
	for pid, start := range h {
		st, err := limits.ReadStat(pid, 0)
		if err != nil || st.Start != start || !anyThread(pid, st) {
			continue
		}
		out = append(out, fmt.Sprintf("process %d, state %c, %q", pid, st.State, short(commandLine(pid))))
	}
	return out
}

// anyThread says whether any thread of a process is left to run: the first one's
// end alone is not that of the others.
func anyThread(pid int, first limits.Stat) bool {
	dead := func(state byte) bool { return state == 'Z' || state == 'X' }
	if !dead(first.State) {
		return true
	}
	tids, err := limits.Tasks(pid)
	if err != nil {
		return false // it is gone by now
	}
	for _, tid := range tids {
		if st, err := limits.ReadStat(pid, tid); err == nil && !dead(st.State) {
			return true
		}
	}
	return false
}

// ended waits until none is left, for as long as an end may take.
func (h herd) ended(ctx context.Context) (took time.Duration, alive []string) {
	begin := time.Now()
	for {
		alive = h.alive()
		took = time.Since(begin)
		if len(alive) == 0 || took > endsWithin || ctx.Err() != nil {
			return took, alive
		}
		waitBriefly(ctx, 5*time.Millisecond)
	}
}

func waitBriefly(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// short is a command line without the folders of its program.
func short(line string) string {
	first, rest, _ := strings.Cut(line, " ")
	return strings.TrimSpace(filepath.Base(first) + " " + rest)
}

// argued finds the process that has these two arguments behind its name.
func argued(role, word string) (pid int, ok bool) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, d := range dirs {
		text, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil {
			continue // gone
		}
		f := strings.Split(string(text), "\x00")
		if len(f) > 2 && f[1] == role && f[2] == word {
			pid, err = strconv.Atoi(filepath.Base(d))
			return pid, err == nil
		}
	}
	return 0, false
}

// wakeups is how often a process's threads have gone to sleep by themselves and
// come back: a heartbeat that the kernel counts and no file is needed for.
func wakeups(pid int) int {
	tids, err := limits.Tasks(pid)
	if err != nil {
		return 0
	}
	n := 0
	for _, tid := range tids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if k, v, _ := strings.Cut(line, ":"); k == "voluntary_ctxt_switches" {
				one, _ := strconv.Atoi(strings.TrimSpace(v)) // 0 is none
				n += one
			}
		}
	}
	return n
}

// watchFor bounds the wait for a daemon's first ticks.
const watchFor = 2 * time.Second

// observe finds the daemon and the stopped child by their word and watches them.
func observe(ctx context.Context, word string) (daemon, stopped int, l lifetime) {
	for end := time.Now().Add(watchFor); time.Now().Before(end) && ctx.Err() == nil; waitBriefly(ctx, 5*time.Millisecond) {
		var ok, found bool
		if daemon, ok = argued("daemon-tick", word); !ok {
			continue
		}
		if stopped, found = argued("daemon-stand", word); !found {
			continue
		}
		if st, err := limits.ReadStat(stopped, 0); err != nil || st.State != 'T' {
			continue
		}
		l.stopped = true
		break
	}
	if daemon == 0 {
		return daemon, stopped, l
	}
	for begin, end := wakeups(daemon), time.Now().Add(watchFor); time.Now().Before(end) && ctx.Err() == nil && l.wakeups < fewWakeups; {
		waitBriefly(ctx, 5*time.Millisecond)
		l.wakeups = wakeups(daemon) - begin
	}
	return daemon, stopped, l
}

// hang stops every thread of a process as its tracer, until the given function
// is called. A stop by signal would not do: what is orphaned is continued.
func hang(pid int) (release func(), err error) {
	done, held := make(chan struct{}), make(chan error)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Never unlocked: with the thread ends its hold.
		runtime.LockOSThread()
		err := seizeAll(pid)
		held <- err
		if err == nil {
			reap(done)
		}
	}()
	if err := <-held; err != nil {
		<-ended
		return nil, fmt.Errorf("hold process %d: %w", pid, err)
	}
	return func() { close(done); <-ended }, nil
}

// reap takes in what ends of this thread's tracees: what is dead and not waited
// for by its tracer keeps a namespace from its end.
func reap(done <-chan struct{}) {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil)
		if pid > 0 || errors.Is(err, unix.EINTR) {
			continue
		}
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func seizeAll(pid int) error {
	tids, err := limits.Tasks(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		err := unix.PtraceSeize(tid)
		if err == nil {
			err = unix.PtraceInterrupt(tid)
		}
		if err == nil {
			_, err = unix.Wait4(tid, nil, unix.WALL, nil)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ECHILD) {
			return err
		}
	}
	return nil
}
