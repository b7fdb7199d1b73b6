package prove

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/trace"
)

// leadsNowhere judges by the kernel's answer where it was seen; untraced, the
// host's look at the target decides.
func leadsNowhere(call string, errnos []syscall.Errno) func(*seen) outcome {
	return func(s *seen) outcome {
		if s.traced {
			return refused(call, errnos...)(s)
		}
		return triedUntraced(s)
	}
}

// triedUntraced is a row's own part in a verdict that the host decides.
func triedUntraced(s *seen) outcome {
	if s.said == nil || s.said.Err != "" {
		return errored("it was not tried" + s.why())
	}
	return held("the probe tried it", walls.Supervisor, "the host's witness decides")
}

// judgeGuard compares a target before and after, and how often it was opened.
func judgeGuard(dir, before, now string, opened int) outcome {
	switch {
	case before != now:
		return failed("the target on the host was changed", walls.Filesystem, difference(before, now))
	case opened > 0:
		return failed(fmt.Sprintf("the target on the host was opened or read %d times", opened), walls.Filesystem, fmt.Sprintf("inotify on %s/secret: %d events", dir, opened))
	}
	last := strings.Split(strings.TrimSpace(now), "\n")
	return held("the target is unchanged and was not opened", walls.Filesystem, dir+": "+last[len(last)-1]+"; inotify: 0 events")
}

// difference is the first line that is not in both.
func difference(before, now string) string {
	was := strings.Split(before, "\n")
	for line := range strings.Lines(now) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(was, line) {
			return "now: " + line
		}
	}
	for _, line := range was {
		if !strings.Contains(now, line) {
			return "no longer: " + line
		}
	}
	return "the order differs"
}

// judgeAllNowhere wants every call of a name with some text in its path to have
// been refused, and at least one to have been made.
func judgeAllNowhere(call, text string) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return triedUntraced(s)
		}
		n, last := 0, ""
		for _, c := range s.seg.Find(call) {
			if !strings.Contains(c.Text[1], text) {
				continue
			}
			switch {
			case c.OK():
				return failed(call+" worked", walls.Kernel, c.String())
			case !c.Returned:
				return errored("a call did not return" + s.why())
			}
			n, last = n+1, c.String()
		}
		if n == 0 {
			return errored(fmt.Sprintf("%s was not tried%s", call, s.why()))
		}
		return held(fmt.Sprintf("the kernel refused %d of %d", n, n), walls.Kernel, last)
	}
}

// judgeRace wants the race to have been run; whether it was won shows on the host.
func judgeRace(s *seen) outcome {
	if !s.traced {
		return triedUntraced(s)
	}
	swaps, opens := 0, 0
	for _, c := range s.seg.Find("renameat2") {
		if c.OK() {
			swaps++
		}
	}
	opens = len(s.seg.Find("openat"))
	if swaps < 10 || opens < 10 {
		return errored(fmt.Sprintf("%d swaps and %d opens are no race%s", swaps, opens, s.why()))
	}
	return held(fmt.Sprintf("%d swaps and %d opens were made", swaps, opens), walls.Kernel, s.seg.Find("renameat2")[0].String())
}

// judgeRing wants the ring to be refused, or a request in it to have been made;
// whether that opened the target shows on the host.
func judgeRing(s *seen) outcome {
	if !s.traced {
		return triedUntraced(s)
	}
	setup := s.seg.Find("io_uring_setup")
	if len(setup) == 0 {
		return errored("io_uring_setup was not tried" + s.why())
	}
	if !setup[0].OK() {
		return refused("io_uring_setup", unix.ENOSYS, unix.EPERM, unix.EACCES)(s)
	}
	enter := s.seg.Find("io_uring_enter")
	if len(enter) == 0 || !enter[0].OK() || enter[0].Ret != 1 {
		return errored("there is a ring, and no request was made in it" + s.why())
	}
	return held("a request was made in a ring", walls.Kernel, enter[0].String())
}

// judgeDescriptors wants the descriptor that was left open to be closed, and
// no inherited one to lead anywhere.
func judgeDescriptors(fd int) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answers were not seen")
		}
		for _, c := range s.seg.Find("openat") {
			if dir := int32(c.Args[0]); dir > 2 && c.OK() {
				return failed(fmt.Sprintf("descriptor %d leads to a canary", dir), walls.Kernel, c.String())
			}
		}
		for _, c := range s.seg.Find("fcntl") {
			if int(int32(c.Args[0])) != fd || c.Args[1] != unix.F_GETFD {
				continue
			}
			if c.Errno() != unix.EBADF {
				return failed("the descriptor that was left open is there", walls.Kernel, c.String())
			}
			return held("the kernel returned EBADF", walls.Kernel, c.String())
		}
		return errored("the descriptor was not tried" + s.why())
	}
}

// judgeHold judges whether something inside held a file so that it shows
// outside. answer is what the host's own try returned.
func judgeHold(way string, answer error, own bool) outcome {
	evidence := fmt.Sprintf("the host's own try while it was held inside (%s): %v", way, answer)
	blocked := answer != nil
	switch {
	case own && !blocked:
		return errored("a lock inside on a file of the workspace does not show outside, so this can't be seen")
	case own:
		return held("the host saw it", walls.Filesystem, evidence)
	case blocked:
		return failed("the host's own file is held from inside", walls.Filesystem, evidence)
	}
	return held("the host's file was free", walls.Filesystem, evidence)
}

// judgeGranted judges the call that takes a lock, lease or watch, of fcntl that
// with its request. Where the kernel
// grants it, whether it is the host's file that is held shows on the host.
func judgeGranted(call string, request uint64) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return triedUntraced(s)
		}
		calls := s.seg.Find(call)
		if call == "fcntl" {
			calls = slices.DeleteFunc(calls, func(c trace.Call) bool { return c.Args[1] != request })
		}
		if len(calls) == 0 {
			if opened := s.seg.Find("openat"); len(opened) > 0 && slices.Contains(nowhere, opened[0].Errno()) {
				return held("the file is not there: "+unix.ErrnoName(opened[0].Errno()), walls.Kernel, opened[0].String())
			}
			return errored(call + " was not tried" + s.why())
		}
		c := calls[len(calls)-1]
		if !c.OK() {
			return held("the kernel returned "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
		}
		return held("granted inside", walls.Kernel, c.String())
	}
}
