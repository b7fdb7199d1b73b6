// Package seccomp owns the system call filter: a table of what is refused, each
// row with its errno and its reason, and the compiler that turns it into BPF.
// What the table does not name is allowed, except numbers above the highest
// known at build and every call of a foreign ABI. It loads nothing; the package load
// below it does.
//
// What this does not cover: a filter sees registers, not memory. Flags that a
// call takes in a struct can't be judged, so such a call is refused whole where
// that matters (clone3) or left to the other layers.
package seccomp
