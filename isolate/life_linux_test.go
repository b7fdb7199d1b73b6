package isolate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/limits"
	"fumehood/isolate/testkit"
)

func below(t testing.TB, pid int) []int {
	t.Helper()
	pids, err := limits.Tree(pid)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

func alive(pid int) bool {
	st, err := limits.ReadStat(pid, 0)
	return err == nil && st.State != 'Z' && st.State != 'X'
}

func TestHowACommandEnds(t *testing.T) {
	sp := spec(t)
	if err := os.WriteFile(sp.Workspace.Host+"/plain", []byte("echo by the shell\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sp.Workspace.Host+"/not-executable", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, sp.Workspace.Host+"/plain")
	s := start(t, sp)
	tests := []struct {
		name string
		argv []string
		want isolate.Status
		err  string
	}{
		{name: "success", argv: []string{"true"}},
		{name: "exit status", argv: []string{"sh", "-c", "exit 7"}, want: isolate.Status{Code: 7}},
		{name: "highest status", argv: []string{"sh", "-c", "exit 255"}, want: isolate.Status{Code: 255}},
		{name: "signal", argv: []string{"sh", "-c", "kill -SEGV $$"}, want: isolate.Status{Signal: int(syscall.SIGSEGV)}},
		{name: "not found", argv: []string{"no-such-command"}, want: isolate.Status{Code: 127}, err: "not found"},
		{name: "path not found", argv: []string{"./no-such-command"}, want: isolate.Status{Code: 127}, err: "not found"},
		{name: "not executable", argv: []string{"./not-executable"}, want: isolate.Status{Code: 126}, err: "permission denied"},
		{name: "folder", argv: []string{"/usr"}, want: isolate.Status{Code: 126}, err: "permission denied"},
		{name: "no format", argv: []string{"./plain"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, s, tt.argv...).status
			if !strings.Contains(got.StartErr, tt.err) || (tt.err == "") != (got.StartErr == "") {
				t.Errorf("got error %q, want %q", got.StartErr, tt.err)
			}
			got.StartErr = ""
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := runIn(t, s, "/no/such/folder", "true").status; got.Code != 126 || !strings.Contains(got.StartErr, "no such file") {
		t.Errorf("got %+v, want 126 for a folder that is absent", got)
	}
}

func TestSignalReachesTheCommandsGroup(t *testing.T) {
	s := start(t, spec(t))
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "sleep 600 & sleep 600"}, Env: env, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "the shell's children", func() bool { return len(below(t, s.PID())) == 4 })
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.Wait(); got != (isolate.Status{Signal: int(syscall.SIGTERM)}) {
		t.Errorf("got %+v, want SIGTERM", got)
	}
	testkit.Eventually(t, 5*time.Second, "only the spawner is left", func() bool { return len(below(t, s.PID())) == 1 })
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("got %v for a command that has ended, want nil", err)
	}
}

// What the starter's parent ignored or blocked must not reach a command.
func TestCommandHasDefaultSignals(t *testing.T) {
	s := start(t, spec(t))
	sh(t, s, "cat /proc/self/status | grep -E 'Sig(Blk|Ign|Cgt)' ").must(t, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000")
	cmd := testkit.RunInSubprocess(t, "supervise", "TEST_SCRIPT=cat /proc/self/status | grep -E 'Sig(Blk|Ign|Cgt)'")
	cmd.Args = []string{"/proc/self/exe"}
	shell := testkit.RunInSubprocess(t, "supervise")
	shell.Path, shell.Args = "/bin/sh", []string{"sh", "-c", "trap '' HUP INT TERM PIPE USR1; exec " + exe(t)}
	shell.Env = append(cmd.Env, specEnv(t, spec(t)))
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.Contains(got, "SigIgn:\t0000000000000000") {
		t.Errorf("got %q, want nothing ignored", got)
	}
}

// A daemon that leaves every group and heeds nothing is gone after Kill.
func TestKillLeavesNoDaemon(t *testing.T) {
	s := start(t, spec(t))
	sh(t, s, "((setsid sh -c 'trap \"\" TERM HUP INT; (setsid sleep 601 &) ; exec sleep 600' &) ; (sleep 602 & kill -STOP $!)) >/dev/null 2>&1")
	testkit.Eventually(t, 5*time.Second, "the daemons", func() bool { return len(below(t, s.PID())) == 4 })
	pids := append(below(t, s.PID()), s.PID())
	began := time.Now()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("took %v", d)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is alive after Kill", pid)
		}
	}
	if _, err := s.Spawn(isolate.Command{Argv: []string{"true"}, Env: env, Dir: "/"}); !errors.Is(err, isolate.ErrEnded) && err == nil {
		t.Errorf("got %v, want an error after the end", err)
	}
}

func TestKillingTheSpawnerEndsTheSession(t *testing.T) {
	testkit.LeakCheck(t)
	s := start(t, spec(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "read go; kill -9 -1; sleep 600"}, Env: env, Dir: "/", Stdin: r})
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	if got := p.Wait(); got != (isolate.Status{Signal: int(syscall.SIGKILL)}) {
		t.Errorf("got %+v, want SIGKILL", got)
	}
	select {
	case <-s.Done():
	case <-time.After(3 * time.Second):
		t.Error("the session goes on without its spawner")
	}
}

func TestFirstProcessOutlivesSignals(t *testing.T) {
	s := start(t, spec(t))
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP: // can't be outlived
			continue
		case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGPROF, 32, 33, 34: // the runtime's
			continue
		}
		if err := syscall.Kill(s.PID(), sig); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, s, "echo still here").must(t, "still here")
}

func TestContextEndsAStart(t *testing.T) {
	testkit.LeakCheck(t)
	for _, after := range []time.Duration{0, time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		s, err := isolate.Start(ctx, spec(t))
		cancel()
		if err == nil {
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			continue // it was faster
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
	}
}

func init() {
	parts["supervise"] = supervise
}

func specEnv(t testing.TB, sp isolate.Spec) string {
	t.Helper()
	b, err := json.Marshal(sp)
	if err != nil {
		t.Fatal(err)
	}
	return "TEST_SPEC=" + string(b)
}

func exe(t testing.TB) string {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// supervise starts a sandbox, runs a script in it and waits.
func supervise() {
	var sp isolate.Spec
	if err := json.Unmarshal([]byte(os.Getenv("TEST_SPEC")), &sp); err != nil {
		fmt.Println("spec:", err)
		os.Exit(2)
	}
	s, err := startLess(context.Background(), sp, os.Getenv("TEST_WITHOUT"))
	if err != nil {
		fmt.Println("start:", err)
		os.Exit(125)
	}
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", os.Getenv("TEST_SCRIPT")}, Env: env, Dir: "/", Stdout: os.Stdout})
	if err != nil {
		fmt.Println("spawn:", err)
		os.Exit(125)
	}
	fmt.Println("pid", s.PID())
	os.Exit(p.Wait().Code)
}

// supervised starts a supervisor of its own with a script inside, and returns
// it with the processes of its sandbox.
func supervised(t *testing.T, script string, more ...string) (sup *os.Process, pids []int) {
	t.Helper()
	cmd := testkit.RunInSubprocess(t, "supervise", append(more, specEnv(t, spec(t)), "TEST_SCRIPT="+script)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var first int
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		if n, _ := fmt.Sscanf(sc.Text(), "pid %d", &first); n == 1 {
			break
		}
		if sc.Text() != "inside" {
			t.Fatalf("supervisor: %s", sc.Text())
		}
	}
	if first == 0 {
		t.Fatal("the supervisor told no PID")
	}
	testkit.Eventually(t, 5*time.Second, "the script's processes", func() bool { return len(below(t, first)) >= 3 })
	return cmd.Process, append(below(t, first), first)
}

const stubborn = "trap '' HUP INT TERM; sleep 600 & setsid sleep 601 & wait; wait; wait"

func TestKilledSupervisorLeavesNothing(t *testing.T) {
	sup, pids := supervised(t, stubborn)
	if err := sup.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 3*time.Second, "everything inside gone", func() bool { return !anyAlive(pids) })
}

func TestStoppedSupervisorEndsTheSession(t *testing.T) {
	sup, pids := supervised(t, stubborn)
	if err := sup.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 3*time.Second, "everything inside gone", func() bool { return !anyAlive(pids) })
}

func TestRunningSupervisorKeepsTheSession(t *testing.T) {
	_, pids := supervised(t, stubborn)
	// Longer than a stopped one would have had.
	deadline := time.After(3500 * time.Millisecond)
	for {
		select {
		case <-deadline:
			return
		case <-time.After(100 * time.Millisecond):
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("process %d ended under a live supervisor", pid)
				}
			}
		}
	}
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if alive(pid) {
			return true
		}
	}
	return false
}

// The bound is on the session alone, and fumehood's own two processes live on.
func TestForkBombIsBounded(t *testing.T) {
	sp := spec(t)
	sp.Processes = 60
	s := start(t, sp)
	o := sh(t, s, `i=0; while [ $i -lt 400 ]; do sleep 600 >/dev/null 2>&1 & i=$((i+1)); done`)
	if o.status.Code == 0 || !strings.Contains(o.err, "ork") {
		t.Errorf("got %v, want forks refused", o)
	}
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.Processes > 60+32 {
		t.Errorf("got %d processes and threads, want at most 92", u.Processes)
	}
	if u.Processes < 40 {
		t.Errorf("got %d processes and threads: the bound is far below the policy's 60", u.Processes)
	}
	if err := execTrue(); err != nil {
		t.Errorf("a fork on the host: %v", err)
	}
	// fumehood's own two processes live on at the limit, and say so.
	refused := 0
	for range 50 {
		p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sleep", "600"}, Env: env, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if p.PID() == 0 {
			if st := p.Wait(); st.Code != 126 || st.StartErr == "" {
				t.Errorf("got %+v, want 126 and a reason", st)
			}
			refused++
		}
	}
	if refused == 0 {
		t.Error("no command was refused at the limit")
	}
	select {
	case <-s.Done():
		t.Error("the session ended by its own fork bomb")
	default:
	}
}

func execTrue() error {
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

func TestMemoryOfOneProcessIsBounded(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	sp := spec(t)
	sp.DataBytes = 200 << 20
	s := start(t, sp)
	run(t, s, "/usr/bin/python3", "-c", "x=b'1'*(100<<20); print(len(x)>>20)").must(t, "100")
	run(t, s, "/usr/bin/python3", "-c", "x=b'1'*(300<<20)").mustFail(t, "MemoryError")
	sh(t, s, "head -c 100M /dev/zero > /tmp/x").mustFail(t, "No space")
}

func TestUsageSeesMemfds(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	s := start(t, spec(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import os,time
f=os.memfd_create('x')
for i in range(96): os.write(f,b'1'*(1<<20))
os.write(1,b'.')
time.sleep(600)`}, Env: env, Dir: "/", Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatalf("read: %v, %+v", err, p.Wait())
	}
	used, over, err := limits.Over(s.PID(), 64<<20)
	if err != nil || !over || used < 96<<20 || used > 200<<20 {
		t.Errorf("got %s used, over %v, %v; want 96MiB and a little, over", limits.Bytes(used), over, err)
	}
	if used, over, err := limits.Over(s.PID(), 400<<20); err != nil || over {
		t.Errorf("got %s used, over %v, %v; want not over", limits.Bytes(used), over, err)
	}
}

func TestSpawnManyAtOnce(t *testing.T) {
	testkit.LeakCheck(t)
	s := start(t, spec(t))
	type res struct {
		p   *isolate.Process
		err error
	}
	ch := make(chan res)
	for i := range 20 {
		go func() {
			p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("exit %d", i)}, Env: env, Dir: "/"})
			if err == nil && p.Wait() != (isolate.Status{Code: i}) {
				err = fmt.Errorf("got %+v, want %d", p.Wait(), i)
			}
			ch <- res{p, err}
		}()
	}
	for range 20 {
		if r := <-ch; r.err != nil {
			t.Error(r.err)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
}
