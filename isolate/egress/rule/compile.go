package rule

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

type compiled struct {
	Entry
	to        destination
	opaque    bool
	ops       []operation
	query     queryRule
	addresses []netip.Prefix
}

// Compile reads the entries. The error is a *Fault.
func Compile(entries []Entry) (*Table, error) {
	t := &Table{entries: make([]compiled, 0, len(entries)), exact: map[Authority][]int32{}, wild: map[Authority][]int32{}}
	seen := make(map[string]int, len(entries))
	for i, e := range entries {
		c, f := compile(e)
		if f == nil {
			f = c.repeats(seen, i)
		}
		if f != nil {
			f.Entry = i
			return nil, f
		}
		t.add(c)
	}
	if f := t.mixed(); f != nil {
		return nil, f
	}
	return t, nil
}

func compile(e Entry) (compiled, *Fault) {
	c := compiled{Entry: e}
	var f *Fault
	if c.to, f = compileDestination(e.Destination); f != nil {
		return c, f
	}
	if c.ops, c.opaque, f = compileOperations(e.Operations); f != nil {
		return c, f
	}
	if c.query, f = compileQuery(e.Query); f != nil {
		return c, f
	}
	if c.addresses, f = compileAddresses(e.Addresses); f != nil {
		return c, f
	}
	if ip := c.to.IP; ip.IsValid() {
		// Who writes an address out means that address.
		c.addresses = append(c.addresses, netip.PrefixFrom(ip, ip.BitLen()))
	}
	return c, c.contradicts()
}

// contradicts finds what an entry asks for and can't have.
func (c *compiled) contradicts() *Fault {
	const inside = `write methods and paths in place of "CONNECT", or leave it out`
	for _, x := range []struct {
		is        bool
		key, msg  string
		otherwise string
	}{
		{c.MaxUpload < 0, "max_upload", "less than nothing", `a size, or 0 for none`},
		{c.PerMinute < 0, "requests_per_minute", "less than nothing", `a number, or 0 for none`},
		{c.opaque && c.account() != "", "account", "nothing can be attached to what an opaque tunnel carries", inside},
		{c.opaque && c.Query != "" && c.Query != "any", "query", "the queries in an opaque tunnel can't be seen", inside},
		{c.opaque && c.Upgrade, "upgrade", "an opaque tunnel carries every protocol as it is", inside},
		{c.opaque && c.MaxUpload > 0, "max_upload", "what a request uploads in an opaque tunnel can't be seen", inside},
		{c.opaque && c.PerMinute > 0, "requests_per_minute", "the requests in an opaque tunnel can't be seen", inside},
		{c.opaque && c.ReturnsSecret, "returns_secret", "the responses in an opaque tunnel can't be seen", inside},
		{c.ReturnsSecret && c.account() == "", "returns_secret", "there is no account whose secret could return", "name an account, or leave it out"},
	} {
		if x.is {
			return &Fault{Key: x.key, Msg: x.msg, Hint: x.otherwise}
		}
	}
	return nil
}

// account is the entry's account, empty for none.
func (e *Entry) account() string {
	if e.Account == "none" {
		return ""
	}
	return e.Account
}

// repeats finds an entry that says what an earlier one says: one of the two is a
// slip, and a cap on both would be no cap.
func (c *compiled) repeats(seen map[string]int, i int) *Fault {
	ops := slices.Clone(c.Operations)
	slices.Sort(ops)
	query := c.Query
	if query == "any" {
		query = ""
	}
	key := fmt.Sprintf("%v %v %q %q %q %v %d %d %v %v", c.to.Authority, c.to.wild, slices.Compact(ops), query, c.account(), c.Upgrade, c.MaxUpload, c.PerMinute, c.addresses, c.ReturnsSecret)
	if first, ok := seen[key]; ok {
		return &Fault{Key: "destination", Msg: quoted(c.Destination, fmt.Errorf("the same entry as number %d", first+1)), Hint: "leave one of them out"}
	}
	seen[key] = i
	return nil
}

// mixed finds a destination that one entry names as an opaque tunnel and another
// by its operations: the tunnel would give away what the other one limits. Of a
// wildcard and what is below it, it is found from below. Each list is compared
// with its first entry, so that many entries for one place stay cheap.
func (t *Table) mixed() *Fault {
	for i := range t.entries {
		c := &t.entries[i]
		for l := range t.lists(c.to) {
			j := l[0]
			if c.opaque == t.entries[j].opaque {
				continue
			}
			return &Fault{
				Entry: max(i, int(j)), Key: "operations",
				Msg:  quoted(c.Destination, errors.New(`one entry makes it an opaque tunnel, another names operations there`)),
				Hint: fmt.Sprintf("all entries for it as \"CONNECT\", or none: see numbers %d and %d", min(i, int(j))+1, max(i, int(j))+1),
			}
		}
	}
	return nil
}
