package testkit

func int80(nr, a, b, c uint32) int32

// Int80 makes a system call of the 32-bit ABI. It ends the process on a kernel
// without one.
func Int80(nr, a, b, c uint32) int32 { return int80(nr, a, b, c) }
