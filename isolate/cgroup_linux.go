package isolate

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits/cgroup"
	"fumehood/isolate/plan"
)

const hintCgroup = `see "fumehood doctor"; in a login session of another kind the same limits are sampled instead`

// group makes the session's cgroup where there is a place for one.
func (l *launch) group() (*grouped, error) {
	if l.spec.Place == nil {
		return nil, nil
	}
	g, err := l.spec.Place.Make(l.spec.ID, l.together())
	if err != nil {
		return nil, &layer.Error{Layer: layer.Limits, Op: "make a cgroup for the session", Err: err, Hint: hintCgroup}
	}
	return &grouped{Group: g, place: l.spec.Place}, nil
}

// together is what the session is held to as a whole.
func (l *launch) together() cgroup.Limits {
	want := cgroup.Limits{Memory: l.spec.TreeBytes, CPUs: len(l.cpus)}
	if l.spec.Processes > 0 {
		want.Processes = l.spec.Processes + plan.OwnThreads
	}
	return want
}

// byBus says that PID 1 is moved into its group after its birth. It waits for
// the plan meanwhile, and has started nothing.
func (l *launch) byBus() bool {
	return l.spec.Place == nil && l.spec.Bus != nil && l.together() != cgroup.Limits{}
}

// adopt has the service manager move PID 1, and the meter, which keeps the
// scope alive until the group was asked how it ended. A manager that refuses
// leaves limits to be sampled, and the record says so.
func (l *launch) adopt(s *Sandbox) error {
	if !l.byBus() {
		return nil
	}
	var own []int
	if s.gauge != nil {
		own = append(own, s.gauge.cmd.Process.Pid)
	}
	place, g, err := l.spec.Bus.Adopt(l.spec.ID, l.together(), s.PID(), own...)
	if errors.Is(err, cgroup.ErrRefused) {
		l.ungrouped = err.Error()
		return nil
	}
	if err != nil {
		return &layer.Error{Layer: layer.Limits, Op: "move the session into a cgroup", Err: err, Hint: hintCgroup}
	}
	s.group = &grouped{Group: g, place: place}
	return nil
}

// Place is where the session's cgroup is, which has to be removed from there;
// nil when it has none.
func (s *Sandbox) Place() *cgroup.Place {
	if s.group == nil {
		return nil
	}
	return s.group.place
}

// bornIn has PID 1 born in the session's group: there is no moment outside.
func (l *launch) bornIn(attr *syscall.SysProcAttr, g *grouped) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, g.FD()
	}
	if l.byBus() {
		// Its root would be the group before the move, and the way from there to
		// the new one readable inside. PID 1 makes it after the move.
		attr.Cloneflags &^= unix.CLONE_NEWCGROUP
	}
}

// groupError tells a clone that the group refused from one that was refused
// for another reason: nil then.
func groupError(err error, g *grouped) error {
	if g == nil {
		return nil
	}
	for _, errno := range []syscall.Errno{syscall.ENODEV, syscall.EBUSY, syscall.EOPNOTSUPP, syscall.EACCES} {
		if errors.Is(err, errno) {
			return &layer.Error{Layer: layer.Limits, Op: "clone into cgroup " + g.Dir, Err: errno, Hint: hintCgroup}
		}
	}
	return nil
}

// cgroupFacts reads the limits back from the group in which PID 1 really is.
func cgroupFacts(first int, g *grouped, ungrouped string) (Facts, error) {
	if g == nil && ungrouped != "" {
		return Facts{{Layer: layer.Limits, What: "cgroup of PID 1", Value: "none of its own: " + ungrouped, Source: "supervisor", OK: true}}, nil
	}
	if g == nil {
		return nil, nil
	}
	path, all, err := g.Settings(first)
	if err != nil {
		return nil, err
	}
	out := Facts{{Layer: layer.Limits, What: "cgroup of PID 1", Value: path, Source: "/proc/PID/cgroup", OK: true}}
	for _, s := range all {
		out = append(out, layer.Fact{Layer: layer.Limits, What: s.Name, Value: s.Got, Source: "cgroup", OK: s.Got == s.Want})
	}
	return out, nil
}

// grouped is a session's group and what its end told.
type grouped struct {
	*cgroup.Group
	place       *cgroup.Place
	once        sync.Once
	kills, peak int64
	err         error
}

// OutOfMemory says that the kernel ended the session for its memory, and the
// most that it used, 0 where the kernel does not tell. Before the end it says
// no.
func (s *Sandbox) OutOfMemory() (peak int64, yes bool) {
	select {
	case <-s.done:
	default:
		return 0, false
	}
	_ = s.removeGroup() // Kill tells
	if s.group == nil {
		return 0, false
	}
	return s.group.peak, s.group.kills > 0
}

// removeGroup is called when nothing of the session runs any more.
func (s *Sandbox) removeGroup() error {
	if s.group == nil {
		return nil
	}
	s.group.once.Do(func() {
		s.group.kills, s.group.peak = s.group.Group.OutOfMemory()
		if err := s.group.Remove(); err != nil {
			s.group.err = fmt.Errorf("after the session: %w", err)
		}
	})
	return s.group.err
}
