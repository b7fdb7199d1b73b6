//go:build race

package diffreview

// slower is what the race detector costs: a bound holds for the program as it is
// shipped.
const slower = 10
