package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"fumehood/isolate/egress/rule"
)

// Bounds of one attempt to reach a destination.
const (
	maxAddresses = 16              // of one name that are tried
	leastDial    = 3 * time.Second // for each of them, as long as there is time at all
)

// dial reaches a destination that an entry names: looks its name up, once,
// checks every address, and connects to one of those that were checked. What
// the name leads to a moment later plays no part.
func (p *Proxy) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	a, err := rule.ParseAuthority(hostport, 0)
	if err != nil {
		return nil, refusal{reason: rule.BadAuthority, detail: err.Error()}
	}
	if to, ok := p.cfg.Upstream.To[a.String()]; ok {
		c, err := p.connectTo(ctx, network, to)
		if err != nil {
			return nil, err // and no connection at all, not one of type *conn
		}
		return c, nil
	}
	ips, err := p.addresses(ctx, a)
	if err != nil {
		return nil, err
	}
	var last error
	for i, ip := range ips {
		to, ok := p.standIn(netip.AddrPortFrom(ip, a.Port).String())
		if !ok {
			last = refusal{reason: rule.Unreachable, status: http.StatusBadGateway}
			continue
		}
		c, err := p.connectOne(ctx, network, to, len(ips)-i)
		if err == nil {
			c.address = ip.String()
			return c, nil
		}
		last = err
	}
	return nil, last
}

// connectOne leaves time for the other addresses.
func (p *Proxy) connectOne(ctx context.Context, network, to string, left int) (*conn, error) {
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(leastDial, time.Until(end)/time.Duration(left)))
		defer cancel()
	}
	return p.connectTo(ctx, network, to)
}

func (p *Proxy) connectTo(ctx context.Context, network, to string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, to)
	if err != nil {
		return nil, err
	}
	// The kernel would let each take some MiB of memory that no limit of the
	// session counts.
	if tcp, ok := c.(*net.TCPConn); ok {
		if err := errors.Join(tcp.SetWriteBuffer(farWrite), tcp.SetReadBuffer(farRead)); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return p.conns.add(c, nil), nil
}

// dialProxy reaches the host's own proxy. It is the host's setting, so that its
// address is not judged.
func (p *Proxy) dialProxy(ctx context.Context, network, hostport string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := p.connectTo(ctx, network, hostport)
	if err != nil {
		return nil, refusal{reason: rule.Unreachable, detail: "the host's proxy can't be reached", status: http.StatusBadGateway}
	}
	return c, nil
}

// addresses are those that a destination leads to and may be at, in the order
// to try them.
func (p *Proxy) addresses(ctx context.Context, a rule.Authority) ([]netip.Addr, error) {
	all := []netip.Addr{a.IP}
	if !a.IP.IsValid() {
		var err error
		all, err = p.resolve(ctx, a.Host)
		if err != nil || len(all) == 0 {
			return nil, refusal{reason: rule.NoAddress, detail: "the host's resolver has none", status: http.StatusBadGateway}
		}
	}
	own, err := p.own()
	if err != nil {
		return nil, refusal{reason: rule.BadAddress, detail: "this machine's own addresses can't be read"}
	}
	reach := p.reach(p.table.Load(), a)
	var out []netip.Addr
	var bad rule.Class
	for _, ip := range all {
		ip = ip.Unmap().WithZone("")
		if class, ok := p.permits(reach, ip, own); !ok {
			bad = class
			continue
		}
		out = append(out, ip)
	}
	if len(out) == 0 {
		return nil, badAddress(bad, reach)
	}
	return out[:min(len(out), maxAddresses)], nil
}

func badAddress(class rule.Class, reach rule.Reach) refusal {
	return refusal{reason: rule.BadAddress, detail: "it leads to a " + string(class) + " address", rule: reach.Rule}
}

// literal refuses a destination that is written as an address of a refused
// class, before anything is sent.
func (p *Proxy) literal(reach rule.Reach, a rule.Authority) error {
	if !a.IP.IsValid() {
		return nil
	}
	own, err := p.own()
	if err != nil {
		return refusal{reason: rule.BadAddress, detail: "this machine's own addresses can't be read"}
	}
	if class, ok := p.permits(reach, a.IP, own); !ok {
		return badAddress(class, reach)
	}
	return nil
}

// resolve asks for a name as it is written: with dots in it, none of the host's
// search domains is put behind it.
func (p *Proxy) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if r := p.cfg.Upstream.Resolve; r != nil {
		return r(ctx, host)
	}
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (p *Proxy) own() ([]netip.Addr, error) {
	if o := p.cfg.Upstream.Own; o != nil {
		return o()
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var out []netip.Addr
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out, nil
}

// plainCause says in our own words why a destination was not reached.
func plainCause(err error) string {
	var dns *net.DNSError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var op *net.OpError
	switch {
	case errors.As(err, &verify), errors.As(err, &unknown):
		return "its certificate is not valid"
	case errors.As(err, &dns):
		return "its name was not found"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the request was given up"
	case errors.Is(err, errInterim):
		return "too many interim answers"
	case errors.As(err, &op) && op.Op == "dial":
		return "no connection"
	}
	return "the connection broke"
}
