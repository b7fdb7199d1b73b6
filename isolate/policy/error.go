package policy

import (
	"fmt"
	"sort"
	"strings"
)

// Error says where the fault is, and what it is. The advice in Hint is kept
// apart, for the line below.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(quoteFile(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Msg
}

// quoteFile quotes a file name only when it holds something that a terminal
// would act on or that would hide where the name ends.
func quoteFile(name string) string {
	if q := fmt.Sprintf("%q", name); q[1:len(q)-1] != name {
		return q
	}
	return name
}

// Errors is every fault of one file, in the order of the file. It has at least
// one; errors.As finds the first.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the faults one by one.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// maxFaults is how many faults of one file are told.
const maxFaults = 50

// join makes one error of faults: nil of none, the fault itself of one.
func join(faults []*Error) error {
	sortFaults(faults)
	if n := len(faults) - maxFaults; n > 0 {
		faults = append(faults[:maxFaults:maxFaults], &Error{File: faults[0].File, Msg: fmt.Sprintf("%d more faults", n)})
	}
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	return Errors(faults)
}

// sortFaults brings faults into the order of the file.
func sortFaults(faults []*Error) {
	sort.SliceStable(faults, func(i, j int) bool {
		if faults[i].Line != faults[j].Line {
			return faults[i].Line < faults[j].Line
		}
		return faults[i].Col < faults[j].Col
	})
}
