package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// credentialActions are those of tests 1 and 4: reading what may not be read.
var credentialActions = map[string]action{
	"read":      func(a map[string]string) Said { return readWhole(a["path"]) },
	"carry out": carryOut,
	"processes": everyProcess,
	"memory":    scanMemory,
	"git":       runGit,
	"objects":   inflateObjects,
}

// credentialChildren is what the probe is started again for by them.
var credentialChildren = map[string]func([]string) int{Carrier: carrier}

// Carrier is the first argument that makes a process which holds its second as
// a secret: in its environment, when it is started so, its command line and its
// memory. It says one line when it is ready and ends with its standard input.
const Carrier = "carrier"

func carrier(args []string) int {
	held := []byte(strings.Join(args, " "))
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until it ends, whatever comes
	// Written after the wait, so that the memory is in use all the while.
	_, _ = io.Discard.Write(held)
	return 0
}

// chunk is as much as the kernel hands out of most files of /proc at once, and
// as a tracer keeps of one call.
const chunk = 4096

// readWhole reads a file to its end, in chunks that a tracer sees whole.
func readWhole(path string) Said {
	b, err := readUpTo(path, MaxGot)
	return Said{Errno: errnoOf(err), Got: b}
}

func readUpTo(path string, most int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // only read
	var out []byte
	buf := make([]byte, chunk)
	for len(out) < most {
		n, err := unix.Read(fd, buf)
		if err != nil || n <= 0 {
			return out, err
		}
		out = append(out, buf[:n]...)
	}
	return out, nil
}

func errnoOf(err error) int {
	var e syscall.Errno
	if errors.As(err, &e) {
		return int(e)
	}
	return 0
}

// carryOut tries to bring a file's text out by each way that a command has: its
// output and a file of the workspace.
func carryOut(args map[string]string) Said {
	text, err := readUpTo(args["from"], 64<<10)
	said := Said{Errno: errnoOf(err), Got: text}
	fd, err := unix.Open(args["to"], unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err == nil {
		_, err = unix.Write(fd, append([]byte("carried: "), text...))
		err = errors.Join(err, unix.Close(fd))
	}
	if err != nil {
		return Said{Err: err.Error()}
	}
	if _, err := fmt.Fprintf(os.Stdout, "\ncarried: %s\n", text); err != nil {
		return Said{Err: err.Error()}
	}
	return said
}

// numbers lists the processes that /proc shows.
func numbers() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out, nil
}

// everyProcess reads one file of every process that shows, at most 64 KiB each.
func everyProcess(args map[string]string) Said {
	pids, err := numbers()
	if err != nil {
		return Said{Err: err.Error()}
	}
	var s Said
	opened := 0
	for _, pid := range pids {
		b, err := readUpTo(fmt.Sprintf("/proc/%d/%s", pid, args["file"]), 64<<10)
		if err == nil {
			opened++
		}
		if len(s.Got)+len(b) <= MaxGot {
			s.Got = append(s.Got, b...)
		}
	}
	s.Text = fmt.Sprintf("%d of %d processes", opened, len(pids))
	return s
}

// marks is the form of the made-up texts of the wall tests. Nothing else of
// what lies in memory is handed out.
const marks = `fh[scd][0-9a-f]{16}`

// The most that a scan reads.
const (
	mostMemory  = 64 << 20 // in all
	mostProcess = 12 << 20 // of one process
)

// scanMemory reads the writable memory of the process that "first" names, of
// itself, of those above it, of process 1 and then of all others that show.
// "decoy" lies in its own memory meanwhile; with "only" it stops after itself.
func scanMemory(args map[string]string) Said {
	decoy := strings.Clone(args["decoy"])
	defer runtime.KeepAlive(&decoy)
	pids := []int{os.Getpid()}
	if args["only"] == "" {
		if n, err := strconv.Atoi(args["first"]); err == nil {
			pids = append(pids, n)
		}
		pids = append(pids, os.Getppid(), 1)
		more, err := numbers()
		if err != nil {
			return Said{Err: err.Error()}
		}
		pids = append(pids, more...)
	}
	var s Said
	left, scanned := mostMemory, 0
	find := regexp.MustCompile(marks)
	done := map[int]bool{}
	for _, pid := range pids {
		if done[pid] || left <= 0 {
			continue
		}
		done[pid] = true
		n, err := scanProcess(pid, min(left, mostProcess), func(b []byte) {
			for _, m := range find.FindAll(b, -1) {
				s.Got = append(append(s.Got, m...), '\n')
			}
		})
		if n > 0 {
			scanned++
		}
		if err != nil && s.Errno == 0 {
			s.Errno = errnoOf(err)
		}
		left -= n
	}
	s.Text = fmt.Sprintf("%d bytes of %d processes, beside %d bytes of its own", mostMemory-left, scanned, len(decoy))
	return s
}

// window is how much is read at once. Two overlap by a page, since a text may
// lie across the border.
const window = 1 << 20

func scanProcess(pid, most int, look func([]byte)) (int, error) {
	maps, err := readUpTo(fmt.Sprintf("/proc/%d/maps", pid), 4<<20)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) // only read
	pages, err := unix.Open(fmt.Sprintf("/proc/%d/pagemap", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(pages) // only read
	}
	buf := make([]byte, window)
	total, page := 0, uint64(os.Getpagesize())
	for line := range strings.Lines(string(maps)) {
		start, end, ok := writable(line)
		for at := start; ok && at < end && total < most; at += window - page {
			size := min(window, end-at)
			first := at
			if at > start {
				first += page // that one was read before, which makes it used
			}
			if !inMemory(pages, first, at+size) {
				continue
			}
			n, err := unix.Pread(fd, buf[:size], int64(at))
			if err != nil || n <= 0 {
				break // this part can't be read; the next may
			}
			total += n
			look(buf[:n])
		}
	}
	return total, nil
}

// writable is the part of memory that a line of a maps file tells of.
func writable(line string) (start, end uint64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 2 || !strings.HasPrefix(f[1], "rw") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	start, err1 := strconv.ParseUint(from, 16, 63)
	end, err2 := strconv.ParseUint(to, 16, 63)
	return start, end, err1 == nil && err2 == nil
}

// inMemory says whether some page of a part of memory was ever used: programs
// reserve far more than they use. Where that can't be told, it says yes.
func inMemory(pagemap int, from, to uint64) bool {
	if pagemap < 0 {
		return true
	}
	page := uint64(os.Getpagesize())
	entries := make([]byte, 8*((to+page-1)/page-from/page))
	n, err := unix.Pread(pagemap, entries, int64(from/page*8))
	if err != nil || n <= 0 {
		return true
	}
	for e := entries[:n-n%8]; len(e) > 0; e = e[8:] {
		const presentOrSwapped = 3 << 62
		if binary.NativeEndian.Uint64(e)&presentOrSwapped != 0 {
			return true
		}
	}
	return false
}
