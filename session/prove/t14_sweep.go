package prove

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/walls/calls"
	"fumehood/isolate/walls/probe"
)

const none = 1<<64 - 1 // a descriptor, pointer or process that is nobody's

// groupCalls is one call for each row of a group of the filter, with arguments for which
// the row holds, and else with descriptors and pointers that the kernel's own code
// refuses. All are harmless where nothing is in the way.
func groupCalls(g seccomp.Group) []dangerous {
	native := seccomp.Native()
	var out []dangerous
	add := func(call string, args [6]uint64, errno uint16) {
		if nr, ok := native.Calls[call]; ok {
			out = append(out, dangerous{native.Audit, uint64(nr), args, syscall.Errno(errno)})
		}
	}
	if t, errno, ok := seccomp.TrialOf(g); ok {
		add(t.Call, t.Args, errno)
	}
	for _, r := range seccomp.Table() {
		// vhangup takes no argument that could keep it from being done: where no
		// wall stands it would hang up root's own terminal.
		if r.Group == g && r.Call != "vhangup" {
			add(r.Call, harmless(r), r.Errno)
		}
	}
	return out
}

// harmless is arguments for which a row of the filter holds.
func harmless(r seccomp.Row) [6]uint64 {
	switch r.Call {
	case "clone":
		return [6]uint64{unix.CLONE_NEWNS | unix.CLONE_FS} // not allowed together
	case "unshare":
		return [6]uint64{unix.CLONE_NEWUSER} // not from a process of several threads
	case "personality":
		return [6]uint64{0x1000000} // nothing looks at it
	case "shmget":
		return [6]uint64{1, 64<<10 + 1, 0} // no such segment
	}
	args := [6]uint64{none, none, none, none, none, none}
	for _, c := range r.When {
		switch c.Op {
		case seccomp.Equal:
			args[c.Arg] = uint64(c.Val)
		case seccomp.NotEqual:
			args[c.Arg] = uint64(c.Mask)
			if c.Mask == 0xffffffff {
				args[c.Arg] = 97
			}
		case seccomp.Above, seccomp.AboveOrHigh:
			args[c.Arg] = uint64(c.Val) + 1
		}
	}
	return args
}

// stepsOf makes the calls one after the other, whatever each answers.
func stepsOf(list []dangerous) probe.Action {
	var a probe.Action
	for _, d := range list {
		st := probe.Step{Call: fmt.Sprint(d.nr), Always: true}
		for _, arg := range d.args {
			st.Args = append(st.Args, fmt.Sprintf("%#x", arg))
		}
		a.Steps = append(a.Steps, st)
	}
	return a
}

// x32Calls is the same by the second ABI of x86 with 64-bit registers; its own
// numbers begin at 512.
func x32Calls() []dangerous {
	const x32 = 0x40000000
	native := seccomp.Native()
	if !native.X32 {
		return nil
	}
	out := []dangerous{{native.Audit, x32 | 39, [6]uint64{}, unix.ENOSYS}} // getpid
	for _, name := range []string{"mount", "unshare", "bpf", "keyctl", "io_uring_setup", "setns", "add_key", "open_by_handle_at", "perf_event_open"} {
		if nr, ok := calls.Number(name); ok {
			out = append(out, dangerous{native.Audit, x32 | nr, [6]uint64{none, none, none, none, none, none}, unix.ENOSYS})
		}
	}
	for _, nr := range []uint64{514, 521, 539, 540} { // ioctl, ptrace, process_vm_readv and writev
		out = append(out, dangerous{native.Audit, x32 | nr, [6]uint64{none, none, none, none, none, none}, unix.ENOSYS})
	}
	return out
}

// auditI386 is what the kernel calls the 32-bit ABI of x86.
const auditI386 = 0x40000003

// i386Calls is the same by the 32-bit ABI: getpid, mount, ptrace, ioctl, chroot,
// socketcall, iopl, clone, modify_ldt, add_key, keyctl, unshare, bpf, io_uring_setup.
func i386Calls() (list []dangerous, action probe.Action) {
	var names []string
	for _, nr := range []uint64{20, 21, 26, 54, 61, 102, 110, 120, 123, 286, 288, 310, 357, 425} {
		list = append(list, dangerous{auditI386, nr, [6]uint64{}, unix.ENOSYS})
		names = append(names, fmt.Sprint(nr))
	}
	return list, probe.Action{Do: "i386", Args: map[string]string{"calls": strings.Join(names, ",")}}
}

// unknownCalls is numbers that nobody has looked at.
func unknownCalls() []dangerous {
	native := seccomp.Native()
	var out []dangerous
	for nr := uint64(native.Highest) + 1; nr <= uint64(native.Highest)+40; nr++ {
		out = append(out, dangerous{native.Audit, nr, [6]uint64{none, none, none, none, none, none}, unix.ENOSYS})
	}
	for _, nr := range []uint64{1000, 0x3fffffff, 0x7fffffff} {
		out = append(out, dangerous{native.Audit, nr, [6]uint64{none, none, none, none, none, none}, unix.ENOSYS})
	}
	return out
}
