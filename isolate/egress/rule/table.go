package rule

import (
	"iter"
	"net/netip"
	"slices"
	"strings"
)

// Table is the policy's entries, ready to decide. It never changes once it is
// compiled, so it may be used from several goroutines.
type Table struct {
	entries []compiled
	// The entries of a host and a port, and of a wildcard's suffix and a port, in
	// the policy's order.
	exact, wild map[Authority][]int32
}

func (t *Table) add(c compiled) {
	in := t.exact
	if c.to.wild {
		in = t.wild
	}
	in[c.to.Authority] = append(in[c.to.Authority], int32(len(t.entries)))
	t.entries = append(t.entries, c)
}

// naming lists the entries that name a destination, in the policy's order. The
// list may be the table's own.
func (t *Table) naming(a Authority) []int32 { return t.overlapping(destination{Authority: a}) }

// overlapping lists the entries that name a destination, or of a wildcard's
// destinations all.
func (t *Table) overlapping(d destination) []int32 {
	var list []int32
	lists := 0
	for l := range t.lists(d) {
		if lists++; lists == 1 {
			list = l
			continue
		}
		list = slices.Concat(list, l)
	}
	if lists > 1 {
		slices.Sort(list)
	}
	return list
}

// lists yields the table's own lists of what overlaps: the destination's, and
// those of the wildcards above it.
func (t *Table) lists(d destination) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		own := t.exact
		if d.wild {
			own = t.wild
		}
		if l := own[d.Authority]; len(l) > 0 && !yield(l) || d.IP.IsValid() || len(t.wild) == 0 {
			return
		}
		for _, host, ok := strings.Cut(d.Host, "."); ok; _, host, ok = strings.Cut(host, ".") {
			l := t.wild[Authority{Host: host, Port: d.Port}]
			if len(l) > 0 && below(d.Host, host) && !yield(l) {
				return
			}
		}
	}
}

// Reach is what the policy says of a destination as a whole.
type Reach struct {
	Named  bool // an entry names it
	Opaque bool // as an opaque tunnel; then every entry that names it does
	Rule   string
	// addresses that a refused class may still have.
	addresses []netip.Prefix
}

// Reach tells whether any entry names a destination, and how.
func (t *Table) Reach(a Authority) Reach {
	var r Reach
	for _, i := range t.naming(a) {
		c := &t.entries[i]
		if !r.Named {
			r.Named, r.Opaque, r.Rule = true, c.opaque, c.Name
		}
		r.addresses = append(r.addresses, c.addresses...)
	}
	return r
}
