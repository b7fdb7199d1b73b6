package seccomp

// Arch is one machine's system call ABI.
type Arch struct {
	Name string
	// Audit is what seccomp_data.arch says for a native call.
	Audit uint32
	// Highest is the highest number known. What a newer kernel adds above it
	// has not been looked at, so it does not exist inside.
	Highest uint32
	// X32 is true where bit 30 of a number selects a second ABI.
	X32   bool
	Calls map[string]uint32
}

// X86 is the 64-bit ABI of x86.
func X86() Arch {
	return Arch{Name: "x86_64", Audit: 0xc000003e, Highest: 471, X32: true, Calls: x86Calls}
}

// ARM is the 64-bit ABI of ARM.
func ARM() Arch {
	return Arch{Name: "aarch64", Audit: 0xc00000b7, Highest: 471, Calls: armCalls}
}
