package isolate_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
)

// spin starts n busy loops.
func spin(t *testing.T, s *isolate.Sandbox, n int) {
	t.Helper()
	for range n {
		if _, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "while :; do :; done"}, Env: env, Dir: "/"}); err != nil {
			t.Fatal(err)
		}
	}
}

// seenOn watches for a while on which processors what is inside was seen. It
// also gives the processor time used meanwhile, in processors.
func seenOn(t *testing.T, s *isolate.Sandbox, watch time.Duration) (cpus map[string]bool, used float64) {
	t.Helper()
	cpus = map[string]bool{}
	before, began := usage(t, s), time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < watch {
		for _, pid := range below(t, s.PID()) {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if f := strings.Fields(string(b)); err == nil && len(f) > 38 {
				cpus[f[38]] = true
			}
		}
		<-tick.C
	}
	return cpus, float64(usage(t, s).CPU-before.CPU) / float64(time.Since(began))
}

func usage(t *testing.T, s *isolate.Sandbox) isolate.Usage {
	t.Helper()
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCPUHogIsHeldToItsShare(t *testing.T) {
	usable, err := limits.UsableCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(usable) < 2 {
		t.Skipf("got %d processor, want two: one can't be divided by affinity", len(usable))
	}
	sp := spec(t)
	sp.CPUs = 1
	s := start(t, sp)
	spin(t, s, len(usable)+2)
	if cpus, used := seenOn(t, s, 600*time.Millisecond); len(cpus) != 1 || used > 1.15 {
		t.Errorf("got the processors %v, %.2f of them used by %d loops; want one", cpus, used, len(usable)+2)
	}
	var facts []string
	for _, f := range s.Layers() {
		if f.Layer == layer.Limits && strings.HasPrefix(f.What, "cpus of ") {
			facts = append(facts, f.What+" "+f.Value)
		}
	}
	if len(facts) != 2 {
		t.Errorf("got the facts %q, want one of PID 1 and one of the spawner", facts)
	}
	// It can't be undone from inside.
	sh(t, s, "nproc").must(t, "1")
	sh(t, s, "taskset -c -p 0-1 $$").mustFail(t, "not permitted")
	// The control: without a limit the kernel lets it use them all. Where the
	// loops then run is the scheduler's choice, and no answer on a busy machine.
	sp = spec(t)
	sh(t, start(t, sp), "nproc").must(t, strconv.Itoa(len(usable)))
}

func TestMoreCPUsThanThereAreIsAllOfThem(t *testing.T) {
	sp := spec(t)
	sp.CPUs = 1000
	s := start(t, sp)
	for _, f := range s.Layers() {
		if f.What == "processors left to others" {
			return
		}
	}
	t.Errorf("got no word in %v that the session may use all processors", s.Layers())
}
