// Package walls says what the sixteen wall tests are, what a record of a run
// holds, and how a verdict follows from what was seen. It is data and pure
// functions: package probe acts from inside a sandbox, package trace reads the
// kernel's answers from outside, and session/prove runs the tests.
//
// A verdict never rests on the probe's own word. An attempt that was not seen
// to be made, whose control did not work or whose target was down is an error,
// and an error is never counted as held.
package walls
