package prove

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

func call(name string, ret int64, returned bool) trace.Call {
	return trace.Call{Name: name, Ret: ret, Returned: returned}
}

func TestRefusalIsTheKernelsAnswer(t *testing.T) {
	const enoent = -int64(unix.ENOENT)
	for _, tt := range []struct {
		name string
		seen seen
		want walls.Verdict
	}{
		{"refused", seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{call("openat", enoent, true)}}}, walls.Held},
		{"worked", seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{call("openat", 3, true)}}}, walls.Failed},
		{"another errno is no refusal of the wall's", seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{call("openat", -int64(unix.EFAULT), true)}}}, walls.Failed},
		{"the last call counts", seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{call("openat", enoent, true), call("openat", 3, true)}}}, walls.Failed},
		{"never tried", seen{traced: true, seg: &trace.Segment{}}, walls.Errored},
		{"no segment", seen{traced: true}, walls.Errored},
		{"the probe's word alone", seen{said: &probe.Said{Errno: int(unix.ENOENT)}}, walls.Errored},
		{"ended by the filter", seen{traced: true, seg: &trace.Segment{Signal: unix.SIGSYS, Calls: []trace.Call{call("openat", 0, false)}}}, walls.Held},
		{"ended by something else", seen{traced: true, seg: &trace.Segment{Signal: unix.SIGKILL, Calls: []trace.Call{call("openat", 0, false)}}}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := refused("openat", unix.ENOENT, unix.EACCES)(&tt.seen); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

// scripted is a room whose probes answer as a test says.
type scripted struct {
	runs []func(probe.Job) *ran
}

func (s *scripted) probe(_ context.Context, job probe.Job, _ how) (*ran, error) {
	if len(s.runs) == 0 {
		return nil, errors.New("one probe too many")
	}
	f := s.runs[0]
	s.runs = s.runs[1:]
	return f(job), nil
}
func (*scripted) workspace() (host, inside string) { return "", "" }
func (*scripted) home() string                     { return "" }
func (*scripted) first() int                       { return 0 }
func (*scripted) close(context.Context) error      { return nil }

// kernel answers each attempt with one call and its result; an attempt whose
// answer is nil ends the probe.
func kernel(answers map[int]*trace.Call) func(probe.Job) *ran {
	return func(job probe.Job) *ran {
		r := &ran{log: &trace.Log{Segments: map[int]*trace.Segment{}}, said: map[int]probe.Said{}, hello: probe.Hello{PID: 7}}
		for _, a := range job.Actions {
			c := answers[a.Seq]
			seg := &trace.Segment{Seq: a.Seq, Nonce: a.Nonce}
			r.log.Segments[a.Seq] = seg
			if c == nil {
				seg.Signal, r.ended = unix.SIGKILL, "signal SIGKILL"
				return r
			}
			seg.Calls, seg.Ended = []trace.Call{*c}, true
			r.said[a.Seq] = probe.Said{Seq: a.Seq}
		}
		r.done, r.ended = true, "exit 0"
		return r
	}
}

func verdicts(as []walls.Attempt) string {
	var out []string
	for _, a := range as {
		out = append(out, a.ID+" "+string(a.Verdict))
	}
	return strings.Join(out, ", ")
}

func quiet() *env { return &env{tell: func(walls.Event) {}, pol: &policy.Policy{}} }

func TestARefusalWithoutAWorkingControlIsAnError(t *testing.T) {
	rows := []row{
		{id: "control", judge: works("openat")},
		{id: "wall", control: "control", judge: refused("openat")},
		{id: "hole", control: "control", judge: refused("openat")},
		{id: "orphan", control: "nobody", judge: refused("openat")},
	}
	ok, no := call("openat", 3, true), call("openat", -int64(unix.EACCES), true)
	for _, tt := range []struct {
		name    string
		answers map[int]*trace.Call
		want    string
	}{
		{"a control that works", map[int]*trace.Call{0: &ok, 1: &no, 2: &ok, 3: &no}, "control held, wall held, hole failed, orphan error"},
		{"one that does not", map[int]*trace.Call{0: &no, 1: &no, 2: &ok, 3: &no}, "control error, wall error, hole failed, orphan error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := quiet().rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{kernel(tt.answers)}}, rows)
			if err != nil || verdicts(got) != tt.want {
				t.Errorf("got %s, %v; want %s", verdicts(got), err, tt.want)
			}
		})
	}
}

func TestAnAttemptThatEndsTheProbeDoesNotHideTheOthers(t *testing.T) {
	no := call("openat", -int64(unix.EACCES), true)
	rows := []row{{id: "a", judge: refused("openat")}, {id: "b", judge: refused("openat")}, {id: "c", judge: refused("openat")}}
	first := kernel(map[int]*trace.Call{0: &no, 2: &no})
	got, err := quiet().rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{first, first}}, rows)
	if want := "a held, b error, c held"; err != nil || verdicts(got) != want {
		t.Errorf("got %s, %v; want %s", verdicts(got), err, want)
	}
}

func TestAProbeThatNeverStartsIsAnErrorOfTheTest(t *testing.T) {
	dead := func(probe.Job) *ran { return &ran{ended: "exit 127", said: map[int]probe.Said{}} }
	_, err := quiet().rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{dead}}, []row{{id: "a", judge: refused("openat")}})
	if err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("got %v, want that it did not start", err)
	}
}

func TestAHostWitnessedAttemptIsMadeAgainUntraced(t *testing.T) {
	no := call("openat", -int64(unix.EACCES), true)
	rows := []row{
		{id: "traced", judge: refused("openat")},
		{id: "both", host: true, judge: func(s *seen) outcome {
			if s.traced {
				return refused("openat")(s)
			}
			return held("the host has seen nothing", walls.Filesystem, "")
		}},
	}
	traced := kernel(map[int]*trace.Call{0: &no, 1: &no})
	untraced := func(job probe.Job) *ran {
		r := traced(job)
		r.log = nil
		return r
	}
	got, err := quiet().rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{traced, untraced}}, rows)
	if want := "traced held, both held, both held"; err != nil || verdicts(got) != want || got[1].Traced == got[2].Traced {
		t.Errorf("got %s, %v; want %s, once with and once without the tracer", verdicts(got), err, want)
	}
}

func TestEvidenceIsOneShortPrintableLine(t *testing.T) {
	got := clean("a\x1b[31mb\nc\u0085" + strings.Repeat("x", 2000))
	if strings.ContainsAny(got, "\x1b\n\u0085") || len(got) > 700 {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(got, `a\x1b[31mb\x0ac\x85`) {
		t.Errorf("got %q, want what was taken out to be named", got[:40])
	}
}

func TestErrnoOfACall(t *testing.T) {
	if c := call("x", -13, true); c.Errno() != syscall.EACCES || c.OK() {
		t.Errorf("got %v", c.Errno())
	}
}
