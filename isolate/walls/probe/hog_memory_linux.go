package probe

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// touchPages writes to each page.
func touchPages(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

func hogMemory(args map[string]string) Said {
	g, err := greedOf(args)
	if err != nil {
		return noHog(err)
	}
	// Nothing is collected meanwhile: a runtime that is refused a page ends.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var h memoryHog
	defer h.free()
	step, chunk := h.step(args["how"])
	if step == nil {
		return noHog(fmt.Errorf("no way %q to take memory", args["how"]))
	}
	return g.grow(chunk, step)
}

// memoryHog is what it has taken.
type memoryHog struct {
	maps  [][]byte
	files []int
	kids  []int
	done  []byte // shared with the newest child, which sets it
}

func (h *memoryHog) step(how string) (func() error, int64) {
	switch how {
	case "one":
		return func() error { return h.mapped(4*mib, true) }, 4 * mib
	case "many":
		return h.forked, 12 * mib
	case "memfd":
		return func() error { return h.file("memfd", 8*mib) }, 8 * mib
	case "flight":
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			h.files = append(h.files, pair[0], pair[1])
		}
		return func() error {
			if err != nil {
				return fmt.Errorf("socketpair: %w", err)
			}
			return h.sent(pair[0])
		}, 4 * mib
	case "files":
		dirs := []string{"/dev/shm", "/tmp"}
		return func() error { return h.file(dirs[len(h.files)%2], 8*mib) }, 8 * mib
	case "shared":
		return h.unmapped, 4 * mib
	case "segments":
		return h.segments, 4 * mib
	}
	return nil, 0
}

func (h *memoryHog) mapped(size int, now bool) error {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		// The last piece goes back at once: the runtime needs some to tell of it.
		if n := len(h.maps); n > 0 {
			_ = unix.Munmap(h.maps[n-1]) // it is the hog's own
			h.maps = h.maps[:n-1]
		}
		return fmt.Errorf("mmap: %w", err)
	}
	h.maps = append(h.maps, b)
	if now {
		touchPages(b)
	}
	return nil
}

// unmapped fills shared memory and drops it from the page tables: it is still
// there, and counts for no process.
func (h *memoryHog) unmapped() error {
	b, err := unix.Mmap(-1, 0, 4*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	h.maps = append(h.maps, b)
	touchPages(b)
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("madvise: %w", err)
	}
	return nil
}

// forked makes one more process, which writes to its copy of the same pages.
func (h *memoryHog) forked() error {
	if len(h.maps) == 0 {
		if err := h.mapped(12*mib, false); err != nil {
			return err
		}
	}
	if h.done == nil {
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
		if err != nil {
			return fmt.Errorf("mmap: %w", err)
		}
		h.done = b
	}
	h.done[0] = 0
	pid, errno := forkChild(h.maps[0], h.done)
	if errno != 0 {
		return fmt.Errorf("clone: %w", errno)
	}
	h.kids = append(h.kids, pid)
	for end := time.Now().Add(5 * time.Second); !isSet(h.done); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("a process did not take its memory within 5s")
		}
	}
	return nil
}

// file fills a file in memory that has no name.
func (h *memoryHog) file(dir string, size int) error {
	var fd int
	var err error
	if dir == "memfd" {
		fd, err = unix.MemfdCreate("fumehood-hog", unix.MFD_CLOEXEC)
	} else {
		fd, err = unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		return fmt.Errorf("open a file of %s: %w", dir, err)
	}
	h.files = append(h.files, fd)
	return fill(fd, size)
}

func fill(fd, size int) error {
	b := make([]byte, mib)
	for size > 0 {
		n, err := unix.Write(fd, b[:min(len(b), size)])
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		size -= n
	}
	return nil
}

// sent leaves a file in memory in a socket's queue, and nowhere else.
func (h *memoryHog) sent(to int) error {
	fd, err := unix.MemfdCreate("fumehood-hog", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(fd)
	if err := fill(fd, 4*mib); err != nil {
		return err
	}
	if err := unix.Sendmsg(to, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_DONTWAIT); err != nil {
		return fmt.Errorf("sendmsg: %w", err)
	}
	return nil
}

// segments takes 64 small System V segments, which go with the process.
func (h *memoryHog) segments() error {
	for range 64 {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 64<<10, unix.IPC_CREAT|0o600)
		if err != nil {
			return fmt.Errorf("shmget: %w", err)
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		// Marked at once: it is gone with the last that has it attached.
		_, ctlErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		if err != nil || ctlErr != nil {
			return fmt.Errorf("shmat: %w", firstOf(err, ctlErr))
		}
		touchPages(b)
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *memoryHog) free() {
	reap(h.kids)
	for _, b := range append(h.maps, h.done) {
		_ = unix.Munmap(b) // its own, or nothing
	}
	for _, fd := range h.files {
		_ = unix.Close(fd) // without a name it is gone
	}
}

func reap(kids []int) {
	for _, pid := range kids {
		_ = unix.Kill(pid, unix.SIGKILL) // gone already, or not reaped yet
	}
	for _, pid := range kids {
		for {
			_, err := unix.Wait4(pid, nil, 0, nil)
			if err != unix.EINTR {
				break
			}
		}
	}
}

// forkChild makes a process that writes to b and then waits for its end, which
// comes with that of this thread. The child is a copy of this one thread: it
// makes plain calls alone, since of a runtime it has only a torso.
//
//go:norace
func forkChild(b, done []byte) (int, unix.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || r != 0 {
		return int(r), errno
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	if len(done) > 0 {
		done[0] = 1
	}
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// hogDetached makes small System V segments until there may be no more, and
// touches none of them. They are kept only where they go with their namespace.
func hogDetached(args map[string]string) Said {
	const most = 6000 // the kernel's own default is 4096
	var ids []int
	defer func() {
		if args["keep"] == "yes" {
			return
		}
		for _, id := range ids {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // its own
		}
	}()
	for range most {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 64<<10, unix.IPC_CREAT|0o600)
		if err != nil {
			return Said{Text: fmt.Sprintf("%d segments, then %v", len(ids), err), Step: 1}
		}
		ids = append(ids, id)
	}
	return Said{Text: HogUnstopped}
}

// isSet reads what another process writes.
//
//go:noinline
func isSet(b []byte) bool { return b[0] != 0 }
