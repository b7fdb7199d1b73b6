package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// strengthActions are those of test 14: strength.
var strengthActions = map[string]action{
	"setuid-copy":    setuidCopy,
	"user-namespace": userNamespace,
	"signal-child":   signalChild,
	"read-memory":    readMemory,
	"type":           typeIn,
	"i386":           i386,
	"same-mtu":       sameMTU,
}

// strengthChildren is what the probe starts again for them.
var strengthChildren = map[string]func([]string) int{
	"again":  again,
	"victim": victim,
	"ids":    func([]string) int { _, _, _ = unix.RawSyscall(unix.SYS_GETEUID, 0, 0, 0); return 0 },
	"wait":   func([]string) int { _, _ = io.Copy(io.Discard, os.Stdin); return 0 },
	"typist": typist,
	"nop":    func([]string) int { return 0 },
	"stay":   stay, // test 12's
}

// Again is the first argument that makes the program start itself as a probe,
// on its own streams: where no wall stands, with a process between.
const Again = "again"

// Victim is the first argument that makes the program wait for signals.
const Victim = "victim"

// self is a command that runs this program again as one of the children.
func self(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	return cmd
}

func again([]string) int {
	cmd := self()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 3
	}
	return 0
}

// victim says where a secret lies in its memory and then each signal that it
// receives, until its standard input ends. It is what others try to reach.
func victim(args []string) int {
	secret := []byte(strings.Join(args, " "))
	if len(secret) == 0 {
		return 2
	}
	got := make(chan os.Signal, 256)
	for n := 1; n < 65; n++ {
		if s := syscall.Signal(n); s != unix.SIGURG { // the runtime's own
			signal.Notify(got, s)
		}
	}
	_, _ = fmt.Fprintf(os.Stdout, "victim %d %d\n", os.Getpid(), uintptr(unsafe.Pointer(&secret[0])))
	end := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(end) }()
	for {
		select {
		case s := <-got:
			if n, ok := s.(syscall.Signal); ok {
				_, _ = fmt.Fprintf(os.Stdout, "signal %d\n", int(n))
			}
		case <-end:
			_, _ = fmt.Fprintf(os.Stdout, "%s\n", secret)
			return 0
		}
	}
}

// said is an action's outcome by its error.
func said(err error) Said {
	var e syscall.Errno
	switch {
	case err == nil:
		return Said{}
	case errors.As(err, &e):
		return Said{Errno: int(e), Step: 1, Text: err.Error()}
	}
	return Said{Err: err.Error()}
}

// setuidCopy makes a set-user-id copy of this program and runs it.
func setuidCopy(args map[string]string) Said {
	path := args["path"]
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return said(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return said(err)
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Close()); err != nil {
		return said(err)
	}
	if err := unix.Chmod(path, 0o4755); err != nil {
		return said(err)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_GETEUID, 0, 0, 0) // to compare with
	cmd := exec.Command(path, "ids")
	cmd.Args[0] = os.Args[0]
	return said(cmd.Run())
}

// userNamespace starts a child in a user namespace of its own, as a process of
// one thread could make one by unshare.
func userNamespace(map[string]string) Said {
	cmd := self("nop")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return said(cmd.Run())
}

// signalChild ends a child by a signal.
func signalChild(map[string]string) Said {
	cmd := self("wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		return said(err)
	}
	if err := cmd.Start(); err != nil {
		return said(err)
	}
	err = unix.Kill(cmd.Process.Pid, unix.SIGTERM)
	_ = in.Close() // ends it where the signal did not
	_ = cmd.Wait() // ended by a signal, which is no success
	return said(err)
}

// readMemory reads another process' memory.
func readMemory(args map[string]string) Said {
	pid, err1 := strconv.Atoi(args["pid"])
	addr, err2 := strconv.ParseUint(args["addr"], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return Said{Err: err.Error()}
	}
	buf := make([]byte, 16)
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: 16}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: 16}}, 0)
	s := said(err)
	if err == nil {
		s.Got = buf[:n]
	}
	return s
}

// typeIn starts a child with a terminal of its own, into which that types.
func typeIn(map[string]string) Said {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return said(err)
	}
	defer master.Close()
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return said(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return said(err)
	}
	slave, err := os.OpenFile(filepath.Join("/dev/pts", strconv.Itoa(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return said(err)
	}
	defer slave.Close()
	cmd := self("typist")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return said(cmd.Run())
}

// The terminal requests that are refused, and the bit above them that a filter
// on all 64 bits would be passed by (the kernel looks at 32).
const (
	TypeRequest  = 0x5412 // TIOCSTI
	PasteRequest = 0x541c // TIOCLINUX
	HighBit      = 1 << 32
)

// typist types into its own controlling terminal. The paste request asks only
// which console is in front.
func typist([]string) int {
	var term unix.Termios
	char := [2]byte{12}
	for _, request := range []uintptr{unix.TCGETS, TypeRequest, TypeRequest | HighBit, PasteRequest, PasteRequest | HighBit} {
		to := unsafe.Pointer(&char)
		if request == unix.TCGETS {
			to = unsafe.Pointer(&term)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, 0, request, uintptr(to)) // the tracer reads the answers
	}
	return 0
}

// i386 makes calls of the 32-bit ABI with arguments that nothing accepts.
func i386(args map[string]string) Said {
	if !hasInt80 {
		return Said{Err: "this machine's programs have one ABI"}
	}
	var s Said
	for _, text := range strings.Split(args["calls"], ",") {
		nr, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return Said{Err: err.Error()}
		}
		const bad = 0xffffffff
		s.Text += fmt.Sprintf(" %d=%d", nr, int80(uint32(nr), bad, bad, bad))
	}
	return s
}

// sameMTU sets the loopback interface's packet size to what it is, which only
// a capability over the network namespace allows.
func sameMTU(map[string]string) Said {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return said(err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return said(err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, req); err != nil {
		return said(err)
	}
	return said(unix.IoctlIfreq(fd, unix.SIOCSIFMTU, req))
}
