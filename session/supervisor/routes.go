package supervisor

import (
	"strconv"
	"strings"
)

// noRoutes reads from /proc/PID/net/snmp and snmp6 how often a process of that
// network namespace asked for a place that no route leads to (OutNoRoutes, of
// connections and datagrams alike).
func noRoutes(snmp, snmp6 string) (int64, bool) {
	v4, ok4 := column(snmp, "Ip:", "OutNoRoutes")
	v6, ok6 := row(snmp6, "Ip6OutNoRoutes")
	return v4 + v6, ok4 || ok6
}

// column is a value of a table with a line of names and a line of values, both
// under the same word.
func column(text, word, name string) (int64, bool) {
	at := -1
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != word {
			continue
		}
		if at < 0 {
			for i, f := range fields {
				if f == name {
					at = i
				}
			}
			continue
		}
		if at >= len(fields) {
			return 0, false
		}
		n, err := strconv.ParseInt(fields[at], 10, 64)
		return n, err == nil
	}
	return 0, false
}

// row is a value of a table of a name and a value in each line.
func row(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
