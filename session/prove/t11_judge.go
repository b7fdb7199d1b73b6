package prove

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fumehood/isolate/walls"
)

const (
	// endsWithin is how long what was inside may take to end.
	endsWithin = 3 * time.Second
	// fewWakeups show that a daemon ticks.
	fewWakeups = 3
)

// lifetime is what was seen of one end, from outside.
type lifetime struct {
	// Before it.
	processes int // inside, the first one included
	who       []string
	wakeups   int // of the daemon, while it was watched
	stopped   bool

	// After it.
	took     time.Duration
	alive    []string // processes that were left when the time was over
	left     []string // anything else
	workgone string   // why the workspace can't be reviewed, "" when it can
	state    string   // what the record says
	says     []string // what it may say; nil when there is no record
}

// live is the control: what it was seen to do while all was well.
func (l lifetime) live() string {
	text := fmt.Sprintf("%d processes inside; the daemon woke up %d times while it was watched", l.processes, l.wakeups)
	if l.stopped {
		text += ", another was stopped"
	}
	return text
}

// outlived judges an end.
func outlived(l lifetime) outcome {
	switch {
	case l.wakeups < fewWakeups || !l.stopped:
		o := errored("the daemon and the stopped child were not seen alive before: " + l.live())
		o.evidence = strings.Join(l.who, "; ")
		return o
	case len(l.alive) > 0:
		return failed(fmt.Sprintf("%d processes outlive it by %v", len(l.alive), endsWithin), walls.Status, strings.Join(l.alive, "; "))
	case len(l.left) > 0:
		return failed("something is left", walls.Filesystem, strings.Join(l.left, "; "))
	case l.workgone != "":
		return failed("the workspace can't be reviewed", walls.Filesystem, l.workgone)
	case l.says != nil && !slices.Contains(l.says, l.state):
		return failed(fmt.Sprintf("the session's record says %q", l.state), walls.Supervisor, "want one of: "+strings.Join(l.says, ", "))
	}
	evidence := l.live() + fmt.Sprintf("; none in the process table after %d ms", l.took.Milliseconds())
	if l.says != nil {
		evidence += fmt.Sprintf("; the record says %q, the workspace is there", l.state)
	}
	return held("all gone", walls.Status, evidence)
}
