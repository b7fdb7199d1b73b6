package isolate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/limits/cgroup"
	"fumehood/isolate/testkit"
)

// groupPlace is where this account may make groups, or the test is skipped.
func groupPlace(t *testing.T) *cgroup.Place {
	t.Helper()
	p, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Skip("got no cgroup v2 that this account may divide, want one with memory and pids")
	}
	return p
}

func fact(s *isolate.Sandbox, what string) string {
	for _, f := range s.Layers() {
		if f.What == what {
			return f.Value
		}
	}
	return ""
}

func ended(t *testing.T, s *isolate.Sandbox) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(90 * time.Second): // an emulated machine is slow
		t.Fatal("got a sandbox that lives, want it ended by the kernel")
	}
}

func TestCgroupHoldsTheWholeSession(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	sp := spec(t)
	sp.Place, sp.TreeBytes, sp.Processes, sp.CPUs = groupPlace(t), 160<<20, 60, 1
	s := start(t, sp)
	if got := fact(s, "memory.max"); got != "167772160" {
		t.Errorf("got memory.max %q, want 167772160", got)
	}
	if got := fact(s, "pids.max"); got != "92" {
		t.Errorf("got pids.max %q, want 92", got)
	}
	if got := fact(s, "cpu.max"); got != "100000 100000" && sp.Place.CPU {
		t.Errorf("got cpu.max %q, want one processor", got)
	}
	dir := filepath.Join(sp.Place.Dir, cgroup.Prefix+sp.ID)
	if b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil || !strings.Contains(string(b), "\n") {
		t.Errorf("got %q, %v in the session's group, want its processes", b, err)
	}
	// Memory that no process maps, in many files of each kind: nothing is unseen.
	if _, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import os
keep=[]
while True:
    f=os.memfd_create('x'); keep.append(f)
    os.write(f,b'1'*(8<<20))`}, Env: env, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	ended(t, s)
	if peak, yes := s.OutOfMemory(); !yes || peak != 0 && peak > 161<<20 {
		t.Errorf("got out of memory %v at %d, want it, at 160 MiB", yes, peak)
	}
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the group after the session, want it gone", err)
	}
}

func TestCgroupOfAKilledSupervisorIsUsedAgain(t *testing.T) {
	sp := spec(t)
	sp.Place, sp.TreeBytes = groupPlace(t), 256<<20
	dir := filepath.Join(sp.Place.Dir, cgroup.Prefix+sp.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, sp)
	sh(t, s, "echo works").must(t, "works")
	// One in use is not to be had by another session of the same name.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	second, err := isolate.Start(ctx, sp)
	var le *layer.Error
	if !errors.As(err, &le) || le.Layer != layer.Limits {
		t.Errorf("got %v, want the layer limits named", err)
	}
	if second != nil {
		_ = second.Kill()
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the group after the session, want it gone", err)
	}
}

func TestACgroupThatIsGoneStopsTheStart(t *testing.T) {
	sp := spec(t)
	sp.Place, sp.TreeBytes = &cgroup.Place{Dir: filepath.Join(t.TempDir(), "gone")}, 256<<20
	s, err := isolate.Start(context.Background(), sp)
	var le *layer.Error
	if !errors.As(err, &le) || le.Layer != layer.Limits {
		t.Errorf("got %v, want the layer limits named", err)
	}
	if s != nil {
		_ = s.Kill()
	}
}
