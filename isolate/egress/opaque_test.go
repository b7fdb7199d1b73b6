package egress

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/egress/rule"
)

func TestOpaqueTunnelCarriesWhateverSpeaksFirst(t *testing.T) {
	w := newWorld(t, entry("ssh.test:22", "CONNECT"))
	w.bytes("ssh.test:22", func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-server\r\n")
		_, _ = io.Copy(c, c)
	}).start()
	c := w.tunnel("ssh.test:22")
	r := bufio.NewReader(c)
	for _, say := range []string{"", "SSH-2.0-client\r\n", "more\n"} {
		_, _ = io.WriteString(c, say)
		want := say
		if say == "" {
			want = "SSH-2.0-server\r\n"
		}
		if got, err := r.ReadString('\n'); got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	closeWrite(c) // half of it: the other still comes
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
	if a := w.nth(1); !a.Allowed || a.Up != 21 || a.Down != 37 || a.Method != http.MethodConnect {
		t.Errorf("got %+v, want 21 bytes up, 37 down", a)
	}
}

func TestOpaqueTunnelIsNoWayToAnotherName(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "CONNECT")).tls("ok.test:443", echo).start()
	shake := func(name string) error {
		roots := w.roots()
		roots.AppendCertsFromPEM(w.ca.pem) // the tunnel's far end itself
		c := tls.Client(w.tunnel("ok.test:443"), &tls.Config{RootCAs: roots, ServerName: name})
		defer c.Close()
		if err := c.Handshake(); err != nil {
			return err
		}
		_, _, err := answerOf(c, "GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n")
		return err
	}
	if err := shake("ok.test"); err != nil {
		t.Errorf("its own name: %v", err)
	}
	w.some(1) // a tunnel is written down when both its ends are closed
	if err := shake("evil.test"); err == nil {
		t.Error("another name: got a connection, want none")
	}
	a := w.nth(2)
	if a.Allowed || a.Reason != string(rule.Disagree) || a.Up != 0 {
		t.Errorf("got %+v, want it refused with nothing sent", a)
	}
	c := w.tunnel("ok.test:443")
	_, _ = io.WriteString(c, "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00no hello")
	_, _ = io.Copy(io.Discard, c)
	if a := w.nth(3); a.Allowed || a.Up != 0 {
		t.Errorf("got %+v, want what can't be read refused", a)
	}
}

// helloBytes is a ClientHello as crypto/tls sends it.
func helloBytes(t testing.TB, name string) []byte {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		_ = tls.Client(near, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() // it is never answered
	}()
	b := make([]byte, 16<<10)
	n, err := far.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = near.Close(), far.Close()
	return b[:n]
}

// records cuts a handshake message into records of so many bytes.
func records(hello []byte, size int) []byte {
	var out []byte
	for body := hello[5:]; len(body) > 0; body = body[min(size, len(body)):] {
		n := min(size, len(body))
		out = append(out, 22, 3, 1, byte(n>>8), byte(n))
		out = append(out, body[:n]...)
	}
	return out
}

func TestServerNameIsReadHoweverItIsCut(t *testing.T) {
	whole := helloBytes(t, "name.test")
	for _, row := range []struct {
		name string
		in   []byte
		want hello
	}{
		{"whole", whole, hello{name: "name.test"}},
		{"in records of 7 bytes", records(whole, 7), hello{name: "name.test"}},
		{"in records of 1 byte, followed by more", append(records(whole, 1), "early"...), hello{name: "name.test"}},
		{"half", whole[:len(whole)/2], hello{odd: true}},
		{"no TLS", []byte("GET /"), hello{}},
		{"nothing", nil, hello{ended: true}},
		{"without a name", helloBytes(t, "192.0.2.1"), hello{}},
		{"without end", records(append([]byte{22, 3, 1, 0, 0, 1, 0, 0xff, 0xff}, make([]byte, 60<<10)...), 1), hello{odd: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := bufio.NewReader(io.MultiReader(strings.NewReader(string(row.in))))
			got := readHello(r, func(time.Duration) {})
			rest, _ := io.ReadAll(r)
			if all := string(got.read) + string(rest); all != string(row.in) && !got.odd {
				t.Errorf("got %d bytes to send on, want the %d that came", len(all), len(row.in))
			}
			got.read = nil
			if fmt.Sprint(got) != fmt.Sprint(row.want) {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
