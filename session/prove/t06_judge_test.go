package prove

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// tracedBy is an attempt in which these calls were seen.
func tracedBy(calls ...trace.Call) *seen {
	return &seen{traced: true, seg: &trace.Segment{Calls: calls, Ended: true}}
}

func TestAnAttemptIsStoppedWhereTheKernelSaysNo(t *testing.T) {
	no := func(e unix.Errno) int64 { return -int64(e) }
	for _, tt := range []struct {
		name string
		seen *seen
		want walls.Verdict
	}{
		{"no socket", tracedBy(call("socket", no(unix.EPROTONOSUPPORT), true)), walls.Held},
		{"no way", tracedBy(call("socket", 3, true), call("connect", no(unix.ENETUNREACH), true)), walls.Held},
		{"connected", tracedBy(call("socket", 3, true), call("connect", 0, true)), walls.Failed},
		{"waits for an answer", tracedBy(call("socket", 3, true), call("connect", no(unix.EINPROGRESS), true)), walls.Failed},
		{"a wrong attempt", tracedBy(call("socket", 3, true), call("connect", no(unix.EFAULT), true)), walls.Errored},
		{"half tried", tracedBy(call("socket", 3, true)), walls.Errored},
		{"not tried", tracedBy(), walls.Errored},
		{"the probe ended before", &seen{traced: true, died: "signal SIGKILL"}, walls.Errored},
		{"ended in the call", tracedBy(call("socket", 3, true), call("connect", 0, false)), walls.Errored},
		{"ended by the filter", &seen{traced: true, seg: &trace.Segment{Signal: unix.SIGSYS, Calls: []trace.Call{call("socket", 0, false)}}}, walls.Held},
		{"the probe's word alone", &seen{said: &probe.Said{Step: 1, Errno: int(unix.EPERM)}}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := stopped("socket", "connect")(tt.seen); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestWhatArrivesDecides(t *testing.T) {
	quiet := heard{name: "TCP 127.0.0.1:1", controls: 2}
	hit, down := quiet, quiet
	hit.strays = []arrival{{from: "127.0.0.1:2", data: []byte("word")}}
	down.broken = errors.New("it went down")
	refusedThere := tracedBy(call("socket", 3, true), call("connect", -int64(unix.ECONNREFUSED), true))
	through := tracedBy(call("socket", 3, true), call("connect", 0, true))
	silent := tracedBy(call("socket", 3, true), call("connect", -int64(unix.EINPROGRESS), true))
	untraced := &seen{said: &probe.Said{Step: 3, Errno: int(unix.ECONNREFUSED)}}
	for _, tt := range []struct {
		name  string
		heard heard
		seen  *seen
		mute  bool
		want  walls.Verdict
	}{
		{"refused, and nothing came", quiet, refusedThere, false, walls.Held},
		{"refused, and it came all the same", hit, refusedThere, false, walls.Failed},
		{"untraced, and nothing came", quiet, untraced, false, walls.Held},
		{"untraced, and it came", hit, untraced, false, walls.Failed},
		{"untraced, and the probe said nothing", quiet, &seen{ended: "signal SIGKILL"}, false, walls.Errored},
		{"untraced, and it was not tried", quiet, &seen{said: &probe.Said{Err: "no such action"}}, false, walls.Errored},
		{"connected to somebody else", quiet, through, false, walls.Failed},
		{"a datagram that was sent", quiet, through, true, walls.Held},
		{"no answer", quiet, silent, false, walls.Held},
		{"the listener died", down, refusedThere, false, walls.Errored},
		{"the listener died, untraced", down, untraced, false, walls.Errored},
		{"not tried", quiet, tracedBy(), true, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := arrived(tt.heard, tt.seen, tt.mute, "socket", "connect"); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestAListenerInsideIsUnheard(t *testing.T) {
	t0 := time.Now()
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	listening := &seen{traced: true, seg: &trace.Segment{Calls: []trace.Call{
		{Name: "listen", Returned: true, At: at(10)}, {Name: "socket", Ret: 4, Returned: true, At: at(11)}, {Name: "poll", Returned: true, At: at(100)},
	}}}
	no := errors.New("connection refused")
	for _, tt := range []struct {
		name   string
		knocks []knock
		seen   *seen
		want   walls.Verdict
	}{
		{"refused while it listened", []knock{{begin: at(20), end: at(21), err: no}}, listening, walls.Held},
		{"reached", []knock{{begin: at(20), end: at(21), err: no}, {begin: at(30), end: at(31), answer: "word"}}, listening, walls.Failed},
		{"somebody else's port", []knock{{begin: at(20), end: at(21), answer: "hello"}, {begin: at(30), end: at(31), err: no}}, listening, walls.Held},
		{"tried before and after only", []knock{{begin: at(1), end: at(2), err: no}, {begin: at(101), end: at(102), err: no}}, listening, walls.Errored},
		{"may not listen", nil, tracedBy(call("socket", 3, true), call("bind", -int64(unix.EACCES), true)), walls.Held},
		{"not tried", nil, tracedBy(), walls.Errored},
		{"not seen", []knock{{begin: at(20), end: at(21), err: no}}, &seen{said: &probe.Said{}}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := unheard(tt.knocks, tt.seen, "word"); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestOnlyLoopbackIsAlone(t *testing.T) {
	const head = "Inter-|   Receive\n face |bytes    packets\n"
	for text, want := range map[string]walls.Verdict{
		head + "    lo:  1 2\n":                 walls.Held,
		head + "    lo:  1 2\n  eth0:    1 2\n": walls.Failed,
		head + "  eth0:    1 2\n":               walls.Failed,
		head:                                    walls.Errored,
	} {
		if got := onlyLoopback(text); got.verdict != want {
			t.Errorf("%q: got %+v, want %s", text, got, want)
		}
	}
}

func TestAddressesLieInMemoryAsTheKernelReadsThem(t *testing.T) {
	for name, want := range map[string]sock{
		"127.0.0.1:4242":                        ipSock(unix.SOCK_STREAM, 0, netip.MustParseAddr("127.0.0.1"), 4242, 0),
		`unix:"/tmp/s"`:                         unixSock(unix.SOCK_STREAM, "/tmp/s"),
		`unix:@"some-name"`:                     unixSock(unix.SOCK_DGRAM, "@some-name"),
		"[000102030405060708090a0b0c0d0e0f]:53": ipSock(unix.SOCK_DGRAM, 0, netip.MustParseAddr("1:203:405:607:809:a0b:c0d:e0f"), 53, 7),
	} {
		if got := trace.Address(sockBytes(want.addr)); got != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
	if got := sockBytes(ipSock(unix.SOCK_DGRAM, 0, netip.IPv6Loopback(), 53, 7).addr); len(got) != unix.SizeofSockaddrInet6 || !bytes.Contains(got[24:], []byte{7}) {
		t.Errorf("got %x, want an interface's number at its end", got)
	}
	if got := dnsQuestion("word"); !bytes.Contains(got, []byte("\x04word\x04test\x00\x00\x01\x00\x01")) || len(got) != 12+5+5+5 {
		t.Errorf("got %q, want a question for word.test", got)
	}
}

func TestSocketsThatVariablesName(t *testing.T) {
	got := socketsNamed([]string{
		"SSH_AUTH_SOCK=/tmp/agent", "DOCKER_HOST=tcp://127.0.0.1:1", "CONTAINER_HOST=unix:///run/engine", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus,guid=1",
		"HOME=/home/someone", "SSH_AUTH_SOCK=relative", "SSH_AUTH_SOCK=/" + strings.Repeat("x", 200),
	})
	if want := []string{"/tmp/agent", "/run/engine", "/run/bus"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
