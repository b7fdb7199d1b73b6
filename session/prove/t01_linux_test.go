package prove

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

func TestASessionReadsWritesAndLearnsNothingOutside(t *testing.T) {
	for _, number := range []int{1, 2, 4} {
		rec := runTest(t, number)
		res := rec.Tests[0]
		if res.Verdict != walls.Held {
			t.Errorf("test %d: got %s: %s, want held", number, res.Verdict, res.Reason)
		}
		if held, of := res.Count(); held < 25 || held != of {
			t.Errorf("test %d: got %d of %d held, want all of many", number, held, of)
		}
		for _, a := range res.Attempts {
			if a.Evidence == "" && a.Verdict == walls.Held {
				t.Errorf("test %d: %s is held without evidence", number, a.ID)
			}
		}
	}
}

// Whatever an ordinary user could do without a sandbox is noticed; what is left
// is refused by the machine itself.
func TestWithoutASandboxReadingAndWritingIsNoticed(t *testing.T) {
	control := func(id string) bool {
		return strings.HasPrefix(id, "workspace ") || slices.Contains([]string{"decoy", "decoy in memory", "carried control", "own status"}, id)
	}
	// These fail only for root, or only where an account has such rights.
	refusedAnyway := []string{
		"root of process 1", "/proc/timer_list", "mkdir in /", "mkdir in /etc", "mkdir in /usr", "mkdir in /usr/bin", "environment of process 1", "groups",
		"keyring", "key", // a machine without a session keyring
	}
	for _, number := range []int{1, 2, 4} {
		rec := runTest(t, number, "{}")
		if got := rec.Tests[0].Verdict; got != walls.Failed {
			t.Errorf("test %d: got %s, want failed", number, got)
		}
		for _, a := range rec.Tests[0].Attempts {
			switch {
			case a.Verdict == walls.NA:
			case control(a.ID):
				if a.Verdict != walls.Held {
					t.Errorf("test %d: the control %s: got %s, %s", number, a.ID, a.Verdict, a.Observed)
				}
			case a.Verdict != walls.Failed && !slices.Contains(refusedAnyway, a.ID):
				t.Errorf("test %d: %s: got %s, %s (%s), want failed", number, a.ID, a.Verdict, a.Observed, a.Evidence)
			}
		}
	}
}

// Each part that stands before files and credentials is noticed by itself.
func TestAMissingPartShowsAFileOrACredential(t *testing.T) {
	want := map[string]string{
		"uts namespace":                         "1.machine's name",
		"cgroup namespace":                      "1.groups of processes",
		"covered files of /proc":                "1./proc/kallsyms",
		"hidden own program":                    "1.fumehood's own program",
		"own temporary folders":                 "2.tmp create",
		"read-only root":                        "2.chmod /etc/hosts",
		"read-only folders above the workspace": "2.mkdir in the folder above the workspace",
		"canary taken away":                     "2.place of the start's canary",
		"Landlock files":                        "2.own priority",
		"own /proc":                             "4.host process's cmdline",
		"undumpable process 1":                  "4.descriptors of process 1",
		"filter: keyrings":                      "4.own keyring",
		"minimal root":                          "1.home stat",
		"choice of variables":                   "4.own environment",
	}
	if os.Getuid() == 0 {
		want["minimal root"] = "1.mount table" // root's home is closed to the session's account
		want["empty environment of process 1"] = "4.environment of process 1"
		want["supplementary groups dropped"] = "4.groups"
	}
	h := ownState(t)
	whole, err := tryMutation(t.Context(), h, "", mutation{name: "nothing", quick: []int{1, 2, 4}})
	if err != nil || len(whole.red) > 0 {
		t.Fatalf("got %v, %v; want nothing to notice with every part in force", whole.red, err)
	}
	for _, p := range append(isolate.Parts(), isolate.Part{Name: "choice of variables"}) {
		id, ok := want[p.Name]
		if !ok {
			continue
		}
		delete(want, p.Name)
		if p.Cannot != "" {
			t.Logf("%s can't be left out: %s", p.Name, p.Cannot)
			continue
		}
		m := mutation{name: p.Name, piece: &p, quick: []int{int(id[0] - '0')}}
		if p.Name == "choice of variables" {
			m.piece, m.environ = nil, true
		}
		got, err := tryMutation(t.Context(), h, "", m)
		if err != nil || !slices.Contains(got.red, id) {
			t.Errorf("without %s: got %v, %v; want %s among them", p.Name, got.red, err, id)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no part %v", want)
	}
}

func TestAWatchSeesWhatIsOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := newWatch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, err := w.events(path); err == nil {
		t.Error("got no error for a file that is not watched")
	}
	said := &seen{said: &probe.Said{}}
	for range 2 { // a second round forgets the first
		if err := w.add(path); err != nil {
			t.Fatal(err)
		}
		if got := w.unopened(path, said); got.verdict != walls.Held {
			t.Errorf("got %+v before anything was opened, want held", got)
		}
		if got := w.unopened(path, &seen{}); got.verdict != walls.Errored {
			t.Errorf("got %+v of a probe that tried nothing, want an error", got)
		}
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if got := w.unopened(path, said); got.verdict != walls.Failed {
			t.Errorf("got %+v after it was opened, want failed", got)
		}
	}
}

func TestAnAgentTellsWhoAsks(t *testing.T) {
	_, id := nonce()
	e := &env{id: id, dir: t.TempDir(), tell: func(walls.Event) {}}
	all, err := e.listenAsAgents()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(agentFolder(id)) }()
	said := &seen{said: &probe.Said{}}
	for _, l := range all {
		if err := l.reachable(); err != nil {
			t.Fatal(err)
		}
		if got := l.untouched(said); got.verdict != walls.Held {
			t.Errorf("%s: got %+v, want held", l.id, got)
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: l.path}); err != nil {
			t.Fatal(err)
		}
		if got := l.untouched(said); got.verdict != walls.Failed {
			t.Errorf("%s: got %+v after somebody connected, want failed", l.id, got)
		}
		_ = unix.Close(fd)
	}
	all.close()
	for _, l := range all {
		if err := l.reachable(); err == nil {
			t.Errorf("%s: got no error from one that is gone", l.id)
		}
		if got := l.untouched(said); got.verdict != walls.Errored {
			t.Errorf("%s: got %+v of one that is gone, want an error", l.id, got)
		}
	}
}

func TestTheCarrierHoldsTheCredentialAndIsGoneAfterwards(t *testing.T) {
	_, id := nonce()
	e := &env{id: id, dir: t.TempDir(), secret: "fhs" + id, host: ownState(t)}
	c, err := e.startCarrier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(filepath.Join("/proc", itoa(c.pid), file))
		if err != nil || !strings.Contains(string(text), e.secret) {
			t.Errorf("%s: got %q, %v; want the credential in it", file, text, err)
		}
	}
	c.stop()
	if err := unix.Kill(c.pid, 0); err == nil {
		t.Error("the process that holds the credential is still there")
	}
}

func TestAKilledProbeWroteAndReadNothing(t *testing.T) {
	_, id := nonce()
	e := &env{id: id, dir: t.TempDir(), host: ownState(t), tell: func(walls.Event) {}, target: &bareTarget{}}
	e.real = e.host
	w := &writing{e: e}
	var list []row
	for _, d := range writeDeeds {
		one, err := w.outside(d.id, d.tried, e.dir, d)
		if err != nil {
			t.Fatal(err)
		}
		one.control = ""
		list = append(list, one)
	}
	s := &seeking{e: e, c: &holder{pid: 1}}
	list = append(list, row{id: "seek", do: readAction("/proc/self/environ"), judge: s.e.nowhere("read")})
	got, err := e.rows(t.Context(), killed{}, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		if a.Verdict != walls.Errored && a.Verdict != walls.NA {
			t.Errorf("%s: got %s, %s; want an error", a.ID, a.Verdict, a.Observed)
		}
	}
}
