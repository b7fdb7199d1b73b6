package prove

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

func hogOf(t *testing.T, id string) hog {
	t.Helper()
	for _, h := range hogTable() {
		if h.id == id {
			return h
		}
	}
	t.Fatalf("no hog %q", id)
	return hog{}
}

func TestAHogIsJudgedByWhatWasSeenOutside(t *testing.T) {
	p := &policy.Policy{Limits: policy.Limits{Memory: 192 << 20, Processes: 96, Disk: 48 << 20, CPUs: 1}}
	limit := &session.Limit{Name: "memory", Value: "192MiB", Used: "200MiB"}
	unstopped := &probe.Said{Text: probe.HogUnstopped}
	refused := &probe.Said{Text: "refused at 99", Step: 1, Errno: int(syscall.ENOMEM)}
	forks := []time.Duration{2 * time.Millisecond, 300 * time.Millisecond, time.Millisecond}
	for _, tt := range []struct {
		name string
		id   string
		in   hogBurst
		want walls.Verdict
	}{
		{"refused by the kernel", "memory one", hogBurst{said: refused, peak: 100 << 20, ended: "exit 0"}, walls.Held},
		{"refused, but for another reason", "memory one", hogBurst{said: &probe.Said{Step: 1, Errno: int(syscall.EACCES)}, peak: 100 << 20, ended: "exit 0"}, walls.Errored},
		{"said to be refused, never seen to take anything", "memory one", hogBurst{said: refused, peak: 1 << 20, ended: "exit 0"}, walls.Errored},
		{"said to be refused, seen to take more", "memory one", hogBurst{said: refused, peak: 300 << 20, ended: "exit 0"}, walls.Failed},
		{"unstopped", "memory one", hogBurst{said: unstopped, peak: 200 << 20, ended: "exit 0"}, walls.Failed},
		{"it could not begin", "memory one", hogBurst{said: &probe.Said{Err: "no"}, ended: "exit 0"}, walls.Errored},
		{"ended at the limit", "memory many", hogBurst{limit: limit, peak: 200 << 20, ended: "signal SIGKILL"}, walls.Held},
		{"ended at another limit", "disk many", hogBurst{limit: limit, peak: 40 << 20, ended: "signal SIGKILL"}, walls.Failed},
		{"ended too late", "memory many", hogBurst{limit: limit, after: 3 * time.Second}, walls.Failed},
		{"ended, something is left", "memory many", hogBurst{limit: limit, left: []string{"7"}}, walls.Failed},
		{"killed, and nothing says why", "memory many", hogBurst{peak: 200 << 20, ended: "signal SIGKILL"}, walls.Failed},
		{"the probe was ended by the test", "memory many", hogBurst{peak: 200 << 20, ended: endedFromOutside + " after 15s"}, walls.Errored},
		{"the runtime ends when it gets no thread", "threads", hogBurst{peak: 128, ended: "exit 2"}, walls.Held},
		{"more threads than the number", "threads", hogBurst{peak: 190, ended: "exit 2"}, walls.Failed},
		{"holes go on", "disk sparse", hogBurst{said: unstopped, peak: 1 << 20, ended: "exit 0"}, walls.Held},
		{"holes are stopped", "disk sparse", hogBurst{said: refused, peak: 1 << 20, ended: "exit 0"}, walls.Errored},
		{"one processor", "cpu", hogBurst{said: unstopped, peak: 1020, cpu: time.Second, allowed: 1, machine: 2}, walls.Held},
		{"two processors", "cpu", hogBurst{said: unstopped, peak: 1900, cpu: time.Second, allowed: 1, machine: 2}, walls.Failed},
		{"two processors allowed on a busy machine", "cpu", hogBurst{said: unstopped, peak: 400, cpu: time.Second, allowed: 2, machine: 2}, walls.Failed},
		{"no processor time", "cpu", hogBurst{said: unstopped, peak: 10, cpu: time.Millisecond, allowed: 1, machine: 2}, walls.Errored},
		{"a machine with one processor", "cpu", hogBurst{said: unstopped, machine: 1, allowed: 1}, walls.NA},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := hogOf(t, tt.id)
			b, ok := boundOf(h, p, p, 16<<20)
			if !ok {
				t.Fatal("got no bound")
			}
			tt.in.forks = append([]time.Duration(nil), forks...)
			if got := judgeHog(h, b, tt.in); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

// A hog that never asks for more than its limit shows nothing. How much a
// session's own files take depends on how this program was built.
func TestAHogOfOneFileGoesBeyondItsLimit(t *testing.T) {
	p := &policy.Policy{Limits: policy.Limits{Disk: 1 << 30}}
	h := hogOf(t, "disk one")
	for _, own := range []int64{1 << 20, 20 << 20, 30 << 20, 60 << 20} {
		b, ok := boundOf(h, p, hogPolicy(p, own), own)
		if most := b.ceiling - b.used; !ok || most <= b.number {
			t.Errorf("%d bytes of its own: got a file of up to %d, want more than the limit of %d", own, most, b.number)
		}
	}
}

func TestAHogThatHoldsTheHostUpIsNotHeld(t *testing.T) {
	h := hogOf(t, "memory many")
	b, _ := boundOf(h, &policy.Policy{Limits: policy.Limits{Memory: 192 << 20}}, &policy.Policy{Limits: policy.Limits{Memory: 192 << 20}}, 0)
	slow := []time.Duration{300 * time.Millisecond, 200 * time.Millisecond}
	for _, tt := range []struct {
		name  string
		forks []time.Duration
		calm  time.Duration
		err   error
		want  walls.Verdict
	}{
		{"no fork was tried", nil, time.Millisecond, nil, walls.Errored},
		{"a fork failed", slow[:1], time.Millisecond, errors.New("no"), walls.Failed},
		{"slow", slow, time.Millisecond, nil, walls.Failed},
		{"much slower than before", slow, 49 * time.Millisecond, nil, walls.Failed},
		{"not much slower than before", slow[1:], 50 * time.Millisecond, nil, walls.Errored},
		{"too slow before", slow, 51 * time.Millisecond, nil, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := hogBurst{limit: &session.Limit{Name: "memory"}, forks: tt.forks, calm: tt.calm, forkErr: tt.err}
			if got := judgeHog(h, b, s); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestOneSlowForkIsNotBelievedAtOnce(t *testing.T) {
	for _, tt := range []struct {
		thin  []bool
		fails bool
		want  int
	}{{[]bool{false}, false, 1}, {[]bool{true, false}, false, 2}, {[]bool{true, true, true}, false, 3}, {[]bool{true}, true, 1}} {
		n := 0
		as, err := sure(func() ([]walls.Attempt, bool, error) {
			thin := tt.thin[n]
			n++
			if tt.fails {
				return nil, thin, errors.New("no")
			}
			return []walls.Attempt{{Nonce: fmt.Sprint(n)}}, thin, nil
		})
		if n != tt.want || (err != nil) != tt.fails || !tt.fails && as[0].Nonce != fmt.Sprint(n) {
			t.Errorf("%v: got %d tries, %v, %v; want %d and the last one's word", tt.thin, n, as, err, tt.want)
		}
	}
}

func TestAnotherSandboxesLimitsMustShowWhatBoundsIt(t *testing.T) {
	p := &policy.Policy{Limits: policy.Limits{Memory: 12 << 30}}
	h := hogOf(t, "memory memfd")
	b, ok := foreignBound(h, p)
	if !ok || !b.harmless || b.ceiling != hogForeignMemory {
		t.Fatalf("got %+v, want a number that may not be tried", b)
	}
	s := hogBurst{said: &probe.Said{Text: probe.HogUnstopped}, peak: 257 << 20, ended: "exit 0", foreign: true, forks: []time.Duration{1}}
	if got := judgeHog(h, b, s); got.verdict != walls.Failed {
		t.Errorf("unbounded: got %+v, want failed", got)
	}
	s.bounds = "it has a cgroup of its own"
	if got := judgeHog(h, b, s); got.verdict != walls.Errored {
		t.Errorf("bounded by something above the ceiling: got %+v, want an error", got)
	}
	s.said, s.ended = nil, "signal SIGKILL"
	if got := judgeHog(h, b, s); got.verdict != walls.Held {
		t.Errorf("killed below the ceiling: got %+v, want held", got)
	}
	if b, _ := foreignBound(h, &policy.Policy{Limits: policy.Limits{Memory: 100 << 20}}); b.harmless || b.ceiling != 110<<20 {
		t.Errorf("got %+v, want a little more than a number that may be tried", b)
	}
}

func TestAScaledPolicyKeepsWhatIsNoneAndNeverRises(t *testing.T) {
	p := &policy.Policy{Limits: policy.Limits{Memory: 4 << 30, Processes: 20, RunTime: time.Second}}
	got := hogPolicy(p, 16<<20)
	if l := got.Limits; l.Memory != hogMemory || l.Processes != 20 || l.Disk != 0 || l.CPUs != 0 || l.RunTime != 0 {
		t.Errorf("got %+v, want the small ones kept and no clock", l)
	}
	if p.Limits.RunTime != time.Second || p.Limits.Memory != 4<<30 {
		t.Errorf("got the policy under test changed: %+v", p.Limits)
	}
	for _, h := range hogTable() {
		_, ok := boundOf(h, p, got, 0)
		if want := h.limit == "memory" || h.limit == "processes"; ok != want {
			t.Errorf("%s: got applies %v, want %v", h.id, ok, want)
		}
	}
	if got := hogPolicy(&policy.Policy{Limits: policy.Limits{Disk: 2 << 20}}, 16<<20).Limits.Disk; got != 40<<20 {
		t.Errorf("got a disk of %d, want what the probe needs", got)
	}
}

func TestNumbersThatDifferAreNotHeld(t *testing.T) {
	want := wantNumbers(&policy.Policy{Limits: policy.Limits{Memory: 1 << 30, Processes: 100, CPUs: 4}}, 2)
	have := wantNumbers(&policy.Policy{Limits: policy.Limits{Memory: 1 << 30, Processes: 100, CPUs: 2}}, 8)
	if got := judgeNumbers(want, have); got.verdict != walls.Held {
		t.Errorf("got %+v, want held", got)
	}
	for _, key := range []string{"Max data size", "Max processes", "processors", "oom_score_adj", "size of /dev/shm"} {
		old := have[key]
		have[key] = "unlimited"
		if got := judgeNumbers(want, have); got.verdict != walls.Failed {
			t.Errorf("%s: got %+v, want failed", key, got)
		}
		have[key] = old
	}
	if got := judgeNumbers(want, nil); got.verdict != walls.Failed {
		t.Errorf("got %+v of a process that is not there, want failed", got)
	}
}
