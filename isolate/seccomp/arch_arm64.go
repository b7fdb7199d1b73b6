package seccomp

// Native is the ABI of this build.
func Native() Arch { return ARM() }
