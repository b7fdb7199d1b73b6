package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
)

// ran is a record of some tests with one verdict, but for those named.
func ran(shape walls.Shape, numbers int, other map[int]walls.Verdict) *walls.Record {
	r := &walls.Record{
		Version: walls.RecordVersion, Policy: "p", PolicyHash: strings.Repeat("a", 64), Shape: shape, ShapeHash: shape.Hash(),
		Date: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), By: "ada",
	}
	for _, s := range walls.Tests()[:numbers] {
		v, reason := walls.Held, ""
		if o, ok := other[s.Number]; ok {
			v, reason = o, "because of "+string(o)
		}
		r.Tests = append(r.Tests, walls.Result{Number: s.Number, Name: s.Name, Wall: s.Wall, Verdict: v, Reason: reason})
	}
	return r
}

func verdicts(r *walls.Record) string {
	if r == nil {
		return "none"
	}
	out := ""
	for _, t := range r.Tests {
		out += map[walls.Verdict]string{walls.Held: "h", walls.Failed: "F", walls.Errored: "E", walls.NA: "-"}[t.Verdict]
	}
	return out
}

// A run of some of the tests can take a proof away and never give one.
func TestARunOfSomeTestsOnlyTakesAway(t *testing.T) {
	here, there := walls.Shape{Kernel: "6.1"}, walls.Shape{Kernel: "6.2"}
	failed := map[int]walls.Verdict{2: walls.Failed}
	left := ran(here, 1, nil)
	left.Left = []string{"a process"}
	for _, c := range []struct {
		name      string
		kept, run *walls.Record
		want      string
	}{
		{"all of them replace what there was", ran(here, 16, failed), ran(here, 16, nil), strings.Repeat("h", 16)},
		{"some that held say nothing", ran(here, 16, failed), ran(here, 3, nil), "none"},
		{"nor with nothing before", nil, ran(here, 3, nil), "none"},
		{"one that failed spoils the proof", ran(here, 16, nil), ran(here, 3, failed), "hF" + strings.Repeat("h", 14)},
		{"one that failed is told without a proof", nil, ran(here, 3, failed), "F"},
		{"it does not mix with another shape", ran(there, 16, nil), ran(here, 3, failed), "F"},
		{"what was left behind spoils it too", ran(here, 16, nil), left, strings.Repeat("h", 16)},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := verdicts(c.kept)
			got := mergeProofs(c.kept, c.run)
			if verdicts(got) != c.want {
				t.Errorf("got %s, want %s", verdicts(got), c.want)
			}
			if got != nil && got != c.run {
				if ok, _ := walls.Stand(got, here).Proven(); ok {
					t.Error("got a proof out of some tests")
				}
			}
			if after := verdicts(c.kept); after != before {
				t.Errorf("got the record before changed to %s, want %s: it is handed out to others", after, before)
			}
		})
	}
}

func TestARequiredProofIsDemanded(t *testing.T) {
	shape := walls.Shape{Kernel: "6.1"}
	shown, required := &policy.Policy{Name: "p"}, &policy.Policy{Name: "p"}
	shown.Boundary.Proven, required.Boundary.Proven = policy.ProvenShown, policy.ProvenRequired
	whole := walls.Stand(ran(shape, 16, map[int]walls.Verdict{5: walls.NA}), shape)
	for _, c := range []struct {
		name string
		st   walls.Standing
		err  error
		why  string
	}{
		{"proven", whole, nil, ""},
		{"never tested", walls.Standing{}, nil, "were not run with this policy"},
		{"another shape", walls.Stand(ran(shape, 16, nil), walls.Shape{Kernel: "6.2"}), nil, "kernel was 6.1, is 6.2"},
		{"not all", walls.Stand(ran(shape, 15, nil), shape), nil, "not all sixteen"},
		{"a failure", walls.Stand(ran(shape, 16, map[int]walls.Verdict{2: walls.Failed}), shape), nil, "came out as failed"},
		{"an unreadable record", whole, errors.New("record is damaged"), "record is damaged"},
	} {
		if err := demand(shown, c.st, c.err); err != nil {
			t.Errorf("%s: got %v, want no demand where none is made", c.name, err)
		}
		err := demand(required, c.st, c.err)
		if c.why == "" {
			if err != nil {
				t.Errorf("%s: got %v, want it to start", c.name, err)
			}
			continue
		}
		var u *UnprovenError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), c.why) || !strings.Contains(u.Hint(), `"fumehood walls --policy p"`) {
			t.Errorf("%s: got %v, want it refused with %q and a hint", c.name, err, c.why)
		}
	}
}

func TestTheBlockSaysWhatIsVerified(t *testing.T) {
	shape := walls.Shape{Kernel: "6.1", Cgroup: "v2", Build: strings.Repeat("b", 64)}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p, _ := policy.Builtin(policy.DefaultName)
	other := shape
	other.Kernel = "6.2"
	for _, c := range []struct {
		name string
		st   walls.Standing
		err  error
		want []string
	}{
		{"nothing", walls.Standing{}, nil, []string{"no wall-test record: not yet proven"}},
		{"unreadable", walls.Standing{}, errors.New("record x is damaged"), []string{"not proven: record x is damaged"}},
		{"proven", walls.Stand(ran(shape, 16, map[int]walls.Verdict{5: walls.NA}), shape), nil, []string{
			"proven in this shape", "2026-11-30 10:00:00Z (2 hours ago) by ada", "15 of 16 tests held", "n.a. 5 allowed destination: because of n.a.",
			"kernel 6.1; root, 0 supplementary groups; cgroups v2;",
		}},
		{"failed", walls.Stand(ran(shape, 16, map[int]walls.Verdict{6: walls.Failed, 9: walls.Errored}), shape), nil, []string{
			"NOT PROVEN: wall test default deny came out as failed", "failed 6 default deny: because of failed", "error 9 clocks: because of error",
		}},
		{"stale", walls.Stand(ran(shape, 16, nil), other), nil, []string{"STALE: held in another shape", "stale kernel was 6.1, is 6.2"}},
		{"stale and failed", walls.Stand(ran(shape, 16, map[int]walls.Verdict{6: walls.Failed}), other), nil, []string{"NOT PROVEN:", "failed 6 default deny"}},
	} {
		text := policy.Block(p, now, Verified(c.st, c.err, now))
		got := strings.Join(strings.Fields(text), " ")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got a block without %q:\n%s", c.name, want, text)
			}
		}
	}
}
