// Package trace is the wall tests' witness inside the kernel: it attaches to a
// probe from outside by ptrace and writes down each system call that the probe
// makes between two of its marks, with the value that the kernel returned. The
// probe can't change what is written, only what it calls.
//
// One locked thread owns all tracees (ptrace(2): only the attaching thread may
// ask for anything). When it ends, for whatever reason, the kernel ends them.
//
// What this does not cover: system calls that are made outside the probe's own
// processes, and what a call does after it returned.
package trace
