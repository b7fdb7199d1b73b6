package isolate_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/stage"
	"fumehood/isolate/testkit"
)

func TestMain(m *testing.M) {
	stage.Dispatch()
	testkit.Parts(parts)
	os.Exit(m.Run())
}

// parts is what this binary can be re-executed for.
var parts = map[string]func(){}

// spec is an ordinary session's.
func spec(t testing.TB) isolate.Spec {
	t.Helper()
	uid, gid := testkit.IDs()
	return isolate.Spec{
		ID:        "test",
		Workspace: isolate.Mount{Host: testkit.Folder(t, "workspace"), Inside: "/home/someone/project"},
		Home:      isolate.Mount{Host: testkit.Folder(t, "home"), Inside: isolate.HomeInside},
		Canary:    testkit.Folder(t, "canary"),
		UID:       uid, GID: gid, User: "someone",
		Processes: 512, DataBytes: 2 << 30, TmpBytes: 64 << 20, Egress: true,
	}
}

func start(t testing.TB, sp isolate.Spec) *isolate.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := isolate.Start(ctx, sp)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + isolate.HomeInside, "TERM=xterm", "LANG=C.UTF-8"}

// outcome is what a command left.
type outcome struct {
	out, err string
	status   isolate.Status
}

// run runs a captured command in the workspace.
func run(t testing.TB, s *isolate.Sandbox, argv ...string) outcome {
	t.Helper()
	return runIn(t, s, "/home/someone/project", argv...)
}

func runIn(t testing.TB, s *isolate.Sandbox, dir string, argv ...string) outcome {
	t.Helper()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Spawn(isolate.Command{Argv: argv, Env: env, Dir: dir, Stdout: outW, Stderr: errW})
	outW.Close()
	errW.Close()
	if err != nil {
		t.Fatalf("spawn %q: %v", argv, err)
	}
	var o outcome
	done := make(chan struct{}, 2)
	read := func(r *os.File, to *string) {
		b, _ := io.ReadAll(io.LimitReader(r, 8<<20))
		*to = string(bytes.TrimRight(b, "\n"))
		r.Close()
		done <- struct{}{}
	}
	go read(outR, &o.out)
	go read(errR, &o.err)
	timer := time.AfterFunc(60*time.Second, func() {
		t.Errorf("%q: not done within a minute", argv)
		_ = s.Kill() // ends the waits below
	})
	defer timer.Stop()
	o.status = p.Wait()
	<-done
	<-done
	return o
}

// sh runs a shell script.
func sh(t testing.TB, s *isolate.Sandbox, script string) outcome {
	t.Helper()
	return run(t, s, "/bin/sh", "-c", script)
}

func (o outcome) String() string {
	return fmt.Sprintf("status %+v, stdout %q, stderr %q", o.status, o.out, o.err)
}

func (o outcome) must(t testing.TB, want string) {
	t.Helper()
	if o.status != (isolate.Status{}) || o.out != want {
		t.Fatalf("got %v, want %q", o, want)
	}
}

func (o outcome) mustFail(t testing.TB, want string) {
	t.Helper()
	if o.status.Code == 0 && o.status.Signal == 0 || !strings.Contains(o.err, want) {
		t.Fatalf("got %v, want a failure with %q", o, want)
	}
}
