package prove

import (
	"testing"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session"
)

func TestAClockIsJudgedByTimeNameAndWhatIsLeft(t *testing.T) {
	good := clockSeen{value: time.Second, took: 1100 * time.Millisecond, limit: &session.Limit{Name: "run_time"}, seen: true}
	change := func(f func(*clockSeen)) clockSeen { s := good; f(&s); return s }
	for _, tt := range []struct {
		name string
		in   clockSeen
		want walls.Verdict
	}{
		{"in time", good, walls.Held},
		{"never seen", change(func(s *clockSeen) { s.seen = false }), walls.Errored},
		{"not ended", change(func(s *clockSeen) { s.limit = nil }), walls.Failed},
		{"another name", change(func(s *clockSeen) { s.limit = &session.Limit{Name: "idle"} }), walls.Failed},
		{"too early", change(func(s *clockSeen) { s.took = 900 * time.Millisecond }), walls.Failed},
		{"before it was silent for so long", change(func(s *clockSeen) { s.quiet = time.Second }), walls.Failed},
		{"too late", change(func(s *clockSeen) { s.took = 5 * time.Second }), walls.Failed},
		{"still there", change(func(s *clockSeen) { s.left = []string{"7"} }), walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeClock("run_time", tt.in); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestWhatIsNotSilentMustGoOn(t *testing.T) {
	o := outcome{verdict: walls.Held}
	if got := judgeChatter(o, 9, 9); got.verdict != walls.Held {
		t.Errorf("got %+v, want held", got)
	}
	if got := judgeChatter(o, 9, 16); got.verdict != walls.Failed {
		t.Errorf("got %+v of a run that was cut short, want failed", got)
	}
	if got := judgeChatter(errored("no"), 9, 16); got.verdict != walls.Errored {
		t.Errorf("got %+v, want the error to stay", got)
	}
}

func TestOneClockIsTriedAlone(t *testing.T) {
	p := &policy.Policy{Limits: policy.Limits{RunTime: 1, SessionTime: 2}, Lifecycle: policy.Lifecycle{Idle: 3}}
	for name, want := range map[string][3]time.Duration{"run_time": {9, 0, 0}, "session_time": {0, 9, 0}, "idle": {0, 0, 9}, "": {}} {
		q := timed(p, name, 9)
		if got := [3]time.Duration{q.Limits.RunTime, q.Limits.SessionTime, q.Lifecycle.Idle}; got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
