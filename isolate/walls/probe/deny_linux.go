package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/calls"
)

// Deny is the first argument that makes a probe's file start its other ones as
// a command on a machine that lacks something: the second argument is JSON of a
// Lack.
const Deny = "deny"

// Lack is what a machine is made to lack.
type Lack struct {
	Call  string `json:"call,omitempty"`  // answered with Errno; "" is none
	Arg   int    `json:"arg,omitempty"`   // looked at when Bits or Equal is set
	Bits  uint32 `json:"bits,omitempty"`  // only when one of these bits is set in Arg
	Equal uint32 `json:"equal,omitempty"` // only when Arg is this
	Errno uint16 `json:"errno,omitempty"`
	// Bare covers this folder by an empty one first, in a mount namespace of
	// the command's own.
	Bare string `json:"bare,omitempty"`
}

var denyChildren = map[string]func([]string) int{Deny: deny}

func deny(args []string) int {
	if err := lacking(args); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if exit.ExitCode() >= 0 {
				return exit.ExitCode()
			}
			if ws, ok := exit.Sys().(syscall.WaitStatus); ok {
				return 128 + int(ws.Signal())
			}
		}
		fmt.Fprintf(os.Stderr, "deny: %v\n", err)
		return 2
	}
	return 0
}

func lacking(args []string) error {
	if len(args) < 2 {
		return errors.New("no command")
	}
	var l Lack
	if err := json.Unmarshal([]byte(args[0]), &l); err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if l.Bare != "" {
		return covered(l, args)
	}
	if l.Call != "" {
		if err := l.install(); err != nil {
			return err
		}
	}
	return cmd.Run()
}

// Instructions and values of classic BPF (bpf(4)) and seccomp(2).
const (
	bpfLoad, bpfEqual, bpfSet, bpfReturn = 0x20, 0x15, 0x45, 0x06

	retAllow, retErrno = 0x7fff0000, 0x00050000
	argsAt             = 16 // of the arguments in struct seccomp_data
)

func (l Lack) install() error {
	nr, ok := calls.Number(l.Call)
	if !ok {
		return fmt.Errorf("no call %q", l.Call)
	}
	prog := []unix.SockFilter{{Code: bpfLoad}, {Code: bpfEqual, Jf: 1, K: uint32(nr)}}
	switch {
	case l.Bits != 0:
		prog[1].Jf = 3
		prog = append(prog, unix.SockFilter{Code: bpfLoad, K: uint32(argsAt + 8*l.Arg)}, unix.SockFilter{Code: bpfSet, Jf: 1, K: l.Bits})
	case l.Equal != 0:
		prog[1].Jf = 3
		prog = append(prog, unix.SockFilter{Code: bpfLoad, K: uint32(argsAt + 8*l.Arg)}, unix.SockFilter{Code: bpfEqual, Jf: 1, K: l.Equal})
	}
	prog = append(prog, unix.SockFilter{Code: bpfReturn, K: retErrno | uint32(l.Errno)}, unix.SockFilter{Code: bpfReturn, K: retAllow})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if os.Getuid() != 0 { // root may load a filter without
		if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
			return fmt.Errorf("no_new_privs: %w", e)
		}
	}
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); e != 0 {
		return fmt.Errorf("filter: %w", e)
	}
	runtime.KeepAlive(prog)
	return nil
}

// covered starts this program once more in namespaces of its own, where it
// covers the folder, and there the command.
func covered(l Lack, args []string) error {
	cmd := exec.Command("/proc/self/exe", "cover", l.Bare)
	cmd.Args = append(append([]string{os.Args[0]}, cmd.Args[1:]...), args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Getuid() == 0 { // root needs no user namespace for it, and would lack other ids in one
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		return cmd.Run()
	}
	uid, gid := os.Getuid(), os.Getgid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
	return cmd.Run()
}

var coverChildren = map[string]func([]string) int{"cover": cover}

func cover(args []string) int {
	if len(args) < 2 {
		return 2
	}
	// Nothing of it may reach the host's own mount table.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fmt.Fprintf(os.Stderr, "cover %s: %v\n", args[0], err)
		return 2
	}
	if err := unix.Mount("fumehood", args[0], "tmpfs", 0, "size=1m"); err != nil {
		fmt.Fprintf(os.Stderr, "cover %s: %v\n", args[0], err)
		return 2
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() >= 0 {
			return exit.ExitCode()
		}
		fmt.Fprintf(os.Stderr, "cover: %v\n", err)
		return 2
	}
	return 0
}
