package walls

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	at := func(vs ...Verdict) (out []Attempt) {
		for i, v := range vs {
			out = append(out, Attempt{Tried: string(rune('a' + i)), Observed: "o", Verdict: v})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		in     []Attempt
		want   Verdict
		reason string
	}{
		{"nothing tried is an error", nil, Errored, "nothing was tried"},
		{"all held", at(Held, Held), Held, ""},
		{"what does not apply does not count beside what held", at(NA, Held), Held, ""},
		{"nothing applies", at(NA, NA), NA, "o"},
		{"an error is no pass", at(Held, Errored), Errored, "b: o"},
		{"a failure is worst, and counted", at(Failed, Errored, Failed), Failed, "a: o (and 1 more)"},
		{"an unknown verdict is no pass", at(Held, "fine"), "fine", "b: o"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, reason := Judge(tt.in); got != tt.want || reason != tt.reason {
				t.Errorf("got %q, %q; want %q, %q", got, reason, tt.want, tt.reason)
			}
		})
	}
}

func full(shape Shape, v func(n int) Verdict) *Record {
	r := &Record{Version: RecordVersion, Shape: shape, ShapeHash: shape.Hash(), Date: time.Unix(1, 0)}
	for _, s := range Tests() {
		r.Tests = append(r.Tests, Result{Number: s.Number, Name: s.Name, Wall: s.Wall, Verdict: v(s.Number)})
	}
	return r
}

func TestStanding(t *testing.T) {
	held := func(int) Verdict { return Held }
	shape := Shape{Kernel: "6.1", Build: "aa", Sysctls: map[string]string{"a": "1"}}
	other := shape
	other.Kernel = "6.2"
	if ok, why := Stand(full(shape, held), shape).Proven(); !ok {
		t.Errorf("got not proven: %s", why)
	}
	if ok, _ := Stand(nil, shape).Proven(); ok {
		t.Error("no record counts as proven")
	}
	s := Stand(full(shape, held), other)
	if ok, why := s.Proven(); ok || why != "they held in another shape: kernel was 6.1, is 6.2" {
		t.Errorf("got %v, %q; want stale by its kernel", ok, why)
	}
	if got := s.Of(FilesystemWall); got != MarkStale {
		t.Errorf("got %q, want stale", got)
	}
	s = Stand(full(shape, func(n int) Verdict {
		if n == 2 {
			return Failed
		}
		return Held
	}), other)
	if got := s.Of(FilesystemWall); got != MarkFailed {
		t.Errorf("got %q, want failed even when stale", got)
	}
	part := full(shape, held)
	part.Tests = part.Tests[:3]
	s = Stand(part, shape)
	if ok, _ := s.Proven(); ok || s.Of(FilesystemWall) != MarkHeld || s.Of(NetworkWall) != MarkUnproven {
		t.Error("a run of three tests says something of the others")
	}
	left := full(shape, held)
	left.Left = []string{"a process"}
	if ok, _ := Stand(left, shape).Proven(); ok || left.Clean() {
		t.Error("what was left behind does not matter")
	}
}

func TestTheSixteen(t *testing.T) {
	if len(Tests()) != 16 {
		t.Fatalf("got %d tests", len(Tests()))
	}
	walls := map[Wall]bool{}
	for i, s := range Tests() {
		if s.Number != i+1 || s.Name == "" || s.Action == "" || s.Expected == "" || s.Evidence == "" || s.NA == "" || s.Means == "" || s.Remedy == "" {
			t.Errorf("test %d is not whole: %+v", i+1, s)
		}
		walls[s.Wall] = true
	}
	for _, w := range Walls() {
		if !walls[w] {
			t.Errorf("no test for the wall %q", w)
		}
	}
}
