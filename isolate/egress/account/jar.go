package account

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
)

// Jar remembers which cookies a destination set in this session: those are not
// foreign there, and every other is. A cookie counts for the very host that set
// it, whatever Domain it names: a host may name one that others share with it,
// and would lend them a foreign account. Only hashes are kept.
type Jar struct {
	salt [32]byte

	mu    sync.Mutex
	hosts map[string]*cookies
	order []string // hosts, the oldest first
}

type cookies struct {
	set  map[[16]byte]bool
	ring [maxCookies][16]byte
	next int
}

// Bounds of what destinations can make a jar hold: 8 KiB a host. What falls out
// is the oldest, and foreign from then on.
const (
	maxHosts     = 128
	maxCookies   = 256
	maxSetCookie = 64 // of one answer
	maxPairs     = 256
)

// NewJar makes an empty one.
func NewJar() (*Jar, error) {
	j := &Jar{hosts: map[string]*cookies{}}
	if _, err := rand.Read(j.salt[:]); err != nil {
		return nil, err
	}
	return j, nil
}

// Learn notes what an answer of a host sets, by its Set-Cookie headers as they
// go inside.
func (j *Jar) Learn(host string, setCookie []string) {
	host = strings.ToLower(host)
	for i, v := range setCookie {
		pair, _, _ := strings.Cut(v, ";")
		if pair = strings.TrimSpace(pair); i >= maxSetCookie || !strings.Contains(pair, "=") {
			continue
		}
		j.learn(host, j.hash(host, pair))
	}
}

func (j *Jar) learn(host string, h [16]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.hosts[host]
	if c == nil {
		if len(j.order) == maxHosts {
			delete(j.hosts, j.order[0])
			j.order = j.order[1:]
		}
		c = &cookies{set: map[[16]byte]bool{}}
		j.hosts[host], j.order = c, append(j.order, host)
	}
	if c.set[h] {
		return
	}
	delete(c.set, c.ring[c.next])
	c.ring[c.next], c.set[h] = h, true
	c.next = (c.next + 1) % maxCookies
}

// Foreign says that a Cookie header, or one pair of it, has a cookie that the
// host did not set in this session.
func (j *Jar) Foreign(host, cookieHeader string) bool {
	host = strings.ToLower(host)
	list := pairs(cookieHeader)
	if len(list) > maxPairs {
		return true
	}
	for _, pair := range list {
		h := j.hash(host, pair)
		j.mu.Lock()
		known := j.hosts[host] != nil && j.hosts[host].set[h]
		j.mu.Unlock()
		if !known {
			return true
		}
	}
	return false
}

// pairs are the cookies of a header (RFC 6265, 4.2.1).
func pairs(cookieHeader string) []string {
	var out []string
	for _, p := range strings.Split(cookieHeader, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func (j *Jar) hash(host, pair string) [16]byte {
	h := sha256.New()
	_, _ = h.Write(j.salt[:]) // a hash never fails
	_, _ = h.Write([]byte(host + "\x00" + pair))
	return [16]byte(h.Sum(nil))
}
