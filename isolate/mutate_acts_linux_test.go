package isolate_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/testkit"
)

func init() { parts["act"] = act }

// act does one harmless thing inside and prints what came of it: a word, or the
// errno's name; "0" is success.
func act() {
	do, ok := acts[os.Getenv("TEST_ACT")]
	if !ok {
		do = trial
	}
	fmt.Println(do(os.Getenv("TEST_ARG")))
}

func said(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

func raw(nr int, args ...uintptr) string {
	var a [6]uintptr
	copy(a[:], args)
	_, _, e := syscall.RawSyscall6(uintptr(nr), a[0], a[1], a[2], a[3], a[4], a[5])
	if e == 0 {
		return "0"
	}
	return unix.ErrnoName(e)
}

// trial is the trial of the filter's group of that name.
func trial(group string) string {
	t, _, ok := seccomp.TrialOf(seccomp.Group(group))
	if !ok {
		return "no trial of " + group
	}
	a := t.Args
	return raw(int(seccomp.Native().Calls[t.Call]), uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
}

func open(path string, flags int) string {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0o600)
	if err == nil {
		err = unix.Close(fd)
	}
	return said(err)
}

func content(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return said(err)
	}
	return strings.TrimSpace(string(text))
}

var acts = map[string]func(string) string{
	"read":   func(p string) string { return open(p, unix.O_RDONLY) },
	"write":  func(p string) string { return open(p, unix.O_WRONLY) },
	"create": func(p string) string { return open(p, unix.O_WRONLY|unix.O_CREAT) },
	"mkdir":  func(p string) string { return said(unix.Mkdir(p, 0o700)) },
	"show":   content,
	"nslink": func(p string) string { to, _ := os.Readlink(p); return to },
	"some": func(p string) string {
		switch content(p) {
		case "", "EACCES":
			return "nothing"
		}
		return "content"
	},
	"list": func(p string) string {
		d, err := os.Open(p)
		if err != nil {
			return said(err)
		}
		_, err = d.Readdirnames(-1)
		return said(err)
	},
	"chmod": func(p string) string { return said(unix.Chmod(p, 0o600)) },
	"chmod as it is": func(p string) string {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			return said(err)
		}
		return said(unix.Chmod(p, st.Mode&0o7777))
	},
	"signal": func(pid string) string {
		n, _ := strconv.Atoi(pid)
		return said(unix.Kill(n, 0))
	},
	"descriptor": func(fd string) string {
		n, _ := strconv.Atoi(fd)
		_, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		return said(err)
	},
	"connect": func(addr string) string {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return said(err)
	},
	"segment": func(key string) string {
		n, _ := strconv.Atoi(key)
		return raw(unix.SYS_SHMGET, uintptr(n), 0, 0)
	},
	"uname": func(string) string {
		var u unix.Utsname
		_ = unix.Uname(&u)
		return unix.ByteSliceToString(u.Nodename[:])
	},
	"status": func(key string) string {
		for line := range strings.Lines(content("/proc/self/status")) {
			if k, v, _ := strings.Cut(line, ":"); k == key {
				return strings.TrimSpace(v)
			}
		}
		return "absent"
	},
	"hold": func(p string) string {
		f, err := os.Open(p)
		if err != nil {
			return said(err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return said(err)
		}
		for {
			_ = unix.Pause() // until it is ended; a select would be a deadlock to the runtime
		}
	},
	"mtu": func(string) string {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return said(err)
		}
		req, _ := unix.NewIfreq("lo")
		req.SetUint32(65536)
		return said(unix.IoctlIfreq(fd, unix.SIOCSIFMTU, req))
	},
	"affinity": func(string) string {
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(0, &set)
		return fmt.Sprint(set.Count())
	},
	"watches": func(string) string {
		n := 0
		for ; ; n++ {
			if _, err := unix.InotifyInit(); err != nil {
				return fmt.Sprint(n)
			}
		}
	},
	"fork": func(count string) string {
		n, _ := strconv.Atoi(count)
		var err error
		for range n {
			if _, err = syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, &syscall.ProcAttr{}); err != nil {
				break
			}
		}
		return said(err)
	},
	"map": func(size string) string {
		n, _ := strconv.Atoi(size)
		_, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		return said(err)
	},
	"dup": func(fd string) string {
		n, _ := strconv.Atoi(fd)
		return said(unix.Dup3(0, n, 0))
	},
	"grow": func(size string) string {
		signal.Ignore(syscall.SIGXFSZ)
		return inFile("grown", func(fd int) error { n, _ := strconv.ParseInt(size, 10, 64); return unix.Ftruncate(fd, n) })
	},
	"fill": func(size string) string {
		return inFile("/tmp/filled", func(fd int) error { n, _ := strconv.ParseInt(size, 10, 64); return unix.Fallocate(fd, 0, 0, n) })
	},
	"core": func(string) string {
		one := unix.Rlimit{Cur: 1, Max: 1}
		return said(unix.Prlimit(0, unix.RLIMIT_CORE, &one, nil))
	},
	"effective id": func(string) string { return fmt.Sprint(os.Geteuid()) },
	"trace me":     func(string) string { return raw(unix.SYS_PTRACE) },
	"32-bit getpid": func(string) string {
		if got := testkit.Int80(20, 0, 0, 0); got < 0 {
			return unix.ErrnoName(syscall.Errno(-got))
		}
		return "0"
	},

	// Real uses of what groups of the filter refuse.
	"lease": func(string) string {
		return inFile("leased", func(fd int) error { _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); return err })
	},
	"no dump": func(string) string {
		const noDump = 0x40 // FS_NODUMP_FL
		return inFile("flagged", func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump) })
	},
	"line discipline": func(string) string {
		fd, err := unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return said(err)
		}
		return said(unix.IoctlSetPointerInt(fd, unix.TIOCSETD, 0))
	},
	"read self": func(string) string {
		var from, to [1]byte
		from[0] = 1
		_, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &to[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 1}}, 0)
		return said(err)
	},
	"listener": func(string) string {
		allow := unix.SockFilter{Code: 6, K: 0x7fff0000}
		prog := unix.SockFprog{Len: 1, Filter: &allow}
		return raw(unix.SYS_SECCOMP, 1, 8, uintptr(unsafe.Pointer(&prog)))
	},
	"executable reads": func(string) string { return raw(unix.SYS_PERSONALITY, 0x400000) },
	"generic netlink":  func(string) string { return raw(unix.SYS_SOCKET, 16, 3, 16) },
	"MPTCP":            func(string) string { return raw(unix.SYS_SOCKET, 2, 1, 262) },
	"fast open": func(addr string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return said(err)
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return said(err)
		}
		to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
		return said(unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to))
	},
	"large segment": func(string) string { return raw(unix.SYS_SHMGET, 0, 1<<20, 0o1600) },
	"large set":     func(string) string { return raw(unix.SYS_SEMGET, 0, 65, 0o1600) },
	"io_uring": func(string) string {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	},
	"context": func(string) string {
		var ctx uintptr
		return raw(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&ctx)))
	},
	"key": func(string) string {
		_, err := unix.AddKey("user", "fumehood-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return said(err)
	},
	"secret": func(string) string { return raw(unix.SYS_MEMFD_SECRET, 0) },
	"page into a pipe": func(string) string {
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			return said(err)
		}
		var b [1]byte
		_, err := unix.Vmsplice(p[1], []unix.Iovec{{Base: &b[0], Len: 1}}, 0)
		return said(err)
	},
	"pages into a socket": func(string) string {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return said(err)
		}
		return said(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1))
	},
	"userfault": func(string) string { return raw(unix.SYS_USERFAULTFD, 1) },
	"clock": func(string) string {
		_, err := unix.Adjtimex(new(unix.Timex))
		return said(err)
	},
	"bind to processors": func(string) string {
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(0, &set)
		return said(unix.SchedSetaffinity(0, &set))
	},
	"handle": func(p string) string {
		_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p, 0)
		return said(err)
	},
	"list mounts": func(string) string {
		req := [3]uint64{24, ^uint64(0)} // its size; the own root
		var ids [64]uint64
		_, _, e := syscall.RawSyscall6(unix.SYS_LISTMOUNT, uintptr(unsafe.Pointer(&req)), uintptr(unsafe.Pointer(&ids)), 64, 0, 0, 0)
		return said(errnoOf(e))
	},
	"new user namespace": func(string) string {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return said(cmd.Run())
	},
	"change root": func(p string) string { return said(unix.Chroot(p)) },
	"placement":   func(string) string { return raw(unix.SYS_SET_MEMPOLICY, 0, 0, 0) },
}

func errnoOf(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func inFile(path string, do func(fd int) error) string {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return said(err)
	}
	return said(do(fd))
}
