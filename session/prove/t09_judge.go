package prove

import (
	"fmt"
	"time"

	"fumehood/isolate/walls"
)

// judgeClock says whether a clock has ended what it had to, in time and under
// its own name.
func judgeClock(name string, s clockSeen) outcome {
	due := s.quiet + s.value
	line := fmt.Sprintf("session.json: state %s, no limit; gone after %v", s.state, s.took.Round(time.Millisecond))
	if s.limit != nil {
		line = fmt.Sprintf("session.json: limit %s of %s, used %s; gone after %v", s.limit.Name, s.limit.Value, s.limit.Used, s.took.Round(time.Millisecond))
	}
	switch {
	case !s.seen:
		return errored("it was not seen in the process table; " + line)
	case s.limit == nil:
		return failed("nothing ended it at the limit", walls.Clock, line)
	case s.limit.Name != name:
		return failed("another limit is named: "+s.limit.Name, walls.Supervisor, line)
	case len(s.left) > 0:
		return failed("it is still there: "+s.left[0], walls.Status, line)
	case s.took < due:
		return failed(fmt.Sprintf("it was ended before its time of %v", due), walls.Clock, line)
	case s.took > due+clockLate:
		return failed(fmt.Sprintf("it was ended %v late", (s.took-due).Round(time.Millisecond)), walls.Clock, line)
	}
	return held(fmt.Sprintf("ended at the limit %s of %s; gone %v after it", s.limit.Name, s.limit.Value, (s.took-due).Round(time.Millisecond)), walls.Clock, line)
}

// judgeChatter adds that what was not idle went on.
func judgeChatter(o outcome, lines, want int) outcome {
	if o.verdict == walls.Held && lines < want {
		return failed(fmt.Sprintf("it was ended after %d of its %d lines, while it was not silent", lines, want), o.witness, o.evidence)
	}
	if o.verdict == walls.Held {
		o.observed += fmt.Sprintf("; all %d lines before are stored", lines)
	}
	return o
}
