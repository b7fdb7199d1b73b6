package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// host is what words of a policy stand for on one machine.
type host struct {
	RAM  Bytes // what "half" halves
	CPUs int   // what "all but one" counts
}

// Parse reads a policy file, strictly: an unknown key or word, a wrong type, a
// key in the wrong table are errors with line, column and the nearest known
// key. Keys that the file leaves out have the values of the built-in default;
// a file without any key is an error, since it more likely is a mistake than a
// wish. The error is an *Error, or Errors when there are several; errors.As
// finds an *Error in both. At most 64 KiB. Parse does not say whether the
// walls that the policy asks for exist: Check does.
func Parse(file string, src []byte) (*Policy, error) {
	h := thisHost()
	return parseOnto(defaults(h), file, src, h)
}

// parseOnto sets what the file says on p.
func parseOnto(p *Policy, file string, src []byte, h host) (*Policy, error) {
	doc, at, err := readTOML(file, src)
	if err != nil {
		return nil, err
	}
	if len(doc) == 0 {
		return nil, &Error{
			File: file, Msg: "the policy file is empty",
			Hint: `"fumehood policy init" writes one with every key`,
		}
	}
	p.Name = file
	d := decoder{file: file, at: at, host: h, near: map[*Error]func() string{}}
	d.top(p, doc)
	d.advise()
	if err := join(d.faults); err != nil {
		return nil, err
	}
	return p, nil
}

// readTOML reads the syntax: the values, and where each key stands.
func readTOML(file string, src []byte) (map[string]any, positions, error) {
	fault := func(offset int, msg, hint string) error {
		line, col := lineCol(src, offset)
		return &Error{File: file, Line: line, Col: col, Msg: msg, Hint: hint}
	}
	switch {
	case len(src) > maxFile:
		return nil, nil, &Error{File: file, Msg: fmt.Sprintf("%d bytes: over the limit of 64KiB", len(src))}
	case !utf8.Valid(src):
		return nil, nil, fault(invalidAt(src), "not UTF-8", "a policy file is plain text in UTF-8")
	case bytes.HasPrefix(src, []byte("\ufeff")):
		return nil, nil, fault(0, "begins with a byte order mark", "save it as UTF-8 without a byte order mark")
	}
	if at := tooDeep(src); at >= 0 {
		return nil, nil, fault(at, fmt.Sprintf("nested deeper than %d", maxDepth), "")
	}
	doc := map[string]any{}
	if err := toml.Unmarshal(src, &doc); err != nil {
		return nil, nil, syntaxError(file, err)
	}
	return doc, findPositions(src), nil
}

// syntaxError turns the TOML reader's error into ours.
func syntaxError(file string, err error) *Error {
	e := &Error{File: file, Msg: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, e.Col = at.Position()
		e.Key = strings.Join(at.Key(), ".")
	}
	return e
}

// invalidAt is the offset of the first byte that is not UTF-8.
func invalidAt(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(src)
}

// tooDeep looks for brackets and dots nested beyond what any policy needs,
// before the TOML reader recurses on them. It counts inside text as well: a
// text with that many unbalanced brackets has no place in a policy. It gives
// the offset, or -1.
func tooDeep(src []byte) int {
	depth, dots := 0, 0
	for i, c := range src {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '.':
			dots++
		case '\n':
			dots = 0
		}
		if depth > maxDepth || dots > maxText {
			return i
		}
	}
	return -1
}

// decoder sets values and collects every fault, so that an engineer sees all
// of them at once.
type decoder struct {
	file   string
	at     positions
	host   host
	faults []*Error
	near   map[*Error]func() string // of an unknown key: finds the nearest one
}

func (d *decoder) fault(path, msg, hint string) {
	pos := d.at[path]
	d.faults = append(d.faults, &Error{
		File: d.file, Line: pos.line, Col: pos.col, Key: safeKey(path), Msg: msg, Hint: hint,
	})
}

// unknown is fault for a key that there is not.
func (d *decoder) unknown(path, what string, near func() string) {
	d.fault(path, what, "")
	d.near[d.faults[len(d.faults)-1]] = near
}

// advise finds the nearest known keys for those faults that are told. A file can
// hold thousands of unknown ones, and each search costs.
func (d *decoder) advise() {
	sortFaults(d.faults)
	for _, e := range d.faults[:min(len(d.faults), maxFaults)] {
		if near := d.near[e]; near != nil {
			e.Hint = near()
		}
	}
}

func (d *decoder) top(p *Policy, doc map[string]any) {
	for key, value := range doc {
		switch {
		case key == "network":
			d.network(p, value)
		case key == "credentials":
			p.Credentials = entries(d, key, value, credentialFields(), Credential{})
		case isTable(key):
			table, ok := value.(map[string]any)
			if !ok {
				d.fault(key, "is a table, not "+typeName(value), fmt.Sprintf("write [%s] and its keys below", key))
				continue
			}
			for k, v := range table {
				set(d, p, fields(), key, k, join2(key, k), v)
			}
		default:
			if _, ok := value.(map[string]any); ok {
				d.unknown(key, "unknown table", func() string { return nearestTable(key) })
				continue
			}
			set(d, p, fields(), "", key, key, value)
		}
	}
}

func (d *decoder) network(p *Policy, value any) {
	table, ok := value.(map[string]any)
	if !ok {
		d.fault("network", "is a table, not "+typeName(value), "write [[network.allow]] and its keys below")
		return
	}
	for k, v := range table {
		if k != "allow" {
			d.unknown(join2("network", k), "unknown key", func() string { return nearest("network", k) })
			continue
		}
		p.Network.Allow = entries(d, "network.allow", v, allowFields(), blankAllow())
	}
}

// entries reads an array of tables; blank is an entry with its defaults.
func entries[T any](d *decoder, path string, value any, known []field[T], blank T) []T {
	list, ok := value.([]any)
	if !ok {
		d.fault(path, "is a list of tables, not "+typeName(value), fmt.Sprintf("write [[%s]], with two brackets", path))
		return nil
	}
	if len(list) > maxEntries {
		d.fault(path, fmt.Sprintf("%d entries: over the limit of %d", len(list), maxEntries), "")
		return nil
	}
	var all []T
	for i, one := range list {
		here := fmt.Sprintf("%s[%d]", path, i)
		table, ok := one.(map[string]any)
		if !ok {
			d.fault(here, "is a table, not "+typeName(one), fmt.Sprintf("write [[%s]], with two brackets", path))
			continue
		}
		entry := blank
		for k, v := range table {
			set(d, &entry, known, path, k, join2(here, k), v)
		}
		all = append(all, entry)
	}
	return all
}

// set finds the key among the known ones and sets its value.
func set[T any](d *decoder, into *T, known []field[T], table, key, path string, value any) {
	for _, f := range known {
		if f.table != table || f.key != key {
			continue
		}
		c := constraint{words: f.words, date: f.date, none: f.none, half: path == "limits.memory", cpus: path == "limits.cpus", host: d.host}
		if msg, hint := c.set(f.at(into), value); msg != "" {
			d.fault(path, msg, hint)
		}
		return
	}
	d.unknown(path, "unknown key", func() string { return nearest(table, key) })
}

func join2(table, key string) string { return table + "." + key }

func isTable(name string) bool {
	for _, t := range tables() {
		if t == name {
			return true
		}
	}
	return false
}

// safeKey quotes a key that a terminal would act on.
func safeKey(path string) string {
	const most = 80
	if len(path) > most {
		path = strings.ToValidUTF8(path[:most], "") + "..."
	}
	return quoteFile(path)
}
