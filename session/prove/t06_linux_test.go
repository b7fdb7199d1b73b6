package prove

import (
	"context"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// ownState is this account with a state folder of the test's own.
func ownState(t *testing.T) *session.Host {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	h, err := session.NewHost("")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// runTest runs one test as a person would.
func runTest(t *testing.T, number int, against ...string) *walls.Record {
	t.Helper()
	rec, err := Run(t.Context(), ownState(t), walls.Run{Only: []int{number}, Against: against}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Left) > 0 {
		t.Errorf("left behind: %v", rec.Left)
	}
	return rec
}

// everyKind is a place for each kind of listener.
func everyKind(t *testing.T) []sock {
	dir := t.TempDir()
	lo := netip.MustParseAddr("127.0.0.1")
	_, id := nonce()
	return []sock{
		ipSock(unix.SOCK_STREAM, 0, lo, 0, 0), ipSock(unix.SOCK_DGRAM, 0, lo, 0, 0),
		unixSock(unix.SOCK_STREAM, filepath.Join(dir, "s")), unixSock(unix.SOCK_DGRAM, filepath.Join(dir, "d")), unixSock(unix.SOCK_SEQPACKET, filepath.Join(dir, "p")),
		unixSock(unix.SOCK_STREAM, "@fumehood-test-"+id), unixSock(unix.SOCK_DGRAM, "@fumehood-test-d-"+id), unixSock(unix.SOCK_SEQPACKET, "@fumehood-test-p-"+id),
	}
}

func TestAListenerTellsWhatArrives(t *testing.T) {
	for _, at := range everyKind(t) {
		t.Run(at.name, func(t *testing.T) {
			l, err := openListener(at)
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			l.fresh()
			if err := sendTo(l.at, []byte("a stranger's")); err != nil {
				t.Fatal(err)
			}
			got := l.heard()
			if got.broken != nil || got.controls != 2 || len(got.strays) != 1 || string(got.strays[0].data) != "a stranger's" {
				t.Errorf("got %+v, want the stranger's word beside two controls", got)
			}
			l.fresh()
			if got := l.heard(); got.broken != nil || len(got.strays) != 0 {
				t.Errorf("got %+v, want nothing of the pass before", got)
			}
		})
	}
}

func TestAListenerSeesDescriptors(t *testing.T) {
	l, err := openListener(unixSock(unix.SOCK_DGRAM, filepath.Join(t.TempDir(), "d")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.fresh()
	fd, err := connectTo(l.at)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Sendmsg(fd, []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := l.heard(); len(got.strays) != 1 || !got.strays[0].rights {
		t.Errorf("got %+v, want a descriptor", got)
	}
}

func TestADeadListenerIsNoWitness(t *testing.T) {
	refusedThere := tracedBy(call("socket", 3, true), call("connect", -int64(unix.ECONNREFUSED), true))
	for _, at := range everyKind(t) {
		t.Run(at.name, func(t *testing.T) {
			l, err := openListener(at)
			if err != nil {
				t.Fatal(err)
			}
			l.fresh()
			l.close()
			if got := arrived(l.heard(), refusedThere, false, "socket", "connect"); got.verdict != walls.Errored {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func TestASessionReachesNothing(t *testing.T) {
	rec := runTest(t, 6)
	res := rec.Tests[0]
	if res.Verdict != walls.Held {
		t.Errorf("got %s: %s, want held", res.Verdict, res.Reason)
	}
	for _, a := range res.Attempts {
		if a.Verdict != walls.Held && a.Verdict != walls.NA {
			t.Errorf("%s: got %s, %s (%s)", a.ID, a.Verdict, a.Observed, a.Evidence)
		}
	}
}

// What the host's own proxy does can't be seen from here: the record says so.
func TestARecordSaysThatTheHostsProxyResolvesNames(t *testing.T) {
	h := ownState(t)
	h.Env = append(h.Env, "HTTPS_PROXY=http://proxy.test:3128")
	rec, err := Run(t.Context(), h, walls.Run{Only: []int{6}, Policy: "run-tests"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Shape.WayOut != walls.WayByProxy || rec.Tests[0].Verdict != walls.Held {
		t.Errorf("got %q and %s: %s", rec.Shape.WayOut, rec.Tests[0].Verdict, rec.Tests[0].Reason)
	}
	i := slices.IndexFunc(rec.Tests[0].Attempts, func(a walls.Attempt) bool { return a.ID == "proxy-resolves" })
	if i < 0 || rec.Tests[0].Attempts[i].Verdict != walls.NA {
		t.Error("got nothing of the host's own proxy, want that it can't be tested")
	}
}

// isControlID tells what has to work everywhere.
func isControlID(id string) bool {
	return strings.HasPrefix(id, "own-") && !strings.HasPrefix(id, "own-fastopen") || slices.Contains([]string{"socket", "netlink-route", "route-own", "interface-lo"}, id)
}

func TestWithoutASandboxEverythingArrives(t *testing.T) {
	rec := runTest(t, 6, "{}")
	if got := rec.Tests[0].Verdict; got != walls.Failed {
		t.Errorf("got %s, want failed", got)
	}
	failures := 0
	for _, a := range rec.Tests[0].Attempts {
		switch {
		case isControlID(a.ID) && a.Verdict != walls.Held:
			t.Errorf("the control %s: got %s, %s", a.ID, a.Verdict, a.Observed)
		case isControlID(a.ID), a.Verdict == walls.NA:
		case a.Verdict != walls.Failed:
			t.Errorf("%s: got %s, %s (%s), want failed", a.ID, a.Verdict, a.Observed, a.Evidence)
		default:
			failures++
		}
	}
	if failures < 40 {
		t.Errorf("got %d failed attempts, want that nearly all of them could be made", failures)
	}
}

// Each part of the walls that stands before the network is noticed by itself.
func TestAMissingPartLetsSomethingThrough(t *testing.T) {
	want := map[string]string{
		"network namespace":                    "6.tcp4",
		"filter":                               "6.own-fastopen-sendto",
		"filter: socket families":              "6.netlink-generic",
		"filter: protocols beside TCP and UDP": "6.mptcp-socket",
		"filter: Fast Open":                    "6.own-fastopen-sendmsg",
		"filter: io_uring":                     "6.io_uring-setup",
	}
	h := ownState(t)
	whole, err := tryMutation(t.Context(), h, "", mutation{name: "nothing", quick: []int{6}})
	if err != nil || len(whole.red) > 0 {
		t.Fatalf("got %v, %v; want nothing to notice with every part in force", whole.red, err)
	}
	tried := 0
	for _, p := range isolate.Parts() {
		id, ok := want[p.Name]
		if !ok {
			continue
		}
		tried++
		if p.Cannot != "" {
			t.Errorf("%s can't be left out: %s", p.Name, p.Cannot)
			continue
		}
		got, err := tryMutation(t.Context(), h, "", mutation{name: p.Name, piece: &p, quick: []int{6}})
		if err != nil || !slices.Contains(got.red, id) {
			t.Errorf("without %s: got %v, %v; want %s among them", p.Name, got.red, err, id)
		}
	}
	if tried != len(want) {
		t.Errorf("got %d of %d parts by their names", tried, len(want))
	}
}

// killed is a room whose probe is ended before its first attempt.
type killed struct{ room }

func (killed) probe(context.Context, probe.Job, how) (*ran, error) {
	return &ran{hello: probe.Hello{PID: 7}, said: map[int]probe.Said{}, ended: "signal SIGKILL"}, nil
}

func TestAKilledProbeHasNotBeenRefused(t *testing.T) {
	e := &env{tell: func(walls.Event) {}}
	l, err := openListener(ipSock(unix.SOCK_STREAM, 0, netip.MustParseAddr("127.0.0.1"), 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	list := []row{
		{id: "a", before: func() error { l.fresh(); return nil }, host: true, judge: func(s *seen) outcome { return arrived(l.heard(), s, false, "socket", "connect") }},
		{id: "b", judge: stopped("socket", "connect")},
	}
	got, err := e.rows(t.Context(), killed{}, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range got {
		if a.Verdict != walls.Errored {
			t.Errorf("%s: got %s, %s; want an error", a.ID, a.Verdict, a.Observed)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %d attempts, want both, and one of them once more untraced", len(got))
	}
}

func TestAWordIsNotSentTwice(t *testing.T) {
	d := &deny{e: &env{tell: func(walls.Event) {}}}
	defer d.close()
	if err := d.target(path{id: "x", at: ipSock(unix.SOCK_DGRAM, 0, netip.MustParseAddr("127.0.0.1"), 0, 0), via: "sendto"}); err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for range 3 {
		if err := d.rows[0].before(); err != nil {
			t.Fatal(err)
		}
		word, err := hex.DecodeString(d.rows[0].do.Args["data"])
		if err != nil {
			t.Fatal(err)
		}
		words[string(word)] = true
	}
	if len(words) != 3 {
		t.Errorf("got %d words in 3 passes", len(words))
	}
}

func TestUnixListenersLeaveNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s")
	l, err := openListener(unixSock(unix.SOCK_STREAM, file))
	if err != nil {
		t.Fatal(err)
	}
	l.close()
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the socket is gone", err)
	}
}
