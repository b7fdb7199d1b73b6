package testkit

// Int80 is for x86; here it answers as a kernel without the 32-bit ABI.
func Int80(nr, a, b, c uint32) int32 { return -38 }
