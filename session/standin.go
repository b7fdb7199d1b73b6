package session

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
)

// StandIn has destinations of the policy stood in for by servers of the wall
// tests on this machine, and real credentials by made-up ones, so that a test
// sends nothing beyond the machine. Only session/prove makes one; no policy, no
// file and no variable can.
type StandIn struct {
	// To sends a destination (host:port), or an address that a name led to
	// (address:port), to a server of the tests. What is not in it is not reached.
	To      map[string]string `json:"to"`
	Roots   []byte            `json:"roots"`   // PEM
	Secrets map[string]string `json:"secrets"` // by account
	// Names is what a host's lookups are answered, one after the other; the last
	// answer stays. A host that is not in it has no address.
	Names map[string][][]string `json:"names,omitempty"`
	// Omit is a part of the proxy that is left out (egress.Part), which shows
	// that the tests would miss it.
	Omit string `json:"omit,omitempty"`
}

// Resolver answers lookups as Names says, and asks nobody.
func (s *StandIn) Resolver() func(context.Context, string) ([]netip.Addr, error) {
	var mu sync.Mutex
	turn := map[string]int{}
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		answers := s.Names[host]
		if len(answers) == 0 {
			return nil, fmt.Errorf("%q stands for nothing", host)
		}
		n := min(turn[host], len(answers)-1)
		turn[host]++
		var out []netip.Addr
		for _, a := range answers[n] {
			ip, err := netip.ParseAddr(a)
			if err != nil {
				return nil, fmt.Errorf("what %q stands for: %w", host, err)
			}
			out = append(out, ip)
		}
		return out, nil
	}
}
