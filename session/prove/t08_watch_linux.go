package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fumehood/isolate/limits"
)

// hogWatch looks at a hog from outside for as long as it runs, by the host's
// process table, and forks on the host meanwhile. Its goroutines end with stop.
type hogWatch struct {
	hog        hog
	pid, first int // of the probe and of the sandbox's first process, which may be 0
	name       string
	ceiling    int64
	shmem      int64 // of the whole machine before

	cancel context.CancelFunc
	done   sync.WaitGroup

	// The rest is for whoever has called stop.
	peak    int64
	source  string
	cpu     time.Duration
	allowed int
	bounds  string
	seen    time.Time // when the first process was seen last
	forks   []time.Duration
	forkErr error
	err     error
	ticks   []cpuTick
}

// cpuTick is how much processor time was used by then.
type cpuTick struct {
	at  time.Time
	cpu time.Duration
}

// lookEvery and forkEvery are short against the half second that a hog takes.
const (
	lookEvery = 10 * time.Millisecond
	forkEvery = 50 * time.Millisecond
)

func startWatch(ctx context.Context, h hog, ceiling int64, pid, first int) *hogWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &hogWatch{hog: h, ceiling: ceiling, pid: pid, first: first, cancel: cancel, shmem: sharedMemory()}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		word, _, _ := strings.Cut(string(text), "\x00")
		w.name = filepath.Base(word)
	}
	w.bounds = boundsOf(pid)
	w.done.Add(2)
	go func() {
		defer w.done.Done()
		for hogPause(ctx, lookEvery) {
			if err := w.look(); err != nil && w.err == nil {
				w.err = err
			}
		}
	}()
	go func() {
		defer w.done.Done()
		for hogPause(ctx, forkEvery) {
			took, err := forkOnce()
			if err != nil {
				w.forkErr = err
				return
			}
			w.forks = append(w.forks, took)
		}
	}()
	return w
}

func (w *hogWatch) stop() {
	w.cancel()
	w.done.Wait()
}

func hogPause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// forkOnce starts a program on the host and says how long that took.
func forkOnce() (time.Duration, error) {
	path, err := exec.LookPath("true")
	if err != nil {
		return 0, fmt.Errorf("no program to fork on the host: %w", err)
	}
	begin := time.Now()
	if err := exec.Command(path).Run(); err != nil {
		return 0, fmt.Errorf("fork on the host: %w", err)
	}
	return time.Since(begin), nil
}

// look adds one look.
func (w *hogWatch) look() error {
	now := time.Now()
	if w.first > 0 {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/task", w.first)); err == nil {
			w.seen = now
		}
	}
	root := w.pid
	if w.hog.limit == "processes" && w.first > 0 {
		root = w.first
	}
	pids, err := limits.Tree(root)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil // it ended meanwhile
	}
	if err != nil {
		return err
	}
	pids = append(pids, root)
	switch w.hog.limit {
	case "processes":
		w.note(countThreads(pids), fmt.Sprintf("threads of the %d processes below %d", len(pids), root))
	case "memory":
		if w.hog.how == "flight" || w.hog.how == "shared" {
			// It is the whole machine's, and the hog does not take more than it says.
			w.note(min(sharedMemory()-w.shmem, w.ceiling), "growth of Shmem in /proc/meminfo")
			return nil
		}
		w.note(memoryOf(pids), fmt.Sprintf("memory and files in memory of %d and what is below it", w.pid))
	case "cpus":
		return w.processor()
	}
	return nil
}

func (w *hogWatch) note(n int64, source string) {
	if n >= w.peak {
		w.peak, w.source = n, source
	}
}

// processor keeps the most that was used over any half second.
func (w *hogWatch) processor() error {
	st, err := limits.ReadStat(w.pid, 0)
	if err != nil {
		return nil // it has ended: what was seen before counts
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		return nil // as above
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			list, err := limits.ParseCPUs(rest)
			if err != nil {
				return err
			}
			w.allowed = max(w.allowed, len(list))
		}
	}
	now := cpuTick{time.Now(), time.Duration(st.Ticks) * 10 * time.Millisecond}
	w.ticks = append(w.ticks, now)
	w.cpu = now.cpu - w.ticks[0].cpu
	for _, t := range w.ticks {
		if d := now.at.Sub(t.at); d >= 450*time.Millisecond {
			w.note(int64((now.cpu-t.cpu)*1000/d), fmt.Sprintf("utime and stime of %d over %v", w.pid, d.Round(time.Millisecond)))
		}
	}
	return nil
}

func countThreads(pids []int) int64 {
	var n int64
	for _, pid := range pids {
		if st, err := limits.ReadStat(pid, 0); err == nil {
			n += int64(max(st.Threads, 1)) // a zombie counts as one until it is reaped
		}
	}
	return n
}

// memoryOf sums processes' own memory and what their files in memory hold that
// have no name. What ended meanwhile is left out.
func memoryOf(pids []int) int64 {
	var sum int64
	seen := map[[2]uint64]bool{}
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d", pid)
		status, err := os.ReadFile(dir + "/status")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			key, rest, _ := strings.Cut(line, ":")
			if key == "RssAnon" || key == "RssShmem" || key == "VmSwap" {
				n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64) // "12 kB", by the kernel
				sum += n << 10
			}
		}
		fds, err := os.ReadDir(dir + "/fd")
		if err != nil {
			continue
		}
		for _, fd := range fds {
			path := dir + "/fd/" + fd.Name()
			to, err := os.Readlink(path)
			if err != nil || !strings.HasPrefix(to, "/memfd:") && !strings.HasSuffix(to, " (deleted)") {
				continue
			}
			var st syscall.Stat_t
			if syscall.Stat(path, &st) != nil || seen[[2]uint64{st.Dev, st.Ino}] {
				continue
			}
			seen[[2]uint64{st.Dev, st.Ino}] = true
			sum += st.Blocks * 512
		}
	}
	return sum
}

// meminfo is a line of /proc/meminfo in bytes, 0 when there is none.
func meminfo(key string) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); name == key && len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64) // written by the kernel
			return n << 10
		}
	}
	return 0
}

func sharedMemory() int64 { return meminfo("Shmem") }

// boundsOf says what bounds a process that does not bound this one, by /proc;
// "" when nothing does.
func boundsOf(pid int) string {
	var out []string
	mine, theirs := limitLines("self"), limitLines(strconv.Itoa(pid))
	for _, name := range []string{"Max data size", "Max address space", "Max processes", "Max file size"} {
		if theirs[name] != "" && theirs[name] != mine[name] {
			out = append(out, fmt.Sprintf("its %q is %s", name, theirs[name]))
		}
	}
	own, err1 := os.ReadFile("/proc/self/cgroup")
	its, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err1 == nil && err2 == nil && string(own) != string(its) {
		out = append(out, "it has a cgroup of its own")
	}
	return strings.Join(out, ", ")
}

// limitLines is /proc/PID/limits: the soft limit of each line under its name,
// and the hard one beside it.
func limitLines(pid string) map[string]string {
	out := map[string]string{}
	text, err := os.ReadFile("/proc/" + pid + "/limits")
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(text)) {
		if len(line) > 26 {
			if f := strings.Fields(line[26:]); len(f) > 1 {
				name := strings.TrimSpace(line[:26])
				out[name], out[name+" (hard)"] = f[0], f[1]
			}
		}
	}
	return out
}

// gone waits until nothing of the session is in the process table any more, and
// names what is after the time that it may take.
func (w *hogWatch) gone(ctx context.Context) ([]string, error) {
	deadline := time.Now().Add(goneWithin)
	for {
		left, err := processesOf(w.name)
		if err != nil {
			return nil, err
		}
		_, err = os.Lstat(fmt.Sprintf("/proc/%d", w.first))
		if !errors.Is(err, fs.ErrNotExist) {
			left = append(left, fmt.Sprintf("the first process, %d", w.first))
			w.seen = time.Now()
		}
		if len(left) == 0 || time.Now().After(deadline) || !hogPause(ctx, 5*time.Millisecond) {
			return left, nil
		}
	}
}

// takenOnDisk is what lies in a folder on the host: blocks and names.
func takenOnDisk(dir string) (bytes, entries int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		entries++
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return nil //nolint:nilerr // it went meanwhile
		}
		bytes += st.Blocks * 512
		return nil
	})
	return bytes, entries, err
}
