//go:build race

package review

// slower is what the race detector costs: a budget holds for the program as it
// is shipped.
const slower = 10
