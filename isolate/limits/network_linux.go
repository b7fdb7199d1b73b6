package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// What waits in the queues of TCP and UDP is bounded for the machine as a whole,
// over all network namespaces (net.ipv4.tcp_mem, udp_mem; tcp(7), udp(7)). Where
// that is under pressure the kernel makes every queue short, the host's too, so a
// session that brings it there ends, whatever its own limit on memory. The sum is
// told for the machine alone; whose it is shows in the number of sockets, which is
// told for each namespace.

// leastSockets is fewer than can bring that about, and more than a session with
// tests of servers has.
const leastSockets = 256

// queues is the memory of one protocol's queues.
type queues struct {
	protocol string
	pages    int64 // of the machine
	pressure int64 // from where on the kernel makes queues short; 0 is not known
	host     int64 // sockets in use in this process's network namespace
	own      int64 // and in the session's
}

// readQueues looks at root's network namespace, which is none of its own when
// it is this process's: then there is nothing to say.
func readQueues(root int) ([]queues, error) {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", root))
	if gone(err) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // as in socketUse
	}
	if err != nil {
		return nil, err
	}
	if ours, err := os.Readlink("/proc/self/ns/net"); err != nil || ours == theirs {
		return nil, err
	}
	host, err := readFile("/proc/self/net/sockstat")
	if err != nil {
		return nil, err
	}
	own, err := readFile(fmt.Sprintf("/proc/%d/net/sockstat", root))
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []queues
	for _, p := range []struct{ name, bounds string }{{"TCP", "tcp_mem"}, {"UDP", "udp_mem"}} {
		text, err := readFile("/proc/sys/net/ipv4/" + p.bounds)
		if err != nil {
			return nil, err
		}
		q := queues{protocol: p.name, pages: sockstat(host, p.name, "mem"), host: sockstat(host, p.name, "inuse"), own: sockstat(own, p.name, "inuse")}
		if f := bytes.Fields(text); len(f) == 3 {
			if q.pressure, err = strconv.ParseInt(string(f[1]), 10, 62); err != nil {
				return nil, fmt.Errorf("net.ipv4.%s: %w", p.bounds, err)
			}
		}
		out = append(out, q)
	}
	return out, nil
}

// sockstat finds a number in /proc/net/sockstat: "TCP: inuse 3 orphan 0 ...".
// What is not there is 0.
func sockstat(text []byte, protocol, key string) int64 {
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		if string(name) != protocol {
			continue
		}
		f := bytes.Fields(rest)
		for i := 0; i+1 < len(f); i += 2 {
			if string(f[i]) == key {
				n, err := strconv.ParseInt(string(f[i+1]), 10, 62)
				if err != nil {
					return 0
				}
				return n
			}
		}
	}
	return 0
}

// pressed says which protocol a session has brought under pressure, "" for none.
func pressed(all []queues) string {
	for _, q := range all {
		if q.pressure > 0 && q.pages > q.pressure && q.own >= leastSockets && q.own > q.host {
			return q.protocol
		}
	}
	return ""
}
