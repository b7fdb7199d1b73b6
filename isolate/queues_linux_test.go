package isolate_test

import (
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// Connections of the session's own that nobody reads from hold memory of the
// kernel's, which belongs to no process: each holds little, and it counts.
func TestQueuesOfConnectionsAreShortAndCount(t *testing.T) {
	sp := spec(t)
	sp.Metered, sp.TreeBytes = true, 1<<40
	s := start(t, sp)
	before := usage(t, s).RSS
	const pairs = 40
	testkit.RequireProgram(t, "python3")
	p, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import signal, socket
l = socket.create_server(("127.0.0.1", 0), backlog=100)
held = []
for _ in range(40):
    a = socket.create_connection(l.getsockname())
    b, _ = l.accept()
    for c in (a, b):
        c.setblocking(False)
        try:
            while True: c.send(bytes(65536))
        except BlockingIOError: pass
        held.append(c)
signal.pause()
`}, Env: env, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Signal(9) }()
	const least = pairs * 2 * 100 << 10 // of what has to be seen
	deadline := time.Now().Add(20 * time.Second)
	got := usage(t, s).RSS - before
	for ; got < least && time.Now().Before(deadline); got = usage(t, s).RSS - before {
		<-time.After(50 * time.Millisecond)
	}
	if most := int64(pairs*2*1<<20 + 64<<20); got < least || got > most {
		t.Errorf("got %d bytes more, want between %d and %d", got, least, most)
	}
}

func TestQueuesOfDatagramsCount(t *testing.T) {
	sp := spec(t)
	sp.Metered, sp.TreeBytes = true, 1<<40
	s := start(t, sp)
	before := usage(t, s).RSS
	const sockets = 100
	testkit.RequireProgram(t, "python3")
	p, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import signal, socket
out, held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), []
for _ in range(100):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200 << 10)
    s.bind(("127.0.0.1", 0))
    for _ in range(20): out.sendto(bytes(30000), s.getsockname())
    held.append(s)
signal.pause()
`}, Env: env, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Signal(9) }()
	const least = sockets * 100 << 10
	deadline := time.Now().Add(20 * time.Second)
	got := usage(t, s).RSS - before
	for ; got < least && time.Now().Before(deadline); got = usage(t, s).RSS - before {
		<-time.After(50 * time.Millisecond)
	}
	if most := int64(sockets<<20 + 64<<20); got < least || got > most {
		t.Errorf("got %d bytes more, want between %d and %d", got, least, most)
	}
}

// A file without content takes memory too, in a folder of memory.
func TestNamesInTemporaryFoldersCount(t *testing.T) {
	sp := spec(t)
	sp.Metered, sp.TreeBytes, sp.TmpBytes = true, 1<<40, 256<<20
	s := start(t, sp)
	before := usage(t, s).RSS
	const names = 20_000
	testkit.RequireProgram(t, "python3")
	p, err := s.Spawn(isolate.Command{Argv: []string{"/usr/bin/python3", "-c", `
import os, signal
for d in ("/tmp", "/run"):
    for i in range(10000):
        os.mknod("%s/%d" % (d, i))
signal.pause()
`}, Env: env, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Signal(9) }()
	const least = names << 10
	deadline := time.Now().Add(20 * time.Second)
	got := usage(t, s).RSS - before
	for ; got < least && time.Now().Before(deadline); got = usage(t, s).RSS - before {
		<-time.After(50 * time.Millisecond)
	}
	if most := int64(least + 64<<20); got < least || got > most {
		t.Errorf("got %d bytes more, want between %d and %d", got, least, most)
	}
}
