package prove

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/trace"
)

// dangerous is one call that must not reach the kernel's own code.
type dangerous struct {
	arch  uint32
	nr    uint64
	args  [6]uint64
	errno syscall.Errno // the filter's
}

// in finds the call in an attempt. Of a foreign ABI only the number counts:
// its registers are shorter.
func (d dangerous) in(s *trace.Segment) (trace.Call, bool) {
	if s == nil {
		return trace.Call{}, false
	}
	for _, c := range s.Calls {
		if c.Arch == d.arch && c.Nr == d.nr && (c.Args == d.args || d.arch != seccomp.Native().Audit) {
			return c, true
		}
	}
	return trace.Call{}, false
}

// judgeSweep judges a list of calls: each has to be refused by the filter. beyond
// is what the same list met where no wall stands. Another's filter may refuse in
// its own way.
func judgeSweep(list []dangerous, beyond *trace.Segment, another bool) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answers were not seen")
		}
		var shown int
		var evidence string
		for _, d := range list {
			c, ok := d.in(s.seg)
			free, known := d.in(beyond)
			switch {
			case s.seg != nil && s.seg.Signal == unix.SIGSYS && (!ok || !c.Returned):
				return held("the kernel ended the caller (SIGSYS)", walls.Kernel, c.String())
			case !known && beyond != nil && beyond.Signal != 0:
				return notApplicable("this kernel ends a program that makes these calls, without any wall")
			case !ok:
				return errored(fmt.Sprintf("call %d was not tried%s", d.nr, s.why()))
			case !c.Returned:
				return errored("a call did not return: " + c.String())
			}
			e := c.Errno()
			refusal := e == d.errno || another && slices.Contains([]syscall.Errno{unix.EPERM, unix.ENOSYS, unix.EACCES}, e)
			differs := known && free.Returned && free.Errno() != e
			// Some filters answer so; the kernel does, too, but not where it did otherwise.
			refusal = refusal || another && differs && e == unix.EOPNOTSUPP
			if !refusal && known && free.Errno() == unix.ENOSYS && e == unix.ENOSYS {
				continue // a call that this kernel was built without
			}
			if !refusal {
				return failed("it reached the kernel's own code", walls.Kernel, c.String())
			}
			if differs && (shown == 0 || evidence == "") {
				evidence = c.String() + "; outside " + answer(free)
			}
			if differs {
				shown++
			}
		}
		if shown == 0 {
			return notApplicable("this machine answers the same without any wall")
		}
		return held(fmt.Sprintf("%d refused by the filter, of which %d are answered otherwise outside", len(list), shown), walls.Kernel, evidence)
	}
}

func answer(c trace.Call) string {
	if e := c.Errno(); e != 0 {
		return unix.ErrnoName(e)
	}
	return fmt.Sprint(c.Ret)
}

// judgeRefusedAt judges a chain of calls of which any may be the one that is
// refused; when the last one works, the attempt has succeeded.
func judgeRefusedAt(errnos []syscall.Errno, names ...string) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			if s.said == nil || s.said.Err != "" {
				return errored("it was not tried" + s.why())
			}
			return held("the probe tried it", walls.Supervisor, "the host's witness decides")
		}
		for i := len(names) - 1; i >= 0; i-- {
			calls := s.seg.Find(names[i])
			if len(calls) == 0 {
				continue
			}
			if i < len(names)-1 && calls[len(calls)-1].OK() {
				return errored(fmt.Sprintf("%s worked, and %s was not tried%s", names[i], names[i+1], s.why()))
			}
			return refused(names[i], errnos...)(s)
		}
		return errored(fmt.Sprintf("%s was not tried%s", strings.Join(names, " nor "), s.why()))
	}
}

// judgeIoctl judges every terminal request of an attempt but those that it is
// permitted to make: each has to be refused by errno.
func judgeIoctl(requests []uint64, another bool) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answers were not seen")
		}
		var last trace.Call
		for _, want := range requests {
			i := slices.IndexFunc(s.seg.Find("ioctl"), func(c trace.Call) bool { return c.Args[1] == want })
			if i < 0 {
				return errored(fmt.Sprintf("ioctl %#x was not tried%s", want, s.why()))
			}
			last = s.seg.Find("ioctl")[i]
			switch e := last.Errno(); {
			case !last.Returned:
				return errored("the call did not return: " + last.String())
			case e != unix.EPERM && (!another || e != unix.EACCES && e != unix.ENOSYS):
				return failed("it reached the kernel's own code", walls.Kernel, last.String())
			}
		}
		return held(fmt.Sprintf("%d requests refused by EPERM", len(requests)), walls.Kernel, last.String())
	}
}

// judgeClone finds the clone with a flag: it has to be refused, and a copy of
// the program has to start without it (that is the control).
func judgeClone(flag uint64, errnos ...syscall.Errno) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answer was not seen")
		}
		for _, c := range append(s.seg.Find("clone"), s.seg.Find("clone3")...) {
			if c.Name == "clone" && c.Args[0]&flag == 0 {
				continue
			}
			switch {
			case c.OK():
				return failed("a namespace was made", walls.Kernel, c.String())
			case !c.Returned, !slices.Contains(errnos, c.Errno()):
				return failed("it reached the kernel's own code", walls.Kernel, c.String())
			}
			return held("the kernel returned "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
		}
		return errored("no clone with that flag was tried" + s.why())
	}
}

// judgeIDs compares the effective id of a program before and after it was run
// from a set-user-id file.
func judgeIDs(s *seen) outcome {
	if !s.traced {
		if s.said == nil || s.said.Err != "" {
			return errored("it was not tried" + s.why())
		}
		return held("the probe tried it", walls.Supervisor, "the host's witness decides")
	}
	calls, chmod := s.seg.Find("geteuid"), append(s.seg.Find("chmod"), s.seg.Find("fchmodat")...)
	switch {
	case len(chmod) == 0:
		if made := s.seg.Find("openat"); len(made) > 0 && made[len(made)-1].Errno() != 0 {
			return held("no copy can be made", walls.Kernel, made[len(made)-1].String())
		}
		return errored("chmod was not tried" + s.why())
	case !chmod[0].OK():
		return held("the kernel returned "+unix.ErrnoName(chmod[0].Errno()), walls.Kernel, chmod[0].String())
	case len(calls) < 2 || calls[0].TID == calls[len(calls)-1].TID:
		return errored("the copy was not seen to run" + s.why())
	case calls[0].Ret != calls[len(calls)-1].Ret:
		return failed("the copy runs as another", walls.Kernel, calls[0].String()+"; "+calls[len(calls)-1].String())
	}
	return held("the copy runs as the probe does", walls.Kernel, calls[len(calls)-1].String())
}

// judgeFilters looks for the filter as this build compiles it.
func judgeFilters(list [][]unix.SockFilter, want []unix.SockFilter) outcome {
	for i, f := range list {
		if slices.Equal(f, want) {
			return held(fmt.Sprintf("filter %d of %d is this build's, instruction by instruction", i+1, len(list)), walls.Kernel,
				fmt.Sprintf("PTRACE_SECCOMP_GET_FILTER: %d instructions, the last {%#x %d %d %#x}", len(f), f[len(f)-1].Code, f[len(f)-1].Jt, f[len(f)-1].Jf, f[len(f)-1].K))
		}
	}
	var lengths []string
	for _, f := range list {
		lengths = append(lengths, fmt.Sprint(len(f)))
	}
	return failed(fmt.Sprintf("none of its %d filters is this build's", len(list)), walls.Kernel,
		fmt.Sprintf("PTRACE_SECCOMP_GET_FILTER: [%s] instructions, want %d", strings.Join(lengths, " "), len(want)))
}

// judgeGroups compares a status file's groups with none.
func judgeGroups(status string, root, own bool) outcome {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, "Groups:")
		if !ok {
			continue
		}
		groups := strings.Join(strings.Fields(rest), " ")
		switch {
		case !own:
			return notApplicable("this process has no supplementary groups that could stay")
		case groups == "":
			return held("it has none", walls.Status, "Groups: (none) in /proc/PID/status")
		case !root:
			return notApplicable("an ordinary user can't drop its groups, they stay: " + groups)
		}
		return failed("it has "+groups, walls.Status, "Groups: "+groups+" in /proc/PID/status")
	}
	return errored("/proc/PID/status has no Groups")
}

// signalABI is the first of Landlock's that has a scope for signals.
const signalABI = 6

// judgeFirst judges a signal to process 1. An older Landlock has no say in it:
// the kernel takes the call, and process 1 heeds no signal from inside.
func judgeFirst(abi int) func(*seen) outcome {
	return func(s *seen) outcome {
		o := refused("kill", unix.EPERM)(s)
		if abi >= signalABI || o.verdict != walls.Failed {
			return o
		}
		if calls := s.seg.Find("kill"); calls[len(calls)-1].OK() {
			return notApplicable(fmt.Sprintf("Landlock has no scope for signals here: ABI %d, want %d; process 1 heeds none from inside", abi, signalABI))
		}
		return o
	}
}
