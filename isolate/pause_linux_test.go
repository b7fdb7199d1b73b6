package isolate_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/limits"
	"fumehood/isolate/testkit"
)

func spawn(t *testing.T, s *isolate.Sandbox, argv ...string) *isolate.Process {
	t.Helper()
	p, err := s.Spawn(isolate.Command{Argv: argv, Env: env, Dir: "/home/someone/project"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPauseStopsEverythingAndIsProven(t *testing.T) {
	sp := spec(t)
	s := start(t, sp)
	counter := sp.Workspace.Host + "/counter"
	spawn(t, s, "/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i > counter; done")
	spawn(t, s, "/bin/sh", "-c", "while :; do /bin/true; done") // forks all the time
	testkit.Eventually(t, 5*time.Second, "counting", func() bool { b, err := os.ReadFile(counter); return err == nil && len(b) > 2 })
	for range 5 {
		resume, err := s.Pause(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range below(t, s.PID()) {
			st, err := limits.ReadStat(pid, 0)
			if err != nil || st.State != 'T' && st.State != 'Z' {
				t.Errorf("process %d is in state %c, %v", pid, st.State, err)
			}
		}
		before, err := os.ReadFile(counter)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(30 * time.Millisecond); time.Now().Before(deadline); {
			if now, err := os.ReadFile(counter); err != nil || string(now) != string(before) {
				t.Fatalf("got %q, %v during a pause, want %q", now, err, before)
			}
		}
		if err := resume(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 5*time.Second, "counting again", func() bool {
			b, err := os.ReadFile(counter)
			return err == nil && len(b) > 0 && string(b) != string(before)
		})
	}
	sh(t, s, "echo alive").must(t, "alive")
}

// A shell must not take the pause for a stop of its job, and a job that it had
// stopped must stay so.
func TestPauseLeavesJobsAsTheyWere(t *testing.T) {
	testkit.RequireProgram(t, "bash")
	s := start(t, spec(t))
	p, out := onTTY(t, s, "/bin/bash", "--norc", "-i")
	typed(t, p, "sleep 604\n")
	inForeground(t, s, "604")
	typed(t, p, "\x1a")
	out.await(t, "Stopped")
	typed(t, p, "sleep 605\n")
	inForeground(t, s, "605")
	for range 10 {
		resume, err := s.Pause(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := resume(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.text(), "Stopped"); n != 1 {
		t.Errorf("the shell took a pause for a stop: %q", out.text())
	}
	typed(t, p, "\x03echo $((60+1))next; jobs\n")
	out.await(t, "61next")
	testkit.Eventually(t, 5*time.Second, "the list of jobs", func() bool { return strings.Count(out.text(), "Stopped") == 2 })
	if strings.Contains(out.text(), "Running") {
		t.Errorf("a stopped job was continued: %q", out.text())
	}
}

// A timer of its own can continue a process in the middle of a pause. That has
// to be known before anything that was read meanwhile is trusted.
func TestResumeTellsThatSomethingRan(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	sp := spec(t)
	s := start(t, sp)
	p := spawn(t, s, "/usr/bin/python3", "-c", `
import ctypes,signal,time,os
libc=ctypes.CDLL(None,use_errno=True)
class sigevent(ctypes.Structure): _fields_=[('value',ctypes.c_void_p),('signo',ctypes.c_int),('notify',ctypes.c_int),('pad',ctypes.c_char*48)]
ev=sigevent(None,signal.SIGCONT,0); tid=ctypes.c_int()
assert libc.syscall(222,1,ctypes.byref(ev),ctypes.byref(tid))==0
class its(ctypes.Structure): _fields_=[('a',ctypes.c_long),('b',ctypes.c_long),('c',ctypes.c_long),('d',ctypes.c_long)]
v=its(0,150000000,0,150000000)
assert libc.syscall(223,tid,0,ctypes.byref(v),None)==0
open('armed','w').close()
while True: open('ran','w').close(); time.sleep(0.01)`)
	testkit.Eventually(t, 10*time.Second, "armed", func() bool { _, err := os.Stat(sp.Workspace.Host + "/armed"); return err == nil })
	noticed := false
	for range 20 {
		resume, err := s.Pause(t.Context())
		if err != nil {
			noticed = true // it continued itself before the proof was complete
			continue
		}
		os.Remove(sp.Workspace.Host + "/ran")
		ran := false
		for deadline := time.Now().Add(250 * time.Millisecond); time.Now().Before(deadline) && !ran; {
			_, err := os.Stat(sp.Workspace.Host + "/ran")
			ran = err == nil
		}
		err = resume()
		if ran && err == nil {
			t.Fatal("a process ran during the pause, and resume did not tell")
		}
		if err != nil {
			if !strings.Contains(err.Error(), "ran during the pause") {
				t.Fatal(err)
			}
			noticed = true
			break
		}
	}
	if !noticed {
		t.Errorf("the process never continued itself; %+v", p)
	}
}

// A command that is asked for during a pause starts after it.
func TestSpawnWaitsForTheEndOfAPause(t *testing.T) {
	s := start(t, spec(t))
	resume, err := s.Pause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan error, 1)
	go func() {
		p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/true"}, Env: env, Dir: "/"})
		if err == nil && p.Wait() != (isolate.Status{}) {
			err = fmt.Errorf("got %+v", p.Wait())
		}
		began <- err
	}()
	select {
	case err := <-began:
		t.Fatalf("it started during the pause: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-began; err != nil {
		t.Error(err)
	}
}

func TestPauseOneAtATime(t *testing.T) {
	s := start(t, spec(t))
	resume, err := s.Pause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := s.Pause(ctx); err == nil {
		t.Error("a second pause began in the first")
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if err := resume(); err != nil {
		t.Errorf("got %v from a second resume, want nil", err)
	}
	resume, err = s.Pause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := resume(); err == nil {
		t.Error("resume of a sandbox that ended says nothing")
	}
	if _, err := s.Pause(t.Context()); err == nil {
		t.Error("a sandbox that ended was paused")
	}
}
