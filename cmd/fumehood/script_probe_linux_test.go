package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelProbe is the program that scripts run inside to try one thing that a wall
// must refuse, and outside as the control that the same thing works there. It
// prints "ok" or the kernel's answer, and its status tells.
func kernelProbe(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: probe WHAT [ARG...]")
		return 2
	}
	run, ok := probes[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "probe: unknown probe %q\n", args[0])
		return 2
	}
	if err := run(args[1:]); err != nil {
		var errno unix.Errno
		if errors.As(err, &errno) {
			fmt.Printf("%s %s\n", args[0], unix.ErrnoName(errno))
		} else {
			fmt.Printf("%s: %v\n", args[0], err)
		}
		return 1
	}
	fmt.Printf("%s ok\n", args[0])
	return 0
}

var probes = map[string]func([]string) error{
	"unix": func(a []string) error { return probeDial("unix", a[0]) },
	"tcp":  func(a []string) error { return probeDial("tcp", a[0]) },
	"abstract": func(a []string) error {
		return probeDial("unix", "@"+a[0])
	},
	"read": func(a []string) error {
		b, err := os.ReadFile(a[0])
		os.Stdout.Write(bytes.ReplaceAll(b, []byte{0}, []byte{'\n'}))
		return err
	},
	"signal": func(a []string) error { return unix.Kill(number(a[0]), 0) },
	"term":   func(a []string) error { return unix.Kill(number(a[0]), unix.SIGTERM) },
	// It goes on when this process ends.
	"ptrace": func(a []string) error { return unix.PtraceSeize(number(a[0])) },
	"readmem": func(a []string) error {
		var b [8]byte
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		// The address does not matter: EFAULT says that the call got as far
		// as the other process's memory.
		_, err := unix.ProcessVMReadv(number(a[0]), local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
		if err == unix.EFAULT {
			return nil
		}
		return err
	},
	"pidfd": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 0, 0)
		return err
	},
	"tiocsti": func(a []string) error {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		for _, c := range []byte(a[0]) {
			if err := ioctlByte(tty, unix.TIOCSTI, c); err != nil {
				return err
			}
		}
		return nil
	},
	// The kernel reads 32 bits of the request: the upper ones must not hide it.
	"tiocsti-high": func(a []string) error {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return ioctlByte(tty, 1<<32|unix.TIOCSTI, a[0][0])
	},
	"tioclinux": func([]string) error {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return ioctlByte(tty, unix.TIOCLINUX, 2)
	},
	"mount":    func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") },
	"io_uring": func([]string) error { return raw(unix.SYS_IO_URING_SETUP, 1, 0) },
	"keyctl":   func([]string) error { return raw(unix.SYS_KEYCTL, 0, uintptr(0xfffffffd)) },
	"bpf":      func([]string) error { return raw(unix.SYS_BPF, 0, 0) },
	"mknod": func(a []string) error {
		return unix.Mknod(a[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	},
	"raw": func([]string) error {
		fd, err := unix.Open("/dev/tty", unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t := *old
		t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
		if err := unix.IoctlSetTermios(fd, unix.TCSETS, &t); err != nil {
			return err
		}
		return unix.IoctlSetTermios(fd, unix.TCSETS, old)
	},
	"spawn": func(a []string) error { // so many children that stay
		n := 0
		defer func() { fmt.Printf("%d started\n", n) }()
		for ; n < number(a[0]); n++ {
			if err := exec.Command("sleep", "300").Start(); err != nil {
				return err
			}
		}
		return nil
	},
	"eat": func(a []string) error { // memory, in MiB, touched and held
		b := make([]byte, number(a[0])<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		fmt.Println("eaten")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
}

func probeDial(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

func ioctlByte(f *os.File, request uint, c byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}

func raw(call, a, b uintptr) error {
	_, _, errno := unix.Syscall(call, a, b, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		fmt.Fprintf(os.Stderr, "probe: %v\n", err)
		os.Exit(2)
	}
	return n
}
