package isolate_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
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

// mute is a service manager that takes every call and answers none.
func mute(t *testing.T) *cgroup.Bus {
	t.Helper()
	b := &cgroup.Bus{Dir: "/sys/fs/cgroup/user", Tree: "/sys/fs/cgroup", Socket: filepath.Join(t.TempDir(), "s")}
	l, err := net.Listen("unix", b.Socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		_, _ = io.WriteString(c, "OK 0123\r\n")
		_, _ = io.Copy(io.Discard, in) // until the other side gives up
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return b
}

func TestWhatIsNotClearAfterAScopeWasAskedForStopsTheStart(t *testing.T) {
	sp := spec(t)
	sp.Bus, sp.TreeBytes = mute(t), 256<<20
	s, err := isolate.Start(context.Background(), sp)
	var le *layer.Error
	if !errors.As(err, &le) || le.Layer != layer.Limits || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v, want the layer limits named", err)
	}
	if s != nil {
		_ = s.Kill()
	}
}

func TestAManagerThatRefusesLeavesLimitsToBeSampled(t *testing.T) {
	sp := spec(t)
	sp.Bus, sp.TreeBytes, sp.Metered = &cgroup.Bus{Socket: filepath.Join(t.TempDir(), "gone")}, 256<<20, true
	s := start(t, sp)
	if got := fact(s, "cgroup of PID 1"); !strings.HasPrefix(got, "none of its own: ") || s.Place() != nil {
		t.Errorf("got %q in %v, want none and why", got, s.Place())
	}
	// The namespace of groups is made by PID 1 then: each group is a root in it.
	sh(t, s, "! grep -v ':/$' /proc/self/cgroup /proc/1/cgroup && echo all").must(t, "all")
}

func TestNobodyIsAskedWithoutALimit(t *testing.T) {
	sp := spec(t)
	sp.Bus, sp.TreeBytes, sp.Processes, sp.CPUs = mute(t), 0, 0, 0
	sh(t, start(t, sp), "echo works").must(t, "works")
}

func TestAScopeOfTheServiceManagerHoldsTheWholeSession(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	b, err := cgroup.FindBus()
	if err != nil {
		t.Skipf("got no service manager (%v), want systemd --user", err)
	}
	sp := spec(t)
	sp.Bus, sp.TreeBytes, sp.Processes, sp.Metered = b, 160<<20, 60, true
	s := start(t, sp)
	if got := fact(s, "memory.max"); got != "167772160" {
		t.Errorf("got memory.max %q, want 167772160", got)
	}
	place := s.Place()
	if place == nil || !strings.HasPrefix(place.Dir, b.Dir+"/") {
		t.Fatalf("got the group in %+v, want it below %s", place, b.Dir)
	}
	sh(t, s, "cat /proc/self/cgroup").must(t, "0::/")
	if _, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import os
keep=[]
while True:
    f=os.memfd_create('x'); keep.append(f)
    os.write(f,b'1'*(8<<20))`}, Env: env, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	ended(t, s)
	if _, yes := s.OutOfMemory(); !yes {
		t.Error("got no word of the kernel's that memory ended it, want that")
	}
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(place.Dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got the scope %s left, want it gone with its last process", place.Dir)
		}
	}
}
