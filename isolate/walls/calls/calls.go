// Package calls names every system call of this machine's own ABI, for probe and
// tracer; the filter's table has only those that it refuses. It is parsed when
// first asked, since every start of the program would pay for a map.
package calls

import (
	"strconv"
	"strings"
	"sync"
)

type names struct {
	number map[string]uint64
	name   map[uint64]string
}

var parsed = sync.OnceValue(func() names {
	n := names{map[string]uint64{}, map[uint64]string{}}
	for _, entry := range strings.Split(strings.TrimSuffix(table, ", "), ", ") {
		name, text, _ := strings.Cut(entry, " ")
		nr, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			continue // a test sees that there is none
		}
		n.number[name], n.name[nr] = nr, name
	}
	return n
})

// Number is a call's number; ok is false for one that this machine lacks.
func Number(name string) (nr uint64, ok bool) {
	nr, ok = parsed().number[name]
	return nr, ok
}

// Name is the name of a call's number; ok is false for an unknown one.
func Name(nr uint64) (name string, ok bool) {
	name, ok = parsed().name[nr]
	return name, ok
}

// Highest is the highest number that is known.
func Highest() uint64 {
	var most uint64
	for nr := range parsed().name {
		most = max(most, nr)
	}
	return most
}
