package prove

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/trace"
)

// noWay are the kernel's answers that a socket, an address or a way to it is not
// to be had. ECONNREFUSED is that of the sandbox's own loopback, where nobody
// listens at that port.
var noWay = []syscall.Errno{
	unix.ECONNREFUSED, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.EPERM, unix.EADDRNOTAVAIL, unix.ENODEV,
	unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT, unix.EOPNOTSUPP, unix.ENOPROTOOPT,
}

// unanswered are those of a peer that stays silent.
var unanswered = []syscall.Errno{unix.EINPROGRESS, unix.EAGAIN, unix.ETIMEDOUT}

// lastOf is the last of an attempt's calls that bear one of the names.
func lastOf(seg *trace.Segment, names []string) (c trace.Call, found bool) {
	if seg == nil {
		return c, false
	}
	for _, one := range seg.Calls {
		if slices.Contains(names, one.Name) {
			c, found = one, true
		}
	}
	return c, found
}

// stopped judges an attempt that goes from call to call until one is refused:
// names are the calls in their order, and the last of them is the one that must
// not work.
func stopped(names ...string) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answer was not seen")
		}
		c, found := lastOf(s.seg, names)
		switch e := c.Errno(); {
		case !found:
			return errored(fmt.Sprintf("%s was not tried%s", names[0], s.why()))
		case !c.Returned && s.seg.Signal == unix.SIGSYS:
			return held("the kernel ended the caller (SIGSYS)", walls.Kernel, c.String())
		case !c.Returned:
			return errored(c.Name + " did not return" + s.why())
		case e == 0 && c.Name == names[len(names)-1]:
			return failed(c.Name+" worked", walls.Kernel, c.String())
		case e == 0:
			return errored(fmt.Sprintf("%s was not tried%s", names[len(names)-1], s.why()))
		case slices.Contains(noWay, e):
			return held("the kernel returned "+unix.ErrnoName(e), walls.Kernel, c.String())
		case slices.Contains(unanswered, e):
			return failed(fmt.Sprintf("%s returned %s: it went out and waits for an answer", c.Name, unix.ErrnoName(e)), walls.Kernel, c.String())
		default:
			return errored(fmt.Sprintf("%s returned %s, which says that the attempt itself was wrong", c.Name, unix.ErrnoName(e)))
		}
	}
}

// arrived judges an attempt to reach a listener on the host: nothing may be in
// its log, and the kernel's own answers must not say otherwise. A datagram that
// was sent is one in the sandbox's own network, when nothing came.
func arrived(h heard, s *seen, mute bool, names ...string) outcome {
	quiet := fmt.Sprintf("%s: %d words of the host's own arrived, before and after, and nothing else", h.name, h.controls)
	switch {
	case h.broken != nil:
		return errored(fmt.Sprintf("the listener %s is no witness: %v", h.name, h.broken))
	case len(h.strays) > 0:
		return failed("it arrived at the listener", walls.Listener, h.name+" "+h.strays[0].String())
	case !s.traced && s.said == nil:
		return errored("it was not seen to be tried" + s.why())
	case !s.traced && s.said.Err != "":
		return errored("it was not tried" + s.why())
	case !s.traced:
		return held("nothing arrived", walls.Listener, quiet)
	}
	o := stopped(names...)(s)
	c, _ := lastOf(s.seg, names)
	waits := o.verdict == walls.Failed && slices.Contains(unanswered, c.Errno())
	sent := o.verdict == walls.Failed && c.OK() && mute
	if waits || sent {
		return held("nothing arrived", walls.Listener, quiet+"; "+c.String())
	}
	if o.verdict == walls.Failed {
		o.observed += ", though not at the listener"
	}
	if o.verdict == walls.Held {
		o.observed += ", and nothing arrived"
		o.evidence += "; " + quiet
	}
	return o
}

// knock is one try of the host's to reach what listens inside.
type knock struct {
	begin, end time.Time
	err        error
	answer     string
}

// unheard judges a listener inside: the host tried while it listened, and was
// refused each time. word is what it would have answered.
func unheard(knocks []knock, s *seen, word string) outcome {
	for _, k := range knocks {
		if k.answer == word {
			return failed("the host reached it", walls.Listener, fmt.Sprintf("at %s it answered the host with %q", k.end.UTC().Format("15:04:05.000"), word))
		}
	}
	if !s.traced {
		return errored("whether it listened was not seen")
	}
	// The probe reaches itself afterwards, by calls of the same names.
	listens := s.seg.Find("listen")
	if len(listens) == 0 || !listens[0].OK() {
		c, found := lastOf(s.seg, []string{"socket", "bind", "listen"})
		switch {
		case !found:
			return errored("nothing was tried" + s.why())
		case c.Returned && slices.Contains(noWay, c.Errno()):
			return held("the kernel returned "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
		}
		return errored("it did not listen: " + c.String())
	}
	c := listens[0]
	closed, found := lastOf(s.seg, []string{"poll", "ppoll"})
	if !found {
		return errored("it did not wait for anybody" + s.why())
	}
	n, last := 0, ""
	for _, k := range knocks {
		if k.begin.After(c.At) && k.end.Before(closed.At) && k.err != nil {
			n, last = n+1, k.err.Error()
		}
	}
	if n == 0 {
		return errored("the host did not try while it listened")
	}
	return held(fmt.Sprintf("the host tried %d times while it listened, and got %s", n, last), walls.Listener, c.String())
}

// onlyLoopback judges a list of interfaces as /proc/PID/net/dev shows it.
func onlyLoopback(text string) outcome {
	var all []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			all = append(all, strings.TrimSpace(name))
		}
	}
	evidence := "interfaces: " + strings.Join(all, ", ")
	switch {
	case len(all) == 0:
		return errored("no interface is listed")
	case len(all) == 1 && all[0] == "lo":
		return held("loopback is the only interface", walls.Status, evidence)
	}
	return failed("there are others than loopback", walls.Status, evidence)
}
