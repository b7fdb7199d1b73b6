package policy

import (
	"fmt"
	"strings"
)

// nearest gives the advice for an unknown key: where it belongs, when it is a
// key of another table, else the known key that is nearest by edit distance,
// with a small preference for the same table.
func nearest(table, key string) string {
	best, bestScore := place{}, 1<<30
	for _, p := range places() {
		if p.key == key {
			return fmt.Sprintf("%q belongs %s", key, p.where())
		}
		score := 2 * keyDistance(key, p.key)
		if p.table != table {
			score++
		}
		if score < bestScore {
			best, bestScore = p, score
		}
	}
	for _, t := range tables() {
		if score := 2*keyDistance(key, t) + 1; score < bestScore {
			best, bestScore = place{table: t}, score
		}
	}
	return "nearest known key: " + best.name()
}

// nearestTable gives the advice for an unknown table.
func nearestTable(name string) string {
	best, bestScore := "", 1<<30
	for _, t := range tables() {
		if score := keyDistance(name, t); score < bestScore {
			best, bestScore = t, score
		}
	}
	for _, p := range places() {
		if p.key == name && p.table == "" {
			return fmt.Sprintf("%q is a key at the top, not a table", name)
		}
		if p.key == name {
			return fmt.Sprintf("%q belongs %s", name, p.where())
		}
	}
	return "nearest known table: " + header(best)
}

// name names a key with its table; with no key, the table.
func (p place) name() string {
	switch {
	case p.key == "":
		return header(p.table)
	case p.table == "":
		return fmt.Sprintf("%q", p.key)
	}
	return fmt.Sprintf("%q in %s", p.key, header(p.table))
}

func (p place) where() string {
	if p.table == "" {
		return "at the top of the file, before any [table]"
	}
	return "in " + header(p.table)
}

func header(table string) string {
	if table == "network" {
		table = "network.allow"
	}
	if table == "network.allow" || table == "credentials" {
		return "[[" + table + "]]"
	}
	return "[" + table + "]"
}

// keyDistance is the edit distance of a key to a known key or table (of a
// dotted one its last part), made small where a word of one begins with the
// other ("allowed_host" and "allow"), since then letters were not mistyped but
// words added.
func keyDistance(key, known string) int {
	if len(key) > maxText {
		key = key[:maxText]
	}
	key, known = strings.ToLower(key), known[strings.LastIndexByte(known, '.')+1:]
	d := editDistance(key, known)
	if extends(key, known) || extends(known, key) {
		d = min(d, 2)
	}
	return d
}

// extends tells whether a word of long begins with short.
func extends(long, short string) bool {
	if len(short) < 3 {
		return false
	}
	for _, word := range strings.FieldsFunc(long, func(r rune) bool { return r == '_' || r == '-' }) {
		if strings.HasPrefix(word, short) {
			return true
		}
	}
	return strings.HasPrefix(long, short)
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours that turn one text into the other.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
