package isolate_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// What connects to the proxy's port inside arrives at the listener that was
// handed out, and nothing of it is a port of the host's.
func TestListenerIsTheSessionsOwn(t *testing.T) {
	s := start(t, spec(t))
	l, names, err := s.Egress()
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	defer l.Close()
	if got := l.Addr().String(); got != "127.0.0.1:3128" {
		t.Errorf("got %s, want 127.0.0.1:3128", got)
	}
	if c, err := net.DialTimeout("tcp", "127.0.0.1:3128", time.Second); err == nil {
		_ = c.Close()
		t.Error("got a connection from the host, want none: the port is the session's")
	}
	said := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			said <- err.Error()
			return
		}
		defer c.Close()
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "taken\n")
		said <- line
	}()
	run(t, s, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && echo knock >&3 && cat <&3").must(t, "taken")
	if got := <-said; got != "knock\n" {
		t.Errorf("got %q at the listener, want what was sent inside", got)
	}
	if _, _, err := s.Egress(); err == nil {
		t.Error("got the sockets a second time, want an error")
	}
}

// The session's certificates are where the variables say, and where programs
// look that know no variable; neither can be changed.
func TestTrustStandsInForTheSystemsBundle(t *testing.T) {
	sp := spec(t)
	sp.Trust = testkit.Folder(t, "trust")
	if err := os.WriteFile(filepath.Join(sp.Trust, "bundle.pem"), []byte("of this session\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := start(t, sp)
	sh(t, s, "cat "+isolate.TrustInside+"/bundle.pem").must(t, "of this session")
	sh(t, s, "echo x >> "+isolate.TrustInside+"/bundle.pem").mustFail(t, "")
	const system = "/etc/ssl/certs/ca-certificates.crt"
	if fi, err := os.Lstat(system); err != nil || !fi.Mode().IsRegular() {
		t.Skipf("got no file %s on this machine, want one", system)
	}
	sh(t, s, "cat "+system).must(t, "of this session")
	sh(t, s, "echo x >> "+system).mustFail(t, "")
	if b, err := os.ReadFile(system); err != nil || strings.Contains(string(b), "of this session") {
		t.Errorf("got the session's bundle on the host (%v), want the host's own", err)
	}
}
