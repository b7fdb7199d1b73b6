package probe

// int80 makes a system call of the 32-bit ABI. A kernel without one ends the
// process (SIGSEGV).
func int80(nr, a, b, c uint32) int32

// hasInt80 says whether this machine can be asked so at all.
const hasInt80 = true
