// Package limits says what a limit of the policy means on this machine, whether
// the kernel enforces it or it is sampled from outside, and carries the Error
// of one that was reached. It also samples: it walks the processes below a
// sandbox's first one in the host's /proc and sums what they use. It ends
// nothing and keeps no state; its caller decides when to look and what to stop.
//
// What this does not cover: memory that no process has mapped and no readable
// descriptor refers to (descriptors in flight, pipes, socket buffers), and
// whatever is taken and given back between two samples.
package limits

import (
	"fmt"
)

// How says who enforces a limit.
type How string

// The ways of enforcing.
const (
	Enforced How = "enforced by the kernel"
	Sampled  How = "sampled"
	None     How = "none"
)

// Error says that a limit was reached.
type Error struct {
	Name  string // a key of the policy's [limits]
	Value string // the policy's number, with its unit
	Used  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("limit %s of %s reached: %s used", e.Name, e.Value, e.Used)
}

// Line is one limit as it stands in a session.
type Line struct {
	Name, Value string
	How         How
	// Note says what the bound does not hold; empty when it is exact.
	Note string
}

// Processes describes the limit on processes and threads.
func Processes(n int) Line {
	if n <= 0 {
		return Line{Name: "processes", Value: "none", How: None}
	}
	return Line{Name: "processes", Value: fmt.Sprint(n), How: Enforced}
}

// Memory describes the limit on memory, which is twofold without a cgroup: each
// process by the kernel, the tree by a sample every so often.
func Memory(bytes int64) Line {
	if bytes <= 0 {
		return Line{Name: "memory", Value: "none", How: None}
	}
	return Line{
		Name: "memory", Value: Bytes(bytes), How: Sampled,
		Note: fmt.Sprintf("each process by the kernel; the total every %v at work, %v near the limit, %v at rest, can overshoot by what is allocated in between; descriptors on their way through a socket are not counted", BusyEvery, NearEvery, RestEvery),
	}
}

// InGroup is a line of memory, processes or cpus where a cgroup of the
// session's own holds all of it together.
func InGroup(l Line) Line {
	if l.How == None {
		return l
	}
	l.How, l.Note = Enforced, "all of it together, by its cgroup"
	return l
}

// Bytes prints a size in the largest binary unit that divides it to at most one
// decimal.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if f == float64(int64(f)) {
		return fmt.Sprintf("%d%s", int64(f), units[i])
	}
	return fmt.Sprintf("%.1f%s", f, units[i])
}
