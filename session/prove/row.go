package prove

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// row is one attempt that a probe makes: what to do, and how to judge what
// came of it.
type row struct {
	id       string // unique within the test
	tried    string
	expected string
	do       probe.Action // its number and nonce are filled in
	// control names the row that shows that the attempt means something: the
	// nearest thing that is permitted. It has to come out as held.
	control string
	// judge sees what the witnesses saw.
	judge func(s *seen) outcome
	// host says that judge can do without the tracer, by a witness on the
	// host; such a row is made once more untraced.
	host bool
	// account says that the account may be refused it by itself, with no wall in
	// the way. In another program's sandbox a refusal then counts only when the
	// same works outside; in fumehood's the refusal is its own as well.
	account bool
	// ours says that it asks for what is fumehood's own way. Another sandbox can
	// be as strong without it, and is not asked.
	ours bool
	// before and after run outside, around the probe's whole job: they plant a
	// target and look at it. after's outcome counts beside judge's.
	before func() error
	after  func() (outcome, error)
}

// seen is what is known of one attempt when it is judged.
type seen struct {
	row    *row
	nonce  string
	traced bool
	blind  string         // why it could not be traced, "" when nobody asked for it or it was
	seg    *trace.Segment // nil when it was not traced or never began
	said   *probe.Said    // the probe's own word: it can explain, never acquit
	out    []byte         // everything that the probe wrote
	died   string         // how the probe ended during it, "" when it did not
	// ended is how the probe's process ended.
	ended string
}

// outcome is a verdict with what it rests on.
type outcome struct {
	verdict  walls.Verdict
	observed string
	witness  walls.Witness
	evidence string
}

func held(observed string, w walls.Witness, evidence string) outcome {
	return outcome{walls.Held, observed, w, evidence}
}

func failed(observed string, w walls.Witness, evidence string) outcome {
	return outcome{walls.Failed, observed, w, evidence}
}

func errored(observed string) outcome {
	return outcome{walls.Errored, observed, walls.Supervisor, ""}
}

func notApplicable(why string) outcome {
	return outcome{walls.NA, why, walls.Supervisor, ""}
}

// worst is the more serious of two outcomes.
func worst(a, b outcome) outcome {
	if walls.Worse(a.verdict, b.verdict) == a.verdict {
		return a
	}
	return b
}

// refused judges by the kernel's answer to the last call of that name in the
// attempt: one of the errnos, or any when none is given. A probe that the
// kernel ended by SIGSYS in it was refused as well.
func refused(call string, errnos ...syscall.Errno) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return errored("the kernel's answer was not seen")
		}
		calls := s.seg.Find(call)
		if len(calls) == 0 {
			return errored(fmt.Sprintf("%s was not tried%s", call, s.why()))
		}
		c := calls[len(calls)-1]
		e := c.Errno()
		switch {
		case !c.Returned && s.seg.Signal == unix.SIGSYS:
			return held("the kernel ended the caller (SIGSYS)", walls.Kernel, c.String())
		case !c.Returned:
			return errored("the call did not return" + s.why())
		case e == 0:
			return failed(fmt.Sprintf("%s worked", call), walls.Kernel, c.String())
		case len(errnos) > 0 && !slices.Contains(errnos, e):
			return failed(fmt.Sprintf("%s returned %s, which is no refusal of the wall's", call, unix.ErrnoName(e)), walls.Kernel, c.String())
		}
		return held("the kernel returned "+unix.ErrnoName(e), walls.Kernel, c.String())
	}
}

// works judges a control: the last call of that name has to succeed.
func works(call string) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			if s.said != nil && s.said.Err == "" && s.said.Errno == 0 {
				return held("worked", walls.Supervisor, "the probe's report")
			}
			return errored("it did not work" + s.why())
		}
		calls := s.seg.Find(call)
		if len(calls) == 0 {
			return errored(fmt.Sprintf("%s was not tried%s", call, s.why()))
		}
		if c := calls[len(calls)-1]; !c.OK() {
			return errored(fmt.Sprintf("%s is permitted and did not work: %s", call, c))
		}
		return held("worked", walls.Kernel, calls[len(calls)-1].String())
	}
}

// why explains an attempt that was not seen to be made.
func (s *seen) why() string {
	switch {
	case s.died != "":
		return "; the probe ended: " + s.died
	case s.said != nil && s.said.Err != "":
		return "; the probe says: " + s.said.Err
	case s.said != nil && s.said.Step > 0:
		return fmt.Sprintf("; step %d before it returned %s", s.said.Step, unix.ErrnoName(syscall.Errno(s.said.Errno)))
	case s.ended != "":
		return "; the probe ended: " + s.ended
	}
	return ""
}

// attempt makes the record of a judged row.
func (r *row) attempt(nonce string, traced bool, o outcome, control string) walls.Attempt {
	return walls.Attempt{
		ID: r.id, Nonce: nonce, Tried: r.tried, Expected: r.expected, Observed: o.observed,
		Witness: o.witness, Evidence: clean(o.evidence), Control: control, Verdict: o.verdict, Traced: traced,
	}
}

// clean keeps a line of evidence one line, short and printable.
func clean(s string) string {
	const most = 600
	var b strings.Builder
	for _, r := range s {
		if b.Len() > most {
			b.WriteString("...")
			break
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xfffd {
			fmt.Fprintf(&b, "\\x%02x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
