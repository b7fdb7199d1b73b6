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

// finalCall is the last call of a name in an attempt.
func finalCall(s *trace.Segment, call string) (trace.Call, bool) {
	calls := s.Find(call)
	if len(calls) == 0 {
		return trace.Call{}, false
	}
	return calls[len(calls)-1], true
}

// judgeLeft judges the leaving of something. That it can't be left is as good;
// why says so then.
func judgeLeft(call string, s *seen) (o outcome, why string) {
	c, ok := finalCall(s.seg, call)
	switch {
	case !s.traced || !ok || !c.Returned:
		return errored(call + " was not tried" + s.why()), "it was not tried"
	case c.OK():
		return held("it is left", walls.Kernel, c.String()), ""
	}
	why = "the kernel returned " + unix.ErrnoName(c.Errno())
	return held("nothing can be left: "+why, walls.Kernel, c.String()), why
}

// wasFound is what a control says of what could be made and was found.
const wasFound = "it was found"

// judgeOwn judges the search for something of one's own.
func judgeOwn(call, seek string, s *seen) outcome {
	made, ok := finalCall(s.seg, call)
	got, tried := finalCall(s.seg, seek)
	switch {
	case !s.traced || !ok || !tried || !got.Returned || !made.Returned:
		return errored(fmt.Sprintf("%s and %s were not tried%s", call, seek, s.why()))
	case got.OK():
		return held(wasFound, walls.Kernel, got.String())
	case call == seek && len(s.seg.Find(call)) > 1:
		made = s.seg.Find(call)[len(s.seg.Find(call))-2]
	}
	if made.OK() {
		return errored("it was made and not found: " + got.String())
	}
	return held("it can't be made: "+unix.ErrnoName(made.Errno()), walls.Kernel, made.String())
}

// judgeFind judges the search for what another sandbox left. why says what kept
// that from being left, and blocked that this sandbox could not make one either.
func judgeFind(call string, absent []syscall.Errno, why string, blocked bool, s *seen) outcome {
	c, ok := finalCall(s.seg, call)
	switch {
	case !s.traced || !ok:
		return errored(call + " was not tried" + s.why())
	case !c.Returned:
		return errored("the call did not return" + s.why())
	case c.OK():
		return failed("it is there", walls.Kernel, c.String())
	case why != "" && why != "it was not tried":
		return notApplicable("nothing can be left there: " + why)
	case why != "":
		return errored("whether it was left is not known: " + why)
	case blocked:
		return held("this sandbox has no such thing: "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
	case !slices.Contains(absent, c.Errno()):
		return errored("the search itself did not work: " + c.String())
	}
	return held("the kernel returned "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
}

// judgeTable looks for a key in one of /proc/sysvipc's tables, whose first
// column it is.
func judgeTable(table, text string, key uint32) outcome {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == fmt.Sprint(key) {
			return failed("it is among the host's own", walls.Status, "/proc/sysvipc/"+table+": "+strings.Join(f, " "))
		}
	}
	return held("it is not among the host's own", walls.Status, fmt.Sprintf("/proc/sysvipc/%s: no key %d in %d lines", table, key, strings.Count(text, "\n")))
}
