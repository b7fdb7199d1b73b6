package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Sample is what a tree of processes uses now.
type Sample struct {
	Threads int
	// RSS is the sum over processes, so a page that two of them map counts
	// twice: an upper bound of what is mapped.
	RSS int64
	// Held is what memfds and the sandbox's own tmpfs hold, mapped or not.
	Held int64
	// Blind is how many processes would not show their descriptors.
	Blind int
	CPU   int64 // nanoseconds of those alive now, to a hundredth of a second
}

// Total is an upper bound: what is mapped and held counts twice.
func (s Sample) Total() int64 { return s.RSS + s.Held }

const tick = 1e9 / 100

// Take samples root and everything below it. A process that ends meanwhile is
// not counted.
func Take(root int) (Sample, error) {
	pids, err := Tree(root)
	if err != nil {
		return Sample{}, err
	}
	var s Sample
	seen := map[[2]uint64]bool{}
	for _, pid := range append(pids, root) {
		st, err := ReadStat(pid, 0)
		if gone(err) {
			continue
		}
		if err != nil {
			return Sample{}, err
		}
		s.Threads += st.Threads
		s.RSS += st.RSS
		s.CPU += st.Ticks * tick
		held, err := memfds(pid, seen)
		switch {
		case gone(err):
		case errors.Is(err, fs.ErrPermission):
			s.Blind++
		case err != nil:
			return Sample{}, err
		}
		s.Held += held
	}
	held, err := tmpfs(root)
	if err != nil {
		return Sample{}, err
	}
	s.Held += held
	return s, nil
}

// memfds sums the memory behind descriptors of pid that live in memory alone,
// each file once over all processes.
func memfds(pid int, seen map[[2]uint64]bool) (int64, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := numbers(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, fd := range fds {
		path := dir + "/" + strconv.Itoa(fd)
		name, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(name, "/memfd:") {
			continue
		}
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			continue // closed meanwhile
		}
		key := [2]uint64{st.Dev, st.Ino}
		if !seen[key] {
			seen[key] = true
			sum += st.Blocks * 512
		}
	}
	return sum, nil
}

// tmpfs sums what the sandbox's own tmpfs hold, seen through its first
// process. Where that is not readable they are left out.
func tmpfs(root int) (int64, error) {
	var sum int64
	for _, dir := range []string{"tmp", "var/tmp", "run", "dev/shm"} {
		var st syscall.Statfs_t
		err := syscall.Statfs(filepath.Join("/proc", strconv.Itoa(root), "root", dir), &st)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("statfs /%s of the sandbox: %w", dir, err)
		}
		if st.Type == tmpfsMagic {
			sum += int64(st.Blocks-st.Bfree) * int64(st.Bsize)
		}
	}
	return sum, nil
}

const tmpfsMagic = 0x01021994

// Over judges a tree against a number of bytes. It takes the cheap upper bound
// first; only when that is over does it ask each process for its proportional
// share, which costs milliseconds each. used is what the verdict rests on.
func Over(root int, limit int64) (used int64, over bool, err error) {
	s, err := Take(root)
	if err != nil || limit <= 0 {
		return 0, false, err
	}
	if s.Total() <= limit {
		return s.Total(), false, nil
	}
	pids, err := Tree(root)
	if err != nil {
		return 0, false, err
	}
	var private, shared int64
	for _, pid := range append(pids, root) {
		p, sh, err := shares(pid)
		if gone(err) {
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			st, serr := ReadStat(pid, 0) // the upper bound stands for what is hidden
			if serr == nil {
				private += st.RSS
			}
			continue
		}
		if err != nil {
			return 0, false, err
		}
		private, shared = private+p, shared+sh
	}
	// Mapped shared memory may be the same as what memfds and tmpfs hold.
	used = private + max(shared, s.Held)
	return used, used > limit, nil
}

// shares reads a process's proportional memory: its own and files', and that
// in shared memory.
func shares(pid int) (private, shared int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseShares(text)
}

func parseShares(text []byte) (private, shared int64, err error) {
	var pss int64
	for line := range bytes.Lines(text) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		f := bytes.Fields(rest)
		var to *int64
		switch string(name) {
		case "Pss":
			to = &pss
		case "Pss_Shmem":
			to = &shared
		default:
			continue
		}
		if len(f) != 2 || string(f[1]) != "kB" {
			return 0, 0, fmt.Errorf("smaps_rollup line %q is not understood", line)
		}
		n, err := strconv.ParseInt(string(f[0]), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("smaps_rollup line %q: %w", line, err)
		}
		*to = n << 10
	}
	return pss - shared, shared, nil
}
