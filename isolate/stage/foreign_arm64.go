package stage

// foreignCall needs a program of the 32-bit ABI here, which Go can't be at once.
func foreignCall() bool { return false }
