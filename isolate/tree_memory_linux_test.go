package isolate_test

import (
	"slices"
	"testing"
	"time"

	"fumehood/isolate"
)

// Many processes, each far below the limit: together they are over it, all are
// gone soon after, and the host can fork meanwhile.
func TestManyProcessesAreOverTogetherAndGoneSoon(t *testing.T) {
	sp := spec(t)
	sp.TreeBytes, sp.Metered = 100<<20, true
	s := start(t, sp)
	if u, err := s.Usage(); err != nil || u.Over {
		t.Fatalf("got %+v, %v before anything runs, want not over", u, err)
	}
	const enough = 9 // one or two say nothing of the host
	if _, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", `
trap '' TERM INT HUP
for i in 1 2 3 4 5 6 7 8; do (x=$(head -c 20000000 /dev/zero | tr '\0' a); while :; do :; done) & done; wait`}, Env: env, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	var forks []time.Duration
	deadline := time.Now().Add(60 * time.Second)
	for {
		began := time.Now()
		if err := execTrue(); err != nil {
			t.Fatalf("a fork on the host: %v", err)
		}
		forks = append(forks, time.Since(began))
		u, err := s.Usage()
		if err != nil {
			t.Fatal(err)
		}
		if u.Over && u.RSS <= 100<<20 {
			t.Errorf("got over at %d bytes, want more than the limit", u.RSS)
		}
		if u.Over && len(forks) >= enough {
			break // they go on until they are ended
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want it over the limit", u)
		}
	}
	pids := below(t, s.PID())
	began := time.Now()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("got all ended in %v, want at most 2s", took)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	slices.Sort(forks)
	if p50 := forks[len(forks)/2]; p50 > 100*time.Millisecond {
		t.Errorf("got %v for a fork on the host, the median of %d, want at most 100ms", p50, len(forks))
	}
}

// Pages that a fork shares count once.
func TestSharedPagesCountOnce(t *testing.T) {
	sp := spec(t)
	sp.TreeBytes, sp.Metered = 100<<20, true
	s := start(t, sp)
	if _, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", `
x=$(head -c 30000000 /dev/zero | tr '\0' a)
for i in 1 2 3 4 5 6 7 8; do (sleep 600; :) & done; wait`}, Env: env, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for len(below(t, s.PID())) < 18 { // spawner, shell, eight shells and their sleeps
		if time.Now().After(deadline) {
			t.Fatalf("got %d processes, want 18", len(below(t, s.PID())))
		}
		<-time.After(5 * time.Millisecond)
	}
	u, err := s.Usage()
	if err != nil || u.Over || u.RSS > 100<<20 {
		t.Errorf("got %+v, %v, want eight copies of 30 MB that share their pages to be under 100 MiB", u, err)
	}
}
