package prove

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

func itoa(n int) string { return strconv.Itoa(n) }

func handedOut(c trace.Call, data string, found ...string) trace.Call {
	c.Data, c.Found, c.Ret = []byte(data), found, int64(len(data))
	return c
}

func TestWhatIsSoughtIsFoundWherever(t *testing.T) {
	e := &env{id: "0", token: "fhc1", secret: "fhs2"}
	opened := call("openat", 3, true)
	for _, tt := range []struct {
		name string
		seen *seen
		want walls.Verdict
	}{
		{"nowhere", tracedBy(opened, handedOut(call("read", 0, true), "PATH=/bin")), walls.Held},
		{"refused", tracedBy(call("openat", -int64(unix.EACCES), true)), walls.Held},
		{"the kernel handed out the credential", tracedBy(opened, handedOut(call("read", 0, true), "x", "fhs2")), walls.Failed},
		{"the kernel handed out the token", tracedBy(opened, handedOut(call("pread64", 0, true), "x", "fhc1")), walls.Failed},
		{"a decoy is none of them", tracedBy(opened, handedOut(call("read", 0, true), "x", "fhd0")), walls.Held},
		{"nothing was tried", tracedBy(), walls.Errored},
		{"the probe has it", &seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{opened}}, said: &probe.Said{Got: []byte("a fhs2 b")}}, walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := e.nowhere("read")(tt.seen); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
	if got := e.finds("read")(tracedBy(handedOut(call("read", 0, true), "x", "fhd0"))); got.verdict != walls.Held {
		t.Errorf("got %+v of a decoy that was found, want held", got)
	}
	if got := e.finds("read")(tracedBy(handedOut(call("read", 0, true), "x"))); got.verdict != walls.Errored {
		t.Errorf("got %+v of a decoy that was not found, want an error", got)
	}
}

// What the user's own processes have in memory is not written into a record.
func TestEvidenceOfAFindHasNothingElse(t *testing.T) {
	e := &env{id: "0", token: "fhc1", secret: "fhs2"}
	got := e.nowhere("read")(tracedBy(call("openat", 3, true), handedOut(call("read", 0, true), "PASSWORD=mine", "fhs2")))
	if strings.Contains(got.evidence, "mine") || !strings.Contains(got.evidence, "fhs2") {
		t.Errorf("got evidence %q, want the made-up credential alone", got.evidence)
	}
}

func TestASearchThatMissesWhatIsThereIsNone(t *testing.T) {
	said := func(got string) *seen { return &seen{said: &probe.Said{Got: []byte(got)}} }
	if got := holds("there")(said("it is there")); got.verdict != walls.Held {
		t.Errorf("got %+v, want held", got)
	}
	if got := holds("there")(said("nothing")); got.verdict != walls.Errored {
		t.Errorf("got %+v, want an error", got)
	}
	if got := holds("there")(&seen{}); got.verdict != walls.Errored {
		t.Errorf("got %+v of a probe that said nothing, want an error", got)
	}
}

func TestTheMachinesOwnNameIsNotTold(t *testing.T) {
	judge := otherThan("readlinkat", "cgroup:[1]", func(b []byte) string { return string(b) })
	for _, tt := range []struct {
		name string
		seen *seen
		want walls.Verdict
	}{
		{"another", tracedBy(handedOut(call("readlinkat", 0, true), "cgroup:[2]")), walls.Held},
		{"the same", tracedBy(handedOut(call("readlinkat", 0, true), "cgroup:[1]")), walls.Failed},
		{"refused", tracedBy(call("readlinkat", -int64(unix.EACCES), true)), walls.Held},
		{"not seen", tracedBy(handedOut(call("readlinkat", 0, true), "")), walls.Errored},
		{"not tried", tracedBy(), walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(tt.seen); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 6*65)
	copy(raw[65:], "somewhere\x00")
	if got := nodename(raw); got != "somewhere" {
		t.Errorf("got %q, want the second field", got)
	}
}

func TestACoveredFileHasNothingInIt(t *testing.T) {
	opened := call("openat", 3, true)
	for _, tt := range []struct {
		name string
		seen *seen
		want walls.Verdict
	}{
		{"empty", tracedBy(opened, call("read", 0, true)), walls.Held},
		{"content", tracedBy(opened, call("read", 12, true)), walls.Failed},
		{"may not be opened", tracedBy(call("openat", -int64(unix.EACCES), true)), walls.Held},
		{"may not be read", tracedBy(opened, call("read", -int64(unix.EPERM), true)), walls.Held},
		{"nothing was tried", tracedBy(), walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := noContent(tt.seen); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestAMountOfTheHostIsNamed(t *testing.T) {
	const host = `21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:2 / /home rw - ext4 /dev/sda2 rw
23 21 0:5 / /dev rw - devtmpfs devtmpfs rw
`
	known := []string{"/usr", "/home/someone/.state/workspace", "/dev"}
	for _, tt := range []struct {
		name, inside string
		want         []string
	}{
		{"a sandbox's own", "30 29 0:50 / / ro - tmpfs fumehood ro\n", nil},
		{"what is meant to be there", "31 30 8:1 /usr /usr ro - ext4 /dev/sda1 rw\n32 30 8:2 /someone/.state/workspace /work rw - ext4 /dev/sda2 rw\n33 30 0:5 /null /dev/null rw - devtmpfs devtmpfs rw\n", nil},
		{"the whole host", host, []string{"/ at /", "/home at /home"}},
		{"a folder beside", "31 30 8:2 /someone/.ssh /keys ro - ext4 /dev/sda2 rw\n", []string{"/home/someone/.ssh at /keys"}},
		{"a name that only begins alike", "31 30 8:1 /usr2 /usr2 ro - ext4 /dev/sda1 rw\n", []string{"/usr2 at /usr2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := hostFolders(tt.inside, host, known); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNamesOfAFolderAreReadAsTheKernelWritesThem(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "a-much-longer-name"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		t.Fatal(err)
	}
	got := namesIn(buf[:n])
	slices.Sort(got)
	if want := []string{".", "..", "a", "a-much-longer-name"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := namesIn(buf[:n-1]); len(got) != 3 {
		t.Errorf("got %q of a copy that is cut, want what is whole", got)
	}
}

func TestEveryWriteShowsOnTheHost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "targets")
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"create", func() error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) }},
		{"append nothing, set back", func() error {
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("as it was\n"), 0o644); err != nil {
				return err
			}
			return os.Chtimes(filepath.Join(dir, "file"), time.Unix(longAgo[0].Unix()), time.Unix(longAgo[1].Unix()))
		}},
		{"unlink", func() error { return os.Remove(filepath.Join(dir, "file")) }},
		{"rename", func() error { return os.Rename(filepath.Join(dir, "file"), filepath.Join(dir, "other")) }},
		{"chmod", func() error { return os.Chmod(filepath.Join(dir, "file"), 0o600) }},
		{"chown to the same", func() error { return os.Chown(filepath.Join(dir, "file"), os.Getuid(), os.Getgid()) }},
		{"times", func() error { return os.Chtimes(filepath.Join(dir, "file"), time.Unix(1, 0), time.Unix(1, 0)) }},
		{"link", func() error { return os.Link(filepath.Join(dir, "file"), filepath.Join(dir, "linked")) }},
		{"symlink", func() error { return os.Symlink("file", filepath.Join(dir, "symbolic")) }},
		{"pipe", func() error { return unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }},
		{"rmdir", func() error { return os.Remove(filepath.Join(dir, "sub")) }},
		{"folder's mode", func() error { return os.Chmod(dir, 0o700) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := setTargets(dir, -1, -1, false); err != nil {
				t.Fatal(err)
			}
			before, err := snapshotOf(dir)
			if err != nil {
				t.Fatal(err)
			}
			same, err := snapshotOf(dir)
			if err != nil || changes(before, same) != "" {
				t.Errorf("got %q, %v; want no change from looking", changes(before, same), err)
			}
			said := &seen{said: &probe.Said{}}
			if got := unchanged(before, same, said); got.verdict != walls.Held {
				t.Errorf("got %+v, want held", got)
			}
			if got := unchanged(before, same, &seen{}); got.verdict != walls.Errored {
				t.Errorf("got %+v of a probe that tried nothing, want an error", got)
			}
			if err := tt.do(); err != nil {
				t.Fatal(err)
			}
			after, err := snapshotOf(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := unchanged(before, after, said); got.verdict != walls.Failed || got.evidence == "" {
				t.Errorf("got %+v, want failed with what changed", got)
			}
		})
	}
}

func TestATokenIsSoughtInEveryFileOfARecord(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b/file", "home/file"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x "+filepath.Base(filepath.Dir(name))+" y"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hit, _, _, err := seekIn(dir, []string{"z", " b "}, "home")
	if err != nil || hit == "" {
		t.Errorf("got %q, %v; want it found", hit, err)
	}
	if hit, files, _, err := seekIn(dir, []string{" home "}, "home"); err != nil || hit != "" || files != 1 {
		t.Errorf("got %q in %d files, %v; want the one folder left out", hit, files, err)
	}
}

func TestOnlyTheStartersVariablesAreInherited(t *testing.T) {
	starter := []string{"A=1", "GOMAXPROCS=1", "B=2"}
	for text, want := range map[string][]string{
		"":                               nil,
		"GOMAXPROCS=1\x00":               nil,
		"OWN=x\x00GOMAXPROCS=1\x00":      nil,
		"A=1\x00GOMAXPROCS=1\x00B=3\x00": {"A=1"},
		"B=2\x00A=1\x00":                 {"B=2", "A=1"},
	} {
		if got := inherited(text, starter); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAgentsOfTheAccountAreNotReached(t *testing.T) {
	got := withAgents([]string{"A=1", "SSH_AUTH_SOCK=/run/real", "GPG_AGENT_INFO=/run/real:1:1"}, "7")
	for _, v := range got {
		if strings.Contains(v, "/run/real") {
			t.Errorf("got %q, want the run's own socket instead", v)
		}
	}
	if !slices.Contains(got, "A=1") || !slices.Contains(got, "SSH_AUTH_SOCK=/tmp/fumehood-canary-7/ssh-agent") {
		t.Errorf("got %q, want the rest as it was and a socket of the run's own", got)
	}
}
