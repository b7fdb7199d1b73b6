package prove

import (
	"slices"
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

// On a busy machine a clock can be over before what it ends has begun.
func TestAClockIsTriedAgainWhereItWasTooShort(t *testing.T) {
	none, ended := clockSeen{limit: &session.Limit{Name: "idle"}}, clockSeen{limit: &session.Limit{Name: "idle"}, seen: true}
	cut, open := ended, clockSeen{}
	cut.cut = true
	for _, tt := range []struct {
		name  string
		value time.Duration
		seen  []clockSeen // of each try
		want  walls.Verdict
		tried []time.Duration
	}{
		{"at once", time.Hour, []clockSeen{ended}, walls.Held, []time.Duration{1e9}},
		{"at the second", time.Hour, []clockSeen{none, ended}, walls.Held, []time.Duration{1e9, 4e9}},
		{"at the third", time.Hour, []clockSeen{cut, none, ended}, walls.Held, []time.Duration{1e9, 4e9, 16e9}},
		{"never", time.Hour, []clockSeen{none, none, none}, walls.Errored, []time.Duration{1e9, 4e9, 16e9}},
		{"no longer than the policy's", 3 * time.Second, []clockSeen{none, none}, walls.Errored, []time.Duration{1e9, 3e9}},
		{"nothing ended it", time.Hour, []clockSeen{open}, walls.Errored, []time.Duration{1e9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tried []time.Duration
			o, err := longEnough("idle", tt.value, time.Second, func(short time.Duration) (clockSeen, error) {
				s := tt.seen[len(tried)]
				tried = append(tried, short)
				s.value, s.took = short, short
				return s, nil
			})
			if err != nil || o.verdict != tt.want || !slices.Equal(tried, tt.tried) {
				t.Errorf("got %s after %v, %v; want %s after %v", o.verdict, tried, err, tt.want, tt.tried)
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
