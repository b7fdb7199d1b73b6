package probe

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// proxyActions are those of tests 5, 6, 7 and 13: what a session sends to its
// egress proxy. Requests come as bytes: how a client library would write them is
// of no interest where odd ones are meant.
var proxyActions = map[string]action{"proxied": proxied, "lookup": lookup}

// Passage is what came of a way through the proxy, as JSON in Said.Text. What
// the far end answered is in Said.Got.
type Passage struct {
	Fence   bool   `json:"fence"`           // the proxy answered the request that marks the attempt in its record
	Connect string `json:"connect"`         // status line of the answer to CONNECT
	Peer    string `json:"peer"`            // SHA-256 of the certificate at the tunnel's end
	Trusted bool   `json:"trusted"`         // and the inside's own trust verifies it
	Sent    int    `json:"sent"`            // bytes of the request
	Broken  string `json:"broken"`          // what kept it from going on; "" when nothing did
	Then    string `json:"then,omitempty"`  // where a redirect led
	After   []byte `json:"after,omitempty"` // what came back from there
}

// answerWithin bounds the wait for one answer of the proxy's.
const answerWithin = 3 * time.Second

// passing is one way through the proxy.
type passing struct {
	proxy string
	tell  Passage
}

// proxied goes one way through the proxy. Its arguments:
//
//	proxy    address of the proxy
//	fence    a host that no policy names, asked for first: a mark in the record
//	connect  the destination of a CONNECT; "" sends the request to the proxy itself
//	header   further lines of the CONNECT
//	tls      "1" speaks TLS in the tunnel, with
//	sni      this server name
//	send     the request, in base64
//	within   how long answers are read, however many; else the first is
//	until    what ends the wait for it, beside its end, and
//	then     what is sent after it, in base64
//	follow   "1" asks for the place that a redirect names
func proxied(args map[string]string) Said {
	p := &passing{proxy: args["proxy"]}
	got, err := p.pass(args)
	if err != nil {
		p.tell.Broken = err.Error()
	}
	if at := location(got); err == nil && args["follow"] != "" && at != "" {
		p.tell.Then = at
		p.tell.After, err = p.follow(at)
		if err != nil {
			p.tell.Broken = err.Error()
		}
	}
	text, err := json.Marshal(p.tell)
	if err != nil {
		return Said{Err: err.Error()}
	}
	return Said{Text: string(text), Got: got}
}

func (p *passing) pass(args map[string]string) ([]byte, error) {
	request, err := base64.StdEncoding.DecodeString(args["send"])
	if err != nil {
		return nil, fmt.Errorf("argument send: %w", err)
	}
	then, err := base64.StdEncoding.DecodeString(args["then"])
	if err != nil {
		return nil, fmt.Errorf("argument then: %w", err)
	}
	if err := p.fence(args["fence"]); err != nil {
		return nil, err
	}
	c, err := p.tunnel(args["connect"], args["header"])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if len(request) == 0 {
		return nil, nil // the tunnel was all
	}
	if args["tls"] != "" {
		if c, err = p.secure(c, args["sni"]); err != nil {
			return nil, err
		}
	}
	n, err := c.Write(request)
	p.tell.Sent = n
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	if within, err := time.ParseDuration(args["within"]); err == nil {
		if err := c.SetDeadline(time.Now().Add(within)); err != nil {
			return nil, err
		}
		return readAll(c, func([]byte) bool { return false }), nil
	}
	got := readUntil(c, args["until"])
	if len(then) > 0 {
		if _, err := c.Write(then); err != nil {
			return got, fmt.Errorf("send again: %w", err)
		}
		got = append(got, readUntil(c, "")...)
	}
	return got, nil
}

func (p *passing) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", p.proxy, answerWithin)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(answerWithin))
}

// fence has the proxy write a line down, between those of attempts.
func (p *passing) fence(host string) error {
	if host == "" {
		return nil
	}
	c, err := p.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host, host); err != nil {
		return fmt.Errorf("mark the record: %w", err)
	}
	p.tell.Fence = bytes.HasPrefix(readUntil(c, ""), []byte("HTTP/1.1 "))
	return nil
}

// tunnel opens one, or a connection to the proxy where no destination is given.
func (p *passing) tunnel(to, header string) (net.Conn, error) {
	c, err := p.dial()
	if err != nil || to == "" {
		return c, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", to, to, header); err != nil {
		return nil, errors.Join(fmt.Errorf("ask for a tunnel: %w", err), c.Close())
	}
	// Byte by byte: what follows the head belongs to the tunnel.
	var head []byte
	for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, b[0]) {
		if _, err := c.Read(b); err != nil {
			return nil, errors.Join(fmt.Errorf("ask for a tunnel: %w", err), c.Close())
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	p.tell.Connect = line
	if f := strings.Fields(line); len(f) < 2 || f[1] != "200" {
		return nil, errors.Join(errors.New("no tunnel"), c.Close())
	}
	return c, nil
}

// secure speaks TLS, and goes on with a certificate that it does not trust:
// whose it is tells who is at the other end.
func (p *passing) secure(c net.Conn, sni string) (net.Conn, error) {
	t := tls.Client(c, &tls.Config{
		ServerName: sni, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, // nothing secret is sent, and the far end is judged outside
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return nil
			}
			sum := sha256.Sum256(s.PeerCertificates[0].Raw)
			p.tell.Peer = hex.EncodeToString(sum[:])
			between := x509.NewCertPool()
			for _, one := range s.PeerCertificates[1:] {
				between.AddCert(one)
			}
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: trust(), Intermediates: between, DNSName: sni})
			p.tell.Trusted = err == nil
			return nil
		},
	})
	if err := t.Handshake(); err != nil {
		return nil, fmt.Errorf("speak TLS: %w", err)
	}
	return t, nil
}

// trust is what the session tells its programs to trust. Reading it takes
// longer than an attempt.
var trust = sync.OnceValue(func() *x509.CertPool {
	pool := x509.NewCertPool()
	bundle, _ := os.ReadFile(os.Getenv("SSL_CERT_FILE")) // nothing is trusted then
	pool.AppendCertsFromPEM(bundle)
	return pool
})

// readUntil reads to a text, or to the end of an answer.
func readUntil(r io.Reader, end string) []byte {
	return readAll(r, func(b []byte) bool {
		return end != "" && bytes.Contains(b, []byte(end)) || whole(b)
	})
}

// readAll reads to what is enough, the end, or the deadline.
func readAll(r io.Reader, enough func([]byte) bool) []byte {
	var all []byte
	b := make([]byte, 16<<10)
	for len(all) < MaxGot {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		if err != nil || enough(all) {
			break
		}
	}
	return all
}

// whole tells whether an answer is all there. It only ends a wait: whoever reads
// the answer finds out for himself what is missing.
func whole(b []byte) bool {
	head, body, ok := strings.Cut(string(b), "\r\n\r\n")
	if !ok || strings.HasPrefix(head, "HTTP/1.1 101") {
		return false
	}
	for line := range strings.Lines(head) {
		k, v, _ := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		switch strings.ToLower(k) {
		case "content-length":
			n, err := strconv.Atoi(v)
			return err == nil && len(body) >= n
		case "transfer-encoding":
			_, last, ok := strings.Cut("\r\n"+body, "\r\n0\r\n")
			return ok && (last == "\r\n" || strings.HasSuffix(last, "\r\n\r\n"))
		}
	}
	return false
}

// location is the place that a redirect names.
func location(answer []byte) string {
	head, _, _ := strings.Cut(string(answer), "\r\n\r\n")
	for line := range strings.Lines(head) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, "location") {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// follow asks for a place, https://host[:port]/path, as a client does that was
// told to go there.
func (p *passing) follow(at string) ([]byte, error) {
	rest, ok := strings.CutPrefix(at, "https://")
	if !ok {
		return nil, fmt.Errorf("the redirect leads to %q", at)
	}
	host, path, _ := strings.Cut(rest, "/")
	to, name := host, host
	if h, _, ok := strings.Cut(host, ":"); ok {
		name = h
	} else {
		to += ":443"
	}
	c, err := p.tunnel(to, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if c, err = p.secure(c, name); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return readUntil(c, ""), nil
}

// lookup asks a name server at "to" the question "ask", in hex.
func lookup(args map[string]string) Said {
	p := &passing{proxy: args["proxy"]}
	if err := p.fence(args["fence"]); err != nil {
		return Said{Err: err.Error()}
	}
	question, err := hex.DecodeString(args["ask"])
	if err != nil {
		return Said{Err: fmt.Sprintf("argument ask: %v", err)}
	}
	c, err := net.DialTimeout("udp", args["to"], answerWithin)
	if err != nil {
		return Said{Err: err.Error()}
	}
	defer c.Close()
	b := make([]byte, 1500)
	n := 0
	if err = c.SetDeadline(time.Now().Add(answerWithin)); err == nil {
		if p.tell.Sent, err = c.Write(question); err == nil {
			n, err = c.Read(b)
		}
	}
	if err != nil {
		p.tell.Broken = err.Error()
	}
	text, err := json.Marshal(p.tell)
	if err != nil {
		return Said{Err: err.Error()}
	}
	return Said{Text: string(text), Got: b[:n]}
}
