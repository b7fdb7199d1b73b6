package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// pause remembers whom this PID 1 stopped, so that it continues no one else: a
// job that a shell had stopped stays stopped.
type pause struct {
	stopped []proc // parents before children
}

// proc is one process inside, as /proc shows it.
type proc struct {
	pid, parent int
	start       string // to tell a reused number
	state       byte   // T only when every thread is stopped
}

const (
	pauseFor  = 5 * time.Second // the starter's own deadline is as long
	pauseStep = time.Millisecond
)

// stop stops every process but this one. Parents go first and are waited for:
// a shell that still runs would take its child's stop for a job's.
func (p *pause) stop(spawner int) error {
	if p.stopped != nil {
		return errors.New("paused already")
	}
	deadline := time.Now().Add(pauseFor)
	before := map[int]bool{} // stopped by someone else
	procs, err := processes()
	if err != nil {
		return err
	}
	for _, q := range procs {
		if q.state == 'T' {
			before[q.pid] = true
		}
	}
	mine := map[int]proc{}
	for time.Now().Before(deadline) {
		procs, err := processes()
		if err != nil {
			return errors.Join(err, p.undo(mine))
		}
		running := stillRunning(procs)
		if len(running) == 0 {
			p.stopped = order(mine, procs)
			return nil
		}
		for _, q := range topmost(running, spawner) {
			if _, seen := mine[q.pid]; !seen && !before[q.pid] {
				mine[q.pid] = q
			}
			if err := unix.Kill(q.pid, unix.SIGSTOP); err != nil && err != unix.ESRCH {
				return errors.Join(fmt.Errorf("stop process %d: %w", q.pid, err), p.undo(mine))
			}
		}
		time.Sleep(pauseStep) // a stop takes effect when the process next enters user mode
	}
	return errors.Join(fmt.Errorf("not every process stopped within %v", pauseFor), p.undo(mine))
}

func (p *pause) undo(mine map[int]proc) error {
	procs, err := processes()
	if err != nil {
		return err
	}
	p.stopped = order(mine, procs)
	return p.resume()
}

// resume continues children before parents: a parent that looks then sees them
// running.
func (p *pause) resume() error {
	var errs []error
	for _, q := range slices.Backward(p.stopped) {
		now, err := readProc(q.pid)
		if err != nil || now.start != q.start {
			continue // ended meanwhile, by a signal from outside
		}
		if err := unix.Kill(q.pid, unix.SIGCONT); err != nil && err != unix.ESRCH {
			errs = append(errs, fmt.Errorf("continue process %d: %w", q.pid, err))
		}
	}
	p.stopped = nil
	return errors.Join(errs...)
}

func stillRunning(procs []proc) []proc {
	var out []proc
	for _, q := range procs {
		if q.state != 'T' && q.state != 'Z' && q.state != 'X' {
			out = append(out, q)
		}
	}
	return out
}

// topmost is those of running whose parent does not run: PID 1's own children
// and those whose parent has stopped.
func topmost(running []proc, spawner int) []proc {
	var out []proc
	for _, q := range running {
		if q.pid == spawner || !slices.ContainsFunc(running, func(o proc) bool { return o.pid == q.parent }) {
			out = append(out, q)
		}
	}
	return out
}

// order is mine with parents before children.
func order(mine map[int]proc, procs []proc) []proc {
	depth := func(pid int) int {
		d := 0
		for pid > 1 && d < len(procs)+1 {
			i := slices.IndexFunc(procs, func(q proc) bool { return q.pid == pid })
			if i < 0 {
				break
			}
			pid, d = procs[i].parent, d+1
		}
		return d
	}
	out := make([]proc, 0, len(mine))
	for _, q := range mine {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b proc) int { return depth(a.pid) - depth(b.pid) })
	return out
}

// processes lists every process of the namespace but this one.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []proc
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == 1 {
			continue
		}
		q, err := readProc(pid)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}
