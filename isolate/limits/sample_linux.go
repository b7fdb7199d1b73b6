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

	"golang.org/x/sys/unix"
)

// Sample is what a tree of processes uses now.
type Sample struct {
	Threads int
	// Mapped is the sum over processes of memory of their own: anonymous, shared,
	// of the machine's huge pages, swapped out, and page tables. A page that two of them map counts twice:
	// an upper bound. Pages of files are the host's cache and do not count.
	Mapped int64
	// Held is what memfds and the sandbox's own tmpfs hold, mapped or not, names
	// too, what
	// waits in the queues of its own TCP and UDP sockets, and of a Verdict what the
	// mappings themselves take.
	Held int64
	// Deleted is what files on the asked device take that have no name any
	// more and are still open.
	Deleted int64
	// Blind is how many processes would not show their descriptors.
	Blind int
	CPU   int64 // nanoseconds of those alive now, to a hundredth of a second
	// Work is CPU without the first two processes, which are fumehood's own: a
	// session whose commands all sleep does no work.
	Work int64

	each   []use
	memfds map[[2]uint64]bool // device and inode
	tmpfs  map[uint64]bool    // devices
}

// use is one process's own memory.
type use struct {
	pid    int
	bytes  int64
	tables int64 // page tables, within bytes

	virtual int64 // the size of its address space
}

// Total is an upper bound: what is mapped and held counts twice.
func (s Sample) Total() int64 { return s.Mapped + s.Held }

const tick = 1e9 / 100

// Take samples root and everything below it. A process that ends meanwhile is
// not counted. Deleted files are counted on the device disk; 0 is none.
func Take(root int, disk uint64) (Sample, error) {
	pids, err := Tree(root)
	if err != nil {
		return Sample{}, err
	}
	s := Sample{memfds: map[[2]uint64]bool{}, tmpfs: map[uint64]bool{}}
	files := fileSums{disk: disk, memfds: s.memfds, deleted: map[[2]uint64]bool{}}
	for i, pid := range append(pids, root) {
		st, err := ReadStat(pid, 0)
		if gone(err) {
			continue
		}
		if err != nil {
			return Sample{}, err
		}
		s.Threads += st.Threads
		s.CPU += st.Ticks * tick
		if i > 0 && pid != root {
			s.Work += st.Ticks * tick
		}
		u, err := readUse(pid)
		if gone(err) {
			continue
		}
		if err != nil {
			return Sample{}, err
		}
		s.Mapped += u.bytes
		s.each = append(s.each, u)
		err = files.add(pid, st.Threads)
		switch {
		case gone(err):
		case errors.Is(err, fs.ErrPermission):
			s.Blind++
		case err != nil:
			return Sample{}, err
		}
	}
	s.Held, s.Deleted = files.held, files.gone
	held, err := s.tmpfsUse(root)
	if err != nil {
		return Sample{}, err
	}
	queued, err := socketUse(root)
	if err != nil {
		return Sample{}, err
	}
	s.Held += held + queued
	return s, nil
}

// Work is the Work of a Sample alone, which any account may read.
func Work(root int) (int64, error) {
	pids, err := Tree(root)
	if err != nil || len(pids) == 0 {
		return 0, err
	}
	var sum int64
	for _, pid := range pids[1:] {
		st, err := ReadStat(pid, 0)
		if gone(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += st.Ticks * tick
	}
	return sum, nil
}

func readUse(pid int) (use, error) {
	text, err := readFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return use{}, err
	}
	u, err := parseUse(text)
	u.pid = pid
	return u, err
}

// parseUse reads /proc/PID/status. One that has ended has no memory and none
// of the lines.
func parseUse(text []byte) (use, error) {
	var u use
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "RssAnon", "RssShmem", "HugetlbPages", "VmSwap", "VmPTE", "VmSize":
		default:
			continue
		}
		n, err := kilobytes(rest)
		if err != nil {
			return use{}, fmt.Errorf("status of a process: line %q: %w", line, err)
		}
		if string(name) == "VmSize" {
			u.virtual = n
			continue
		}
		u.bytes += n
		if string(name) == "VmPTE" {
			u.tables = n
		}
	}
	return u, nil
}

// kilobytes reads "  123 kB" as bytes.
func kilobytes(text []byte) (int64, error) {
	f := bytes.Fields(text)
	if len(f) != 2 || string(f[1]) != "kB" {
		return 0, errors.New("is not understood")
	}
	n, err := strconv.ParseInt(string(f[0]), 10, 64)
	if err != nil {
		return 0, err
	}
	return n << 10, nil
}

// fileSums adds up files behind descriptors that no walk of a folder finds,
// each once over all processes.
type fileSums struct {
	disk    uint64
	held    int64
	gone    int64
	memfds  map[[2]uint64]bool
	deleted map[[2]uint64]bool
}

// add looks at every descriptor of a process. A thread can have a table of its
// own, which the process's folder in /proc does not show.
func (f *fileSums) add(pid, threads int) error {
	if err := f.table(fmt.Sprintf("/proc/%d/fd", pid)); err != nil || threads < 2 {
		return err
	}
	tids, err := Tasks(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if tid == pid || sameFiles(pid, tid) {
			continue
		}
		if err := f.table(fmt.Sprintf("/proc/%d/task/%d/fd", pid, tid)); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// sameFiles says that two threads share their descriptors; where the kernel
// does not tell, they are looked at twice.
func sameFiles(pid, tid int) bool {
	const kcmpFiles = 2
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(tid), kcmpFiles, 0, 0, 0)
	return errno == 0 && r == 0
}

func (f *fileSums) table(dir string) error {
	fds, err := numbers(dir)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		path := dir + "/" + strconv.Itoa(fd)
		name, err := os.Readlink(path)
		memfd := strings.HasPrefix(name, "/memfd:")
		if err != nil || !memfd && (f.disk == 0 || !strings.HasSuffix(name, " (deleted)")) {
			continue
		}
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			continue // closed meanwhile
		}
		key := [2]uint64{st.Dev, st.Ino}
		switch {
		case memfd && !f.memfds[key]:
			f.memfds[key] = true
			f.held += st.Blocks * 512
		case !memfd && st.Nlink == 0 && !f.deleted[key] && (st.Dev == f.disk || onOverlay(path)):
			f.deleted[key] = true
			f.gone += st.Blocks * 512
		}
	}
	return nil
}

// onOverlay says that a file lies on an overlay: inside, those that can be
// written keep what is new on the workspace's file system, under a device of
// their own.
func onOverlay(path string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// tmpfsUse sums what the sandbox's own tmpfs hold, seen through its first
// process. Where that is not readable they are left out.
func (s *Sample) tmpfsUse(root int) (int64, error) {
	var sum int64
	for _, dir := range []string{"tmp", "var/tmp", "run", "dev/shm"} {
		path := filepath.Join("/proc", strconv.Itoa(root), "root", dir)
		var st syscall.Statfs_t
		err := syscall.Statfs(path, &st)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("statfs /%s of the sandbox: %w", dir, err)
		}
		var at syscall.Stat_t
		if st.Type != tmpfsMagic || syscall.Stat(path, &at) != nil || s.tmpfs[at.Dev] {
			continue // none of its own, or one that was counted
		}
		s.tmpfs[at.Dev] = true
		sum += int64(st.Blocks-st.Bfree)*int64(st.Bsize) + int64(st.Files-st.Ffree)*nameBytes
	}
	return sum, nil
}

// nameBytes is what the kernel keeps of a file in a tmpfs beside its content:
// inode, name and list entry, which stay in memory as the content does.
const nameBytes = 1 << 10

const tmpfsMagic = 0x01021994
