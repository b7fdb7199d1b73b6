package witness

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

const credential = "fhr-0123456789abcdef"

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: got %v, want none", err)
		}
	})
	return s
}

// ask sends a request by hand, over TLS as the name, and gives all that came back.
func ask(t *testing.T, s *Server, name, request string) []byte {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Roots())
	c, err := tls.Dial("tcp", s.At(), &tls.Config{ServerName: name, RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func get(nonce string) string {
	return fmt.Sprintf("GET /p/%s?a=b HTTP/1.1\r\nHost: one.test\r\nX-Witness: %s\r\nAuthorization: Bearer %s\r\n\r\n", nonce, nonce, credential)
}

func TestWhatArrivesIsWrittenDown(t *testing.T) {
	s := start(t)
	ask(t, s, "one.test", get("n1"))
	got := s.With("n1")
	if len(got) != 1 || got[0].SNI != "one.test" || !got[0].TLS || got[0].Path != "/p/n1" || got[0].Query != "a=b" || got[0].Header.Get("Authorization") != "Bearer "+credential {
		t.Errorf("got %+v, want the request as it was sent", got)
	}
	if !s.Carried(credential) || s.Carried("never sent") || len(s.With("n2")) != 0 {
		t.Error("got a log that does not tell what arrived from what did not")
	}
	if err := s.Visit(t.Context(), "n3"); err != nil || len(s.With("n3")) != 1 || s.With("n3")[0].TLS {
		t.Errorf("got %v and %+v, want a visit in plain HTTP", err, s.With("n3"))
	}
}

// A request that is no request leaves its bytes in the log.
func TestBytesThatAreNoRequestAreSeen(t *testing.T) {
	s := start(t)
	ask(t, s, "one.test", "NOT A REQUEST n4\r\n\r\n")
	if !s.Carried("n4") || s.Count() != 0 {
		t.Errorf("got %t and %d requests, want the bytes and no request", s.Carried("n4"), s.Count())
	}
}

// What does not hand the credential back would show nothing by its absence.
func TestEveryReflectionHandsTheCredentialBack(t *testing.T) {
	s := start(t)
	plain := map[Reply]bool{Base64: true, Hex: true}
	for i, r := range Reflections() {
		nonce := fmt.Sprintf("n%d", i)
		s.Plan(nonce, r, "")
		a, err := ReadAnswer(ask(t, s, "one.test", get(nonce)))
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		all := a.Everything()
		if !bytes.Contains(all, []byte(Mark+nonce)) {
			t.Errorf("%s: got %q, want the mark in it", r, all)
		}
		if bytes.Contains(all, []byte(credential)) == plain[r] {
			t.Errorf("%s: got %q, want the credential as it is: %t", r, all, !plain[r])
		}
		if seen := s.With(nonce); len(seen) != 1 || seen[0].Replied != r {
			t.Errorf("%s: got %+v, want it written down as answered so", r, seen)
		}
	}
}

func TestRedirectLeadsWhereItWasPlanned(t *testing.T) {
	s := start(t)
	s.Plan("n1", Redirect, "https://two.test/x")
	a, err := ReadAnswer(ask(t, s, "one.test", get("n1")))
	if err != nil || a.Status != 302 || a.Header.Get("Location") != "https://two.test/x" {
		t.Errorf("got %+v, %v; want a redirect", a, err)
	}
}

func TestWebsocketSaysWhatItWasSentAndEchoes(t *testing.T) {
	s := start(t)
	s.Plan("n1", Echo, "")
	c, err := net.Dial("tcp", s.At())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSuffix(get("n1"), "\r\n") + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	if _, err := c.Write(append([]byte(head), Frame([]byte("hello"), true)...)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		// The example of RFC 6455, 1.3.
		if v, ok := strings.CutPrefix(line, "Sec-WebSocket-Accept: "); ok && v != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" {
			t.Errorf("got %q, want the RFC's", v)
		}
	}
	first, err := ReadFrame(r)
	if err != nil || !bytes.Contains(first, []byte(credential)) {
		t.Errorf("got %q, %v; want what it was sent", first, err)
	}
	if second, err := ReadFrame(r); err != nil || string(second) != "hello" {
		t.Errorf("got %q, %v; want the message", second, err)
	}
}

func TestFramesComeBackAsTheyWent(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 65535} {
		for _, client := range []bool{false, true} {
			want := bytes.Repeat([]byte("x"), n)
			got, err := ReadFrame(bufio.NewReader(bytes.NewReader(Frame(want, client))))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d bytes, client %t: got %d bytes and %v", n, client, len(got), err)
			}
		}
	}
}

// An answer of a connection that breaks off is given as far as it came.
func TestAnswerIsReadAsFarAsItCame(t *testing.T) {
	a, err := ReadAnswer([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\nde"))
	if err != nil || string(a.Body) != "abcde" {
		t.Errorf("got %+v, %v; want its chunks put together", a, err)
	}
	if _, err := ReadAnswer([]byte("no answer")); err == nil {
		t.Error("got no error of what is no answer")
	}
}

func TestCloseEndsAConnectionThatSaysNothing(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.At())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("got %v, want none", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("got no end within 5 s, want that it does not wait for a silent client")
	}
}
