package trace

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Mark is the first argument of the prctl call by which a probe says that an
// attempt begins or ends: no kernel knows it, so that it does nothing.
const Mark = 0x66756d65

// The phases of an attempt, a mark's second argument. The third is the
// attempt's number, the fourth its nonce.
const (
	Begin = 1
	End   = 2
)

// Call is one system call that was seen.
type Call struct {
	TID  int
	Arch uint32 // AUDIT_ARCH_*
	Nr   uint64
	Name string // as the 64-bit ABI of this machine names it; a number else
	Args [6]uint64
	Text [6]string // of arguments that are paths or addresses
	// Data is the beginning of what the kernel wrote, for calls that read; at
	// most MaxData bytes.
	Data []byte
	// Found are those of the texts that Attach was told to seek which the
	// kernel wrote, wherever in what it wrote.
	Found []string
	Ret   int64 // as the kernel returned it: a negated errno on failure
	// Returned is false for a call that never came back: its thread ended.
	Returned bool
	At       time.Time
}

// MaxData bounds Call.Data.
const MaxData = 4096

// Errno is the kernel's refusal, 0 when there was none.
func (c Call) Errno() syscall.Errno {
	if c.Ret < 0 && c.Ret > -4096 {
		return syscall.Errno(-c.Ret)
	}
	return 0
}

// OK says whether the call came back without an error.
func (c Call) OK() bool { return c.Returned && c.Errno() == 0 }

// String is the raw line that stands as evidence.
func (c Call) String() string {
	var args []string
	for i := range argCount(c.Name) {
		switch {
		case c.Text[i] != "":
			args = append(args, c.Text[i])
		case int64(c.Args[i]) < 0 && int64(c.Args[i]) > -4096:
			args = append(args, fmt.Sprint(int64(c.Args[i])))
		case uint32(c.Args[i]) == 0xffffff9c:
			args = append(args, "AT_FDCWD")
		default:
			args = append(args, fmt.Sprintf("%#x", c.Args[i]))
		}
	}
	out := fmt.Sprintf("[%d] %s(%s) = ", c.TID, c.Name, strings.Join(args, ", "))
	switch e := c.Errno(); {
	case !c.Returned:
		out += "?"
	case e != 0:
		name := unix.ErrnoName(e)
		if name == "" {
			name = "errno"
		}
		out += fmt.Sprintf("%d %s", c.Ret, name)
	default:
		out += fmt.Sprint(c.Ret)
	}
	if len(c.Data) > 0 {
		out += fmt.Sprintf(" %q", c.Data[:min(len(c.Data), 48)])
	}
	return out + c.At.UTC().Format(" at 15:04:05.000")
}

// Segment is what was seen of one attempt.
type Segment struct {
	Seq     int
	Nonce   uint64
	Calls   []Call // of the probe and what it started, without the runtime's own
	Ended   bool   // the end mark was seen
	Dropped int    // calls beyond the bound
	// Signal is what ended the probe during the attempt, 0 when nothing did.
	Signal syscall.Signal
}

// Find gives the calls of one name, in order; none of a nil segment.
func (s *Segment) Find(name string) []Call {
	if s == nil {
		return nil
	}
	var out []Call
	for _, c := range s.Calls {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// Log is everything that was seen of one probe.
type Log struct {
	Segments map[int]*Segment
	// Err is what kept the tracer from seeing all; nothing in the log may be
	// relied on then.
	Err error
}

// maxCalls bounds one attempt's list.
const maxCalls = 8192

func (l *Log) add(s *Segment, c Call) {
	if s == nil {
		return
	}
	if len(s.Calls) >= maxCalls {
		s.Dropped++
		return
	}
	s.Calls = append(s.Calls, c)
}
