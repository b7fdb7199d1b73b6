package credential

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/testkit"
)

const secret = "s3cr3t-0123456789"

func start(t *testing.T, cfg Config) *Keeper {
	t.Helper()
	testkit.LeakCheck(t)
	if cfg.Home == "" {
		cfg.Home = "/"
	}
	cfg.Path = "/usr/bin:/bin"
	k, err := StartKeeper(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func script(t *testing.T, dir, body string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "script")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	return write(t, f.Name(), "#!/bin/sh\n"+body+"\n", 0o755)
}

func lines(t *testing.T, name string) int {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

func TestKeeperReadsTheThreeKinds(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "token"), secret+"\n", 0o600)
	write(t, filepath.Join(home, "auth.json"), `{"tokens":{"access":"`+secret+`"}}`, 0o600)
	if err := os.Symlink("token", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	k := start(t, Config{Home: home, Env: map[string]string{"TOKEN": secret}, Sources: map[string]string{
		"env": "env:TOKEN", "file": "file:" + home + "/token", "home": "file:~/token", "json": "file:~/auth.json#tokens.access", "link": "file:~/link",
		"command": "command:" + script(t, home, `echo `+secret+`$1`) + " -x",
	}})
	for name, want := range map[string]string{"env": secret, "file": secret, "home": secret, "json": secret, "link": secret, "command": secret + "-x"} {
		if got, err := k.Secret(t.Context(), name); got != want || err != nil {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, want)
		}
	}
}

// A file is read each time: what refreshes a token writes it there.
func TestKeeperReadsAFileAnew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	k := start(t, Config{Sources: map[string]string{"a": "file:" + name}})
	if _, err := k.Secret(t.Context(), "a"); err == nil {
		t.Error("got a secret of no file, want an error")
	}
	for _, want := range []string{secret + "1", secret + "2"} {
		write(t, name, want, 0o600)
		if got, err := k.Secret(t.Context(), "a"); got != want || err != nil {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
	}
}

// Whatever a source does, the answer is an error of ours without its content,
// and the keeper answers the next question.
func TestKeeperOutlivesBadSources(t *testing.T) {
	dir, never := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	sh := func(body string) string { return "command:" + script(t, dir, body) }
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat(secret, 1<<20/len(secret)+1)
	write(t, filepath.Join(never, "token"), secret, 0o600)
	for from, to := range map[string]string{
		"into": filepath.Join(never, "token"), "never": never, "loop": "loop", "good": "fine",
	} {
		if err := os.Symlink(to, at(from)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, at("fine"), secret, 0o600)
	// The agent's link to a file of the user's, which is none of its own.
	if err := os.Symlink(at("fine"), filepath.Join(never, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("open"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, at("open/token"), secret, 0o600)
	if err := os.Chmod(at("open"), 0o777); err != nil {
		t.Fatal(err)
	}
	rows := []struct{ name, source, want string }{
		{"unset", "env:NONE", "its env source: it is not set"},
		{"short variable", "env:SHORT", "its env source: 7 bytes, at least 8 are needed to find it in answers"},
		{"two lines", "env:LINES", "its env source: more than one line"},
		{"no file", "file:" + at("none"), "its file source: no such file or directory"},
		{"fifo", "file:" + at("fifo"), "its file source: not a regular file"},
		{"device", "file:/dev/zero", "its file source: not a regular file"},
		{"folder", "file:" + dir, "its file source: a folder"},
		{"below a file", "file:" + at("fine/x"), "its file source: not a directory"},
		{"big", "file:" + write(t, at("big"), big, 0o600), "its file source: larger than 1048576 bytes"},
		{"too long", "file:" + write(t, at("long"), big[:16<<10+1], 0o600), "its file source: more than 16384 bytes"},
		{"empty", "file:" + write(t, at("empty"), "", 0o600), "its file source: empty"},
		{"blank", "file:" + write(t, at("blank"), " \n", 0o600), "its file source: 1 bytes, at least 8 are needed to find it in answers"},
		{"control", "file:" + write(t, at("control"), secret+"\x1b[31m", 0o600), "its file source: a control character"},
		{"no JSON", "file:" + at("fine") + "#a", "its file source: not JSON"},
		{"loop", "file:" + at("loop"), "its file source: too many links"},
		{"in the session", "file:" + filepath.Join(never, "token"), "its file source: " + errNever.Error()},
		{"link into the session", "file:" + at("into"), "its file source: " + errNever.Error()},
		{"folder into the session", "file:" + at("never/token"), "its file source: " + errNever.Error()},
		{"link out of the session", "file:" + filepath.Join(never, "out"), "its file source: " + errNever.Error()},
		{"through it and out", "file:" + at("never/out"), "its file source: " + errNever.Error()},
		{"folder for anyone", "file:" + at("open/token"), "its file source: its path leads through a folder that anyone may write to"},
		{"no program", "command:" + at("none"), "its command source: no such file or directory"},
		{"not executable", "command:" + at("fine"), "its command source: not a program"},
		{"program in the session", "command:" + script(t, never, "echo "+secret), "its command source: " + errNever.Error()},
		{"program for anyone", "command:" + write(t, at("anyone"), "#!/bin/sh\necho "+secret+"\n", 0o757), "its command source: a program that others may write to"},
		{"no interpreter", "command:" + write(t, at("bad"), "#!/none\n", 0o755), "its command source: it can't be started: no such file or directory"},
		{"status", sh("echo " + secret + "; echo " + secret + " >&2; exit 7"), "its command source: it ended with status 7"},
		{"signal", sh("echo " + secret + "; kill -9 $$"), "its command source: it was ended by a signal"},
		{"nothing", sh("exit 0"), "its command source: empty"},
		{"lines", sh("echo " + secret + "; echo " + secret), "its command source: more than one line"},
		{"endless", sh("while :; do echo " + secret + "; done"), "its command source: it prints more than 16386 bytes"},
		{"hang", sh("echo " + secret + "; exec sleep 1000"), "its command source: no answer within 2s"},
		{"silent hang", sh("exec 1>&-; exec sleep 1000"), "its command source: no answer within 2s"},
		{"no reader of input", sh("read x || exit 3"), "its command source: it ended with status 3"},
	}
	cfg := Config{
		Never: []string{never, filepath.Join(dir, "gone")}, deadline: 2 * time.Second,
		Sources: map[string]string{"fine": "file:" + at("good")}, Env: map[string]string{"SHORT": secret[:7], "LINES": secret + "\n" + secret},
	}
	for _, row := range rows {
		cfg.Sources[row.name] = row.source
	}
	k := start(t, cfg)
	for _, row := range rows {
		got, err := k.Secret(t.Context(), row.name)
		if want := fmt.Sprintf("account %q: %s", row.name, row.want); err == nil || err.Error() != want {
			t.Errorf("%s: got %q and %v, want %q", row.name, got, err, want)
		}
		if got != "" || err != nil && strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%s: got %q and %v, want nothing of the secret", row.name, got, err)
		}
	}
	if got, err := k.Secret(t.Context(), "nobody"); err == nil || err.Error() != `account "nobody": it has no source` {
		t.Errorf("got %q and %v, want an error", got, err)
	}
	if got, err := k.Secret(t.Context(), "fine"); got != secret || err != nil {
		t.Errorf("after all that: got %q and %v, want %q", got, err, secret)
	}
}

func TestKeeperReadsNothingOfAnotherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skipf("got uid %d, want 0, which can give a file away", os.Getuid())
	}
	dir := t.TempDir()
	token := write(t, filepath.Join(dir, "token"), secret, 0o644)
	prog := script(t, dir, "echo "+secret)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{token, prog, link} {
		if err := os.Lchown(name, 61999, 61999); err != nil {
			t.Fatal(err)
		}
	}
	k := start(t, Config{Sources: map[string]string{"file": "file:" + token, "command": "command:" + prog, "link": "file:" + link}})
	for name, want := range map[string]string{"file": "it belongs to another user", "command": "it belongs to another user", "link": "another user made"} {
		if got, err := k.Secret(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, want)
		}
	}
}

func TestCommandGetsACleanEnvironment(t *testing.T) {
	t.Setenv("FUMEHOOD_TEST_LEFT", secret)
	dir := t.TempDir()
	out := filepath.Join(dir, "env")
	body := `{ env | sort | grep -v '^\(PWD\|SHLVL\|_\|OLDPWD\)='; pwd; grep -E 'NoNewPrivs' /proc/self/status; ulimit -c; ls -l /proc/self/fd/0 | sed 's/.*-> //'; } > ` + out + "; echo " + secret
	k := start(t, Config{Home: dir, Sources: map[string]string{"a": "command:" + script(t, dir, body)}, Env: map[string]string{"OTHER": secret}})
	if _, err := k.Secret(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var user string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "USER=") {
			user = l + "\n"
		}
	}
	want := "HOME=" + dir + "\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\n" + user + "/\nNoNewPrivs:\t1\n0\n/dev/null\n"
	if string(b) != want || user == "" {
		t.Errorf("got %q, want %q", b, want)
	}
}

// A daemon in the command's group ends with it, at the deadline too.
func TestCommandsAreKilledAsAGroup(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	left := "sleep 1000 >/dev/null & echo $! >>" + pids + "\n"
	k := start(t, Config{deadline: time.Second, Sources: map[string]string{
		"hang": "command:" + script(t, dir, left+"wait"),
		"done": "command:" + script(t, dir, left+"echo "+secret),
		"held": "command:" + script(t, dir, "sleep 1000 & echo $! >>"+pids+"; echo "+secret),
	}})
	if got, err := k.Secret(t.Context(), "hang"); err == nil {
		t.Errorf("hang: got %q, want an error", got)
	}
	for _, name := range []string{"done", "held"} {
		got, err := k.Secret(t.Context(), name)
		if name == "done" && (got != secret || err != nil) {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, secret)
		}
	}
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(b))
	if len(list) != 3 {
		t.Fatalf("got the pids %q, want 3", list)
	}
	for _, s := range list {
		pid, _ := strconv.Atoi(s)
		testkit.Eventually(t, 5*time.Second, "what a command left behind ends", func() bool { return gone(pid) })
	}
}

// gone counts who has ended and waits for its parent.
func gone(pid int) bool {
	st, err := limits.ReadStat(pid, 0)
	return err != nil || st.State == 'Z' || st.State == 'X'
}

func TestCommandsRunOnceForManyAndAgainWhenStale(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	k := start(t, Config{Sources: map[string]string{"a": "command:" + script(t, dir, "echo x >>"+runs+"; echo "+secret+"-$(wc -l <"+runs+")")}})
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if got, err := k.Secret(t.Context(), "a"); got != secret+"-1" || err != nil {
				t.Errorf("got %q and %v, want that of the first run", got, err)
			}
		})
	}
	wg.Wait()
	if n := lines(t, runs); n != 1 {
		t.Errorf("got %d runs for 40 questions, want 1", n)
	}
	k.Stale("b")
	k.Stale("a")
	if got, err := k.Secret(t.Context(), "a"); got != secret+"-2" || err != nil {
		t.Errorf("after the destination refused it: got %q and %v, want that of the second run", got, err)
	}
	if n := lines(t, runs); n != 2 {
		t.Errorf("got %d runs, want 2", n)
	}
}

func TestCommandsResultIsKeptForAWhileOnly(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	k := start(t, Config{keep: time.Millisecond, Sources: map[string]string{"a": "command:" + script(t, dir, "echo x >>"+runs+"; echo "+secret)}})
	testkit.Eventually(t, 20*time.Second, "a second run", func() bool {
		if _, err := k.Secret(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		return lines(t, runs) >= 2
	})
}

// A run that began before the refusal may have read the old secret: nobody
// joins it any more.
func TestAQuestionAfterStaleJoinsNoEarlierRun(t *testing.T) {
	var m memo
	begun, release := make(chan struct{}), make(chan struct{})
	old := make(chan string, 1)
	go func() {
		s, _ := m.get(time.Minute, func() (string, error) {
			close(begun)
			<-release
			return "old", nil
		})
		old <- s
	}()
	<-begun
	m.forget()
	fresh := make(chan string, 1)
	go func() {
		s, _ := m.get(time.Minute, func() (string, error) { return "new", nil })
		fresh <- s
	}()
	var got string
	select {
	case got = <-fresh:
	case <-time.After(10 * time.Second):
		t.Error("got no answer while the earlier run lasts, want one of its own")
	}
	close(release)
	if first := <-old; first != "old" || got != "new" {
		t.Errorf("got %q and %q, want old and new", first, got)
	}
	if again, _ := m.get(time.Minute, func() (string, error) { return "third", nil }); again != "new" {
		t.Errorf("got %q kept, want new", again)
	}
}

func TestKeeperShowsNothingOfWhatItHolds(t *testing.T) {
	k := start(t, Config{Sources: map[string]string{"a": "env:TOKEN"}, Env: map[string]string{"TOKEN": secret, "MORE": secret}})
	if _, err := k.Secret(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	pid := k.cmd.Process.Pid
	proc := fmt.Sprintf("/proc/%d/", pid)
	threads, err := filepath.Glob(proc + "task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("got the threads %q and %v, want some", threads, err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(status), "\nNoNewPrivs:\t1\n") {
			t.Errorf("%s: got %q and %v, want NoNewPrivs 1", name, status, err)
		}
	}
	if sid, err := unix.Getsid(pid); sid != pid || err != nil {
		t.Errorf("got the session %d of %d (%v), want its own", sid, pid, err)
	}
	cmdline, err := os.ReadFile(proc + "cmdline")
	if err != nil || string(cmdline) != "fumehood\x00"+arg+"\x00" {
		t.Errorf("got the arguments %q and %v, want %s alone", cmdline, err, arg)
	}
	if os.Getuid() == 0 {
		environ, err := os.ReadFile(proc + "environ")
		if err != nil || string(environ) != "GOMAXPROCS=1\x00" {
			t.Errorf("got the environment %q and %v, want GOMAXPROCS alone", environ, err)
		}
		return
	}
	// The same account's other processes, the control: such a file can be read.
	other := exec.Command("/bin/sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, name := range []string{"environ", "mem", "maps", "limits"} {
		if name != "limits" { // world-readable
			if f, err := os.Open(proc + name); !errors.Is(err, os.ErrPermission) {
				_ = f.Close()
				t.Errorf("%s of the keeper: got %v, want %v", name, err, os.ErrPermission)
			}
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", other.Process.Pid, name))
		if err != nil {
			t.Errorf("%s of another process: got %v, want it open", name, err)
		}
		_ = f.Close()
	}
	if err := unix.PtraceAttach(pid); !errors.Is(err, unix.EPERM) {
		t.Errorf("ptrace of the keeper: got %v, want %v", err, unix.EPERM)
	}
}

// The control is in the same process: it can neither read nor execute itself.
func TestKeeperReadsForAConfinedParent(t *testing.T) {
	testkit.RequireABI(t, 1)
	dir := t.TempDir()
	cmd := testkit.RunInSubprocess(t, "confined", "TOKEN="+write(t, filepath.Join(dir, "token"), secret, 0o600), "PROGRAM="+script(t, dir, "echo "+secret+"-x"))
	out, err := cmd.CombinedOutput()
	want := "read: true\nexec: true\nfile " + secret + " <nil>\ncommand " + secret + "-x <nil>\n"
	if string(out) != want || err != nil {
		t.Errorf("got %q and %v, want %q", out, err, want)
	}
}

func TestKeeperEndsWithItsParent(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pidFile := filepath.Join(dir, "pid")
			slow := script(t, dir, "echo $$ >"+pidFile+"; exec sleep 1000")
			cmd := testkit.RunInSubprocess(t, "starter", "SLOW="+slow)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("the starter said %q, want a pid", line)
			}
			testkit.Eventually(t, 10*time.Second, "the command runs", func() bool { return lines(t, pidFile) == 1 })
			b, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			command, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			if gone(pid) || gone(command) {
				t.Fatal("got the keeper or its command gone, want them running")
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, 9*time.Second, "the keeper ends", func() bool { return gone(pid) })
			testkit.Eventually(t, 5*time.Second, "its command ends", func() bool { return gone(command) })
		})
	}
}

func TestKeeperIsAskedInVainWhenItHasEnded(t *testing.T) {
	k := start(t, Config{Sources: map[string]string{"a": "env:TOKEN"}, Env: map[string]string{"TOKEN": secret}})
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-k.ended
	if got, err := k.Secret(t.Context(), "a"); !errors.Is(err, errEnded) {
		t.Errorf("got %q and %v, want %v", got, err, errEnded)
	}
	k.Stale("a")
	k.Close()
	k.Close()
}

func TestCloseEndsWhatRuns(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	k := start(t, Config{Sources: map[string]string{"a": "command:" + script(t, dir, "echo $$ >"+pidFile+"; exec sleep 1000")}})
	failed := make(chan error, 1)
	go func() {
		_, err := k.Secret(context.Background(), "a")
		failed <- err
	}()
	testkit.Eventually(t, 10*time.Second, "the command runs", func() bool { return lines(t, pidFile) == 1 })
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	k.Close()
	if err := <-failed; !errors.Is(err, errEnded) {
		t.Errorf("got %v, want %v", err, errEnded)
	}
	testkit.Eventually(t, 5*time.Second, "the command ends", func() bool { return gone(pid) })
}

func TestSecretEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	k := start(t, Config{
		Sources: map[string]string{"slow": "command:" + script(t, dir, "exec sleep 1000"), "a": "env:TOKEN"}, Env: map[string]string{"TOKEN": secret},
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Secret(ctx, "slow"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got, err := k.Secret(t.Context(), "a"); got != secret || err != nil {
		t.Errorf("got %q and %v, want %q while another waits", got, err, secret)
	}
	for len(k.room) < maxAsks {
		_, _ = k.Secret(ctx, "slow")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got, err := k.Secret(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %q and %v, want no more than %d unanswered questions", got, err, maxAsks)
	}
}

func TestStartKeeperRefusesWhatCannotBeRead(t *testing.T) {
	for name, cfg := range map[string]Config{
		"a source":         {Home: "/", Sources: map[string]string{"a": "vault:x"}},
		"no home":          {Sources: map[string]string{"a": "env:X"}},
		"a relative never": {Home: "/", Never: []string{"x"}},
		"a long name":      {Home: "/", Sources: map[string]string{strings.Repeat("x", 300): "env:X"}},
	} {
		if k, err := StartKeeper(cfg); err == nil {
			k.Close()
			t.Errorf("%s: got a keeper, want an error", name)
		}
	}
}
