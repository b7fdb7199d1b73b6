package isolate_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// outside runs the same probe without the walls: what a wall refuses has to
// work there, or its refusal says nothing.
func outside(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("outside, where it has to work, %q: %v: %s", argv, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func TestHostFilesAreAbsent(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret") // in the host's /tmp
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, spec(t))
	if got := outside(t, "/bin/cat", secret); got != "canary" {
		t.Fatalf("got %q outside, want the canary", got)
	}
	run(t, s, "/bin/cat", secret).mustFail(t, "No such file")
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, "/root", "/sys/kernel", "/boot", "/var/log", "/etc/shadow", "/etc/ssh", "/srv/x", "/mnt/x"} {
		if home == "/home" {
			t.Fatal("HOME is /home")
		}
		run(t, s, "/bin/ls", dir).mustFail(t, "No such file")
	}
	sh(t, s, "ls /").must(t, strings.Join(rootEntries(), "\n"))
	sh(t, s, "ls /home /tmp /var/tmp /dev/shm /run /fumehood /fumehood/canary").must(t,
		"/dev/shm:\n\n/fumehood:\ncanary\ncovered\nempty\nhome\nspawner\n\n/fumehood/canary:\n\n/home:\nsomeone\n\n/run:\n\n/tmp:\n\n/var/tmp:")
}

// rootEntries is what of this machine's root may show, and what is ours.
func rootEntries() []string {
	var out []string
	for _, name := range []string{"bin", "dev", "etc", "fumehood", "home", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "tmp", "usr", "var"} {
		switch name {
		case "dev", "etc", "fumehood", "home", "proc", "run", "tmp", "usr", "var":
			out = append(out, name)
		default:
			if _, err := os.Lstat("/" + name); err == nil {
				out = append(out, name)
			}
		}
	}
	return out
}

func TestNothingCanBeWrittenButWhatIsTheSessions(t *testing.T) {
	s := start(t, spec(t))
	for _, dir := range []string{"/", "/etc", "/usr", "/usr/bin", "/home", "/home/someone", "/fumehood", "/fumehood/canary", "/fumehood/canary/allowed", "/dev", "/proc", "/fumehood/empty", "/var"} {
		if o := sh(t, s, "echo x > "+dir+"/probe"); o.status.Code == 0 {
			t.Errorf("%s can be written: %v", dir, o)
		}
	}
	for _, dir := range []string{"/home/someone/project", isolate.HomeInside, "/tmp", "/var/tmp", "/dev/shm", "/run"} {
		sh(t, s, "cd "+dir+" && echo '#!/bin/sh\necho ran' > probe && chmod 755 probe && ./probe && rm probe").must(t, "ran")
	}
	for _, file := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/self/oom_score_adj"} {
		if o := sh(t, s, "echo 1 > "+file); o.status.Code == 0 {
			t.Errorf("%s can be written: %v", file, o)
		}
	}
	covered := 0
	for _, file := range []string{"/proc/sysrq-trigger", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/kallsyms"} {
		if _, err := os.Stat(file); err == nil {
			sh(t, s, "stat -c %s:%a "+file).must(t, "0:0") // not the kernel's own
			for _, how := range []string{"<", ">>"} {
				sh(t, s, ": "+how+" "+file).mustFail(t, "ermission denied")
			}
			covered++
		}
	}
	if covered == 0 {
		t.Log("this kernel has none of the files of /proc that are covered")
	}
}

// The host's inode must not be reachable for a lock or for times.
func TestSystemFoldersAreOverlays(t *testing.T) {
	sp := spec(t)
	input := testkit.Folder(t, "input")
	file := filepath.Join(input, "file")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, file)
	sp.ReadOnly = []isolate.Mount{{Host: input, Inside: "/home/someone/input"}}
	s := start(t, sp)
	sh(t, s, "cat /home/someone/input/file").must(t, "x")
	sh(t, s, "flock -x /home/someone/input/file sleep 600 >/dev/null 2>&1 & while ! grep -q FLOCK /proc/locks; do :; done")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("the host's lock is refused by one inside: %v", err)
	}
	for _, script := range []string{"touch %s", "chmod 600 %s", "echo y >> %s", "rm %s", "mv %s /tmp/"} {
		if o := sh(t, s, fmt.Sprintf(script, "/home/someone/input/file")); o.status.Code == 0 {
			t.Errorf("%s worked on a read-only input", script)
		}
	}
}

func TestInputUnderTheHomeShowsUnderHOMEToo(t *testing.T) {
	sp := spec(t)
	input := testkit.Folder(t, "mod")
	if err := os.WriteFile(filepath.Join(input, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	sp.HostHome = "/home/someone"
	sp.ReadOnly = []isolate.Mount{{Host: input, Inside: "/home/someone/go/pkg/mod"}}
	s := start(t, sp)
	sh(t, s, "cat ~/go/pkg/mod/file /home/someone/go/pkg/mod/file").must(t, "xx")
	sh(t, s, "touch ~/go/pkg/mod/file").mustFail(t, "Read-only")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}

	// What an earlier run of the session left in HOME is hostile.
	if err := os.RemoveAll(filepath.Join(sp.Home.Host, "go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(sp.Home.Host, "go")); err != nil {
		t.Fatal(err)
	}
	if s, err := isolate.Start(t.Context(), sp); err == nil {
		t.Error("a link in HOME was followed for a mount", s.Kill())
	}
}

func TestSetUserIDGivesNothing(t *testing.T) {
	s := start(t, spec(t))
	sh(t, s, "cp /usr/bin/id . && chmod 4755 id && ./id -u").must(t, fmt.Sprint(uidOf(t)))
	sh(t, s, "grep -c nosuid /proc/self/mounts").must(t, sh(t, s, "wc -l < /proc/self/mounts").out)
	o := sh(t, s, "for f in $(find /usr/bin -perm -4000); do [ -u $f ] && $f </dev/null >/dev/null 2>&1; done; grep CapEff /proc/self/status")
	if o.out != "CapEff:\t0000000000000000" {
		t.Errorf("got %v, want no capabilities", o)
	}
}

func uidOf(t *testing.T) int {
	t.Helper()
	uid, _ := testkit.IDs()
	return uid
}

// W07: file rules don't stop connect() to a socket by its path.
func TestPathnameSocketIsUnreachable(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "host.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	script := "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected')"
	s := start(t, spec(t))
	if got := outside(t, "/usr/bin/python3", "-c", script, path); got != "connected" {
		t.Fatalf("got %q outside", got)
	}
	run(t, s, "/usr/bin/python3", "-c", script, path).mustFail(t, "FileNotFoundError")
	abstract := "\x00fumehood-test-" + filepath.Base(dir)
	la, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + abstract[1:], Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer la.Close()
	abs := "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect('\\0'+sys.argv[1]); print('connected')"
	if got := outside(t, "/usr/bin/python3", "-c", abs, abstract[1:]); got != "connected" {
		t.Fatalf("got %q outside", got)
	}
	run(t, s, "/usr/bin/python3", "-c", abs, abstract[1:]).mustFail(t, "Connection")
}

func TestNetworkIsTheOwnLoopbackAlone(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	script := "import socket,sys; s=socket.create_connection(('127.0.0.1',int(sys.argv[1])),5); print('connected')"
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	s := start(t, spec(t))
	if got := outside(t, "/usr/bin/python3", "-c", script, port); got != "connected" {
		t.Fatalf("got %q outside", got)
	}
	run(t, s, "/usr/bin/python3", "-c", script, port).mustFail(t, "ConnectionRefused")
	run(t, s, "/usr/bin/python3", "-c", "import socket; print([n for _,n in socket.if_nameindex()])").must(t, "['lo']")
	// A development server and its client, both inside.
	run(t, s, "/usr/bin/python3", "-c", `
import socket
a=socket.create_server(('127.0.0.1',0)); b=socket.create_connection(a.getsockname()); c,_=a.accept()
b.send(b'hello'); print(c.recv(5).decode())
a=socket.create_server(('::1',0),family=socket.AF_INET6); b=socket.create_connection(a.getsockname()[:2]); print('six')`).must(t, "hello\nsix")
	// A name fails at once, not after a resolver's timeout.
	began := time.Now()
	run(t, s, "/usr/bin/python3", "-c", "import socket; socket.getaddrinfo('example.test',80)").mustFail(t, "gaierror")
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("a name took %v to fail, want at most 2 s", d)
	}
	for _, addr := range []string{"192.0.2.1", "169.254.169.254"} {
		run(t, s, "/usr/bin/python3", "-c", "import socket,sys; socket.create_connection((sys.argv[1],80),3)", addr).mustFail(t, "unreachable")
	}
}

// W10: the environment and command line of others.
func TestOtherProcessesAreAbsent(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Env = []string{"TOKEN=made-up-credential"}
	if os.Getuid() == 0 {
		uid, gid := testkit.IDs()
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	t.Setenv("FUMEHOOD_TEST_TOKEN", "made-up-credential")
	s := start(t, spec(t))
	probe := fmt.Sprintf("tr '\\0' '\\n' < /proc/%d/environ; cat /proc/%d/cmdline", cmd.Process.Pid, cmd.Process.Pid)
	if out := outside(t, "/bin/sh", "-c", fmt.Sprintf("cat /proc/%d/cmdline", cmd.Process.Pid)); !strings.Contains(out, "sleep") {
		t.Fatalf("got %q outside", out)
	}
	if o := sh(t, s, probe); strings.Contains(o.out, "made-up") || strings.Contains(o.out, "sleep") || o.status.Code == 0 {
		t.Errorf("got %v, want nothing of the host's process", o)
	}
	// All processes inside, with every environment that can be read.
	o := sh(t, s, "ls -d /proc/[0-9]* | wc -l; cat /proc/*/environ /proc/*/cmdline /proc/1/maps /proc/2/mem 2>&1 | tr '\\0' '\\n'")
	if strings.Contains(o.out, "made-up") {
		t.Errorf("the starter's environment shows inside: %v", o)
	}
	for _, file := range []string{"environ", "mem", "maps", "fd", "exe", "cwd", "root", "ns/mnt"} {
		for _, pid := range []string{"1", "$(cat /proc/self/stat | cut -d' ' -f4)"} {
			if o := sh(t, s, "ls -l /proc/"+pid+"/"+file+"/ 2>&1 && cat /proc/"+pid+"/"+file); o.status.Code == 0 {
				t.Errorf("/proc/%s/%s can be read inside: %v", pid, file, o)
			}
		}
	}
}

// W01: moves and links across folders, with every layer in force.
func TestFilesMoveAcrossFolders(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	s := start(t, spec(t))
	sh(t, s, `set -e; mkdir a b; echo 1 > a/f; mv a/f b/f; ln b/f a/g; python3 -c "import os; os.rename('b/f','a/h')"; cat a/g a/h
mkfifo p; ln -s a/g l; cat l; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('s')"; test -S s; mv a b/; ls b/a`).must(t, "1\n1\n1\ng\nh")
}

// W05: the devices that programs take for granted, and no others.
func TestDevices(t *testing.T) {
	s := start(t, spec(t))
	sh(t, s, `set -e; : > /dev/null; head -c1 /dev/urandom | wc -c; echo x > /dev/stderr; echo y > /dev/stdout; : < /dev/zero; ls -d /dev/fd/0; head -c2 /dev/zero | od -An -tx1`).
		must(t, "1\ny\n/dev/fd/0\n 00 00")
	sh(t, s, "ls /dev").must(t, "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero")
	for _, script := range []string{"mknod d c 1 3", "mknod d b 7 0", "head -c1 /dev/vda", "head -c1 /dev/kmsg", "head -c1 /dev/mem"} {
		if o := sh(t, s, script); o.status.Code == 0 {
			t.Errorf("%s worked: %v", script, o)
		}
	}
}

// W06: POSIX semaphores and shared memory.
func TestSharedMemoryWorksAndIsPrivate(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	s := start(t, spec(t))
	run(t, s, "/usr/bin/python3", "-c", `
import multiprocessing as m
import os; m.Semaphore(); print(m.Pool(2).map(abs,[-1]))
from multiprocessing import shared_memory as s
x=s.SharedMemory(create=True,size=10,name='fumehood_test'); print(os.listdir('/dev/shm')); x.close(); x.unlink()
import os; print(os.listdir('/dev/shm'))`).must(t, "[1]\n['fumehood_test']\n[]")
	sh(t, s, "echo left > /dev/shm/left; echo left > /tmp/left")
	if _, err := os.Stat("/dev/shm/left"); err == nil {
		t.Error("what was left in /dev/shm shows on the host")
	}
	other := start(t, spec(t))
	sh(t, other, "cat /dev/shm/left /tmp/left").mustFail(t, "No such file")
}

// W23: signals and tracing to outside.
func TestSignalsStayInside(t *testing.T) {
	s := start(t, spec(t))
	victim := exec.Command("/bin/sleep", "600")
	if os.Getuid() == 0 {
		uid, gid := testkit.IDs()
		victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	for _, pid := range []int{victim.Process.Pid, os.Getpid(), s.PID()} {
		sh(t, s, fmt.Sprintf("kill -TERM %d", pid)).mustFail(t, "No such process")
	}
	testkit.RequireABI(t, 6)
	for _, sig := range []string{"0", "TERM", "HUP", "INT", "KILL", "STOP"} {
		sh(t, s, "kill -"+sig+" 1").mustFail(t, "not permitted")
	}
	sh(t, s, "sleep 600 >/dev/null 2>&1 & kill -9 $! && echo own").must(t, "own")
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the host's process is gone: %v", err)
	}
}

func TestIdentityInside(t *testing.T) {
	uid, gid := testkit.IDs()
	s := start(t, spec(t))
	sh(t, s, "id -u; id -g; whoami; hostname; echo $HOME; getent passwd $(id -u) | cut -d: -f1,6; cat /proc/self/uid_map | tr -s ' '").
		must(t, fmt.Sprintf("%d\n%d\nsomeone\nfumehood\n/fumehood/home\nsomeone:/fumehood/home\n %d %d 1", uid, gid, uid, uid))
	if os.Getuid() == 0 {
		sh(t, s, "id -G").must(t, fmt.Sprint(gid))
	}
	sh(t, s, "cat /proc/sys/user/max_user_namespaces").must(t, "0")
	sh(t, s, "env | sort").must(t, "HOME=/fumehood/home\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/home/someone/project\nTERM=xterm")
}

// An open descriptor of the starter's, or of its parents, passes every wall.
func TestNoDescriptorIsInherited(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "leak")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3 { // without close-on-exec, at low and high numbers
		fd, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
	}
	high, _, e := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_DUPFD, 700)
	if e != 0 {
		t.Fatal(e)
	}
	defer syscall.Close(int(high))
	s := start(t, spec(t))
	sh(t, s, "ls /proc/self/fd").must(t, "0\n1\n2\n3") // the last is ls's own
	if os.Getuid() != 0 {
		t.Skip("got an ordinary user, want root for the rest: PID 1 and the spawner show their descriptors to no one else")
	}
	for _, pid := range append(below(t, s.PID()), s.PID()) {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if to, err := os.Readlink(dir + "/" + e.Name()); err == nil && to == f.Name() {
				t.Errorf("process %d holds %s", pid, to)
			}
		}
	}
}

func TestFilesAreCopiedAndOddNamesWork(t *testing.T) {
	sp := spec(t)
	dir := testkit.Folder(t, `odd, name:with\ all "of" it`)
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("odd"), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "single")
	if err := os.WriteFile(file, []byte("single"), 0o644); err != nil {
		t.Fatal(err)
	}
	sp.ReadOnly = []isolate.Mount{
		{Host: dir, Inside: `/data/odd, name:with\ all "of" it`},
		{Host: file, Inside: "/data/single"},
	}
	sp.Workspace.Inside = "/home/some one/my, project"
	s := start(t, sp)
	runIn(t, s, sp.Workspace.Inside, "/bin/sh", "-c", `cat "/data/odd, name:with\ all \"of\" it/f" /data/single; pwd`).must(t, "oddsingle/home/some one/my, project")
	runIn(t, s, "/", "/bin/sh", "-c", "echo x > /data/single").mustFail(t, "cannot create")
}

// A pipe of Go's is non-blocking; a shell's read would fail on it at once.
func TestInputIsWaitedFor(t *testing.T) {
	s := start(t, spec(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "echo ready; read x; echo got $x"}, Env: env, Dir: "/", Stdin: r, Stdout: outW})
	r.Close()
	outW.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(outR, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "word\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(outR)
	if err != nil || string(out) != "got word\n" || p.Wait() != (isolate.Status{}) {
		t.Errorf("got %q, %v, %+v", out, err, p.Wait())
	}
}

// A pipe of the starter's, opened again by its name inside.
func TestOutputCanBeOpenedAgain(t *testing.T) {
	s := start(t, spec(t))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "echo again > /dev/stdout"}, Env: env, Dir: "/", Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil || string(out) != "again\n" {
		t.Errorf("got %q, %v, want again", out, err)
	}
	if st := p.Wait(); st != (isolate.Status{}) {
		t.Errorf("got %+v", st)
	}
}
