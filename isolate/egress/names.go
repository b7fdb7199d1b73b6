package egress

import (
	"net"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// ServeNames answers lookups of names at once: no name is resolved inside, since
// the proxy does that for destinations that the policy names. Each lookup is
// written down: it tells which program went past the proxy, and where to. It
// returns when the socket is closed, by its owner or by Close.
func (p *Proxy) ServeNames(c net.PacketConn) {
	stop := p.onClose(func() { _ = c.Close() })
	defer stop()
	buf := make([]byte, maxQuery)
	var seen lookups
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return // it was closed
		}
		reply, name, ok := noSuchName(buf[:n])
		if !ok {
			continue
		}
		// It is written down before it is answered: with the answer the program may
		// end, and the session with it.
		if !seen.again(name, now()) {
			p.record(&record.Attempt{
				Time: now(), Method: "LOOKUP", Host: clip(name, 300), Reason: string(rule.NameLookup),
				Detail: "the program does not use the proxy settings; names are resolved by the proxy alone",
			})
		}
		_, _ = c.WriteTo(reply, from) // error: who asked has gone
	}
}

// lookups remembers the last names: resolvers ask for both kinds of address, and
// again when they did not like the answer.
type lookups struct {
	names [16]string
	times [16]time.Time
	next  int
}

func (l *lookups) again(name string, t time.Time) bool {
	for i, n := range l.names {
		if n == name && t.Sub(l.times[i]) < time.Second {
			return true
		}
	}
	l.names[l.next], l.times[l.next] = name, t
	l.next = (l.next + 1) % len(l.names)
	return false
}
