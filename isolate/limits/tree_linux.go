package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxTree bounds one walk. RLIMIT_NPROC bounds a sandbox far below it.
const maxTree = 200_000

// Tree lists the processes below root in the host's /proc, without root. A
// process whose parent ended belongs to root, the first of its pid namespace,
// so none escapes; but one that moves during the walk can be missed by it.
func Tree(root int) ([]int, error) {
	out, err := byChildren(root)
	if errors.Is(err, errNoChildren) {
		return byParents(root)
	}
	return out, err
}

var errNoChildren = errors.New("this kernel lists no children in /proc")

// byChildren costs as much as the tree is large, not as the machine is.
func byChildren(root int) ([]int, error) {
	var out []int
	queue := []int{root}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		kids, err := children(pid)
		if gone(err) && pid != root {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(out)+len(kids) > maxTree {
			return nil, fmt.Errorf("more than %d processes below %d", maxTree, root)
		}
		out = append(out, kids...)
		queue = append(queue, kids...)
	}
	return out, nil
}

func children(pid int) ([]int, error) {
	tasks, err := Tasks(pid)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, tid := range tasks {
		text, err := readFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, tid))
		if errors.Is(err, fs.ErrNotExist) {
			if _, serr := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); serr != nil {
				return nil, errNoChildren
			}
			continue // the thread ended
		}
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range strings.Fields(string(text)) {
			kid, err := strconv.Atoi(f)
			if err != nil {
				return nil, fmt.Errorf("children of %d: %w", pid, err)
			}
			out = append(out, kid)
		}
	}
	return out, nil
}

// Tasks lists the threads of a process.
func Tasks(pid int) ([]int, error) { return numbers(fmt.Sprintf("/proc/%d/task", pid)) }

func numbers(dir string) ([]int, error) {
	fd, err := open(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // only read from
	var out []int
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: dir, Err: err}
		}
		if n == 0 {
			return out, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if id, err := strconv.Atoi(name); err == nil {
				out = append(out, id)
			}
		}
	}
}

// open and readFile are os's without its poller, which costs four calls more
// for each file: a look opens hundreds.
func open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return fd, nil
	}
}

func readFile(path string) ([]byte, error) {
	fd, err := open(path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // only read from
	out := make([]byte, 0, 2<<10)
	for {
		n, err := unix.Read(fd, out[len(out):cap(out)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return out, nil
		}
		out = out[:len(out)+n]
		if len(out) == cap(out) {
			out = slices.Grow(out, len(out))
		}
	}
}

// byParents reads every process of the machine.
func byParents(root int) ([]int, error) {
	pids, err := numbers("/proc")
	if err != nil {
		return nil, err
	}
	kids := map[int][]int{}
	for _, pid := range pids {
		st, err := ReadStat(pid, 0)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		kids[st.Parent] = append(kids[st.Parent], pid)
	}
	var out []int
	queue := []int{root}
	for len(queue) > 0 {
		k := kids[queue[0]]
		delete(kids, queue[0])
		queue = append(queue[1:], k...)
		out = append(out, k...)
	}
	slices.Sort(out)
	return out, nil
}

// Stat is what /proc says of one process or thread.
type Stat struct {
	Parent  int
	State   byte  // as ps shows it: R S D T t Z X I
	Threads int   // of the process
	Ticks   int64 // user and system time, in hundredths of a second
	RSS     int64 // bytes
	Start   string
}

// ReadStat reads a process, or its thread tid when that is not 0.
func ReadStat(pid, tid int) (Stat, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	if tid != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid)
	}
	text, err := readFile(path)
	if err != nil {
		return Stat{}, err
	}
	return parseStat(text)
}

func parseStat(text []byte) (Stat, error) {
	// The name is in parentheses and may hold anything, parentheses too.
	end := bytes.LastIndexByte(text, ')')
	f := bytes.Fields(text[end+1:])
	if end < 0 || len(f) < 22 {
		return Stat{}, fmt.Errorf("stat of a process: %d fields", len(f))
	}
	var nums [22]int64
	for _, i := range []int{1, 11, 12, 17, 21} {
		n, err := strconv.ParseInt(string(f[i]), 10, 64)
		if err != nil {
			return Stat{}, fmt.Errorf("stat of a process: field %d: %w", i+3, err)
		}
		nums[i] = n
	}
	return Stat{
		Parent: int(nums[1]), State: f[0][0], Threads: int(nums[17]), Ticks: nums[11] + nums[12],
		RSS: nums[21] * int64(os.Getpagesize()), Start: string(f[19]),
	}, nil
}

// gone says that a process ended between two reads.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
