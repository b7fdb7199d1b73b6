package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

var errNames = errors.New("the server name is not the tunnel's destination")

// connect answers a CONNECT: the opaque tunnel that an entry grants, or one
// whose TLS ends here.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	// What net/http reads as authority is not all that was sent: a path after it
	// is left out there.
	a, err := rule.ParseAuthority(r.RequestURI, 0)
	if err != nil {
		p.refuse(w, r, refusal{reason: rule.BadAuthority, detail: err.Error()})
		return
	}
	said := &record.Attempt{Time: now(), Method: http.MethodConnect, Host: a.Host, Port: int(a.Port)}
	reach := p.reach(p.table.Load(), a)
	if !reach.Named {
		p.answer(w, said, refusal{reason: rule.NoEntry})
		return
	}
	said.Rule = reach.Rule
	if err := p.literal(reach, a); err != nil {
		p.answer(w, said, refusalOf(err))
		return
	}
	if reach.Opaque {
		p.opaque(w, r, a, said)
		return
	}
	near, early, ok := open(w)
	if !ok {
		return
	}
	in := &peeked{Conn: near, r: early}
	in.in.to = exchange{scheme: "https", authority: a}
	p.intercept(in, said)
}

// open answers a CONNECT and takes the connection over.
func open(w http.ResponseWriter) (net.Conn, *bufio.Reader, bool) {
	h, ok := w.(http.Hijacker)
	if !ok { // HTTP/2 towards the proxy itself is not offered
		w.WriteHeader(http.StatusNotImplemented)
		return nil, nil, false
	}
	near, buf, err := h.Hijack()
	if err != nil {
		return nil, nil, false
	}
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = near.Close() // it has gone
		return nil, nil, false
	}
	return near, buf.Reader, true
}

// intercept ends the TLS of a tunnel here and hands it to the inner server.
// Plain HTTP goes there too: some clients open a tunnel for it as well.
func (p *Proxy) intercept(conn *peeked, said *record.Attempt) {
	_ = conn.SetReadDeadline(now().Add(idleTimeout)) // else it could stay for good
	first, err := conn.r.Peek(1)
	if err != nil {
		_ = conn.Close() // nothing came
		return
	}
	_ = conn.SetReadDeadline(noDeadline) // from here on others set it
	switch {
	case first[0] == tlsHandshake:
		p.handshake(conn, said)
	case first[0] >= 'A' && first[0] <= 'Z': // a method
		conn.in.to.scheme = "http"
		p.tunnels.put(conn)
	default:
		said.Reason = string(rule.NotTLS)
		p.record(said)
		_ = conn.Close()
	}
}

func (p *Proxy) handshake(conn *peeked, said *record.Attempt) {
	a := conn.in.to.authority
	cfg := p.ca.config()
	cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !namesAgree(hello.ServerName, a) && !p.omits(PartNames) {
			said.Reason, said.Detail = string(rule.Disagree), "the TLS server name is not the destination"
			return nil, errNames
		}
		return p.ca.certificate(a)
	}
	t := tls.Server(conn, cfg)
	ctx, cancel := context.WithTimeout(p.ctx, headerTimeout)
	err := t.HandshakeContext(ctx)
	cancel()
	if err == nil {
		p.tunnels.put(t)
		return
	}
	if said.Reason == "" {
		said.Reason, said.Detail = string(rule.NotTLS), "the handshake broke off: the program inside may not trust the session's certificate"
	}
	p.record(said)
	_ = t.Close() // it broke already
}

// namesAgree tells whether a TLS server name is a tunnel's destination. None at
// all is what clients send for an address.
func namesAgree(sni string, a rule.Authority) bool {
	if sni == "" {
		return true
	}
	got, err := rule.ParseAuthority(sni, a.Port)
	return err == nil && got == a
}

// serveTunnel answers a request that came through an intercepted tunnel.
func (p *Proxy) serveTunnel(w http.ResponseWriter, r *http.Request) {
	in, ok := r.Context().Value(connKey{}).(*incoming)
	if !ok || r.Method == http.MethodConnect {
		p.refuse(w, r, refusal{reason: rule.NotHTTP, detail: "a tunnel within a tunnel"})
		return
	}
	p.forward(w, r, in.to)
}
