package isolate_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"fumehood/isolate/limits/cgroup"
)

// TestLimitsCostLittleAtStart measures the budget: a start with every limit
// armed takes at most 10 ms more than one without. It is a difference of medians of
// one run, taken in turns.
func TestLimitsCostLittleAtStart(t *testing.T) {
	if testing.Short() || os.Getenv("FUMEHOOD_BUDGETS") == "" {
		t.Skip("got no FUMEHOOD_BUDGETS, want it set: a measurement needs a quiet machine")
	}
	bare := spec(t)
	bare.Processes, bare.DataBytes = 0, 0
	armed := spec(t)
	armed.CPUs, armed.FileBytes, armed.TreeBytes, armed.Metered = 1, 1<<30, 1<<30, true
	var err error
	if armed.Place, err = cgroup.Find(); err != nil {
		t.Fatal(err)
	}
	var without, with []time.Duration
	for range 40 {
		began := time.Now()
		s := once(t, bare)
		without = append(without, time.Since(began))
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		s = once(t, armed)
		with = append(with, time.Since(began))
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(without)
	slices.Sort(with)
	a, b := without[len(without)/2], with[len(with)/2]
	t.Logf("without %v, with %v, %v more", a, b, b-a)
	if b-a > 10*time.Millisecond {
		t.Errorf("got %v more with limits, want at most 10ms", b-a)
	}
}
