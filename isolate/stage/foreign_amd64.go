package stage

func int80(nr uint32) int32

// foreignCall asks for the process number by the 32-bit ABI. It is only for a
// kernel that has that ABI: another ends the process.
func foreignCall() bool {
	const getpid = 20
	return int80(getpid) > 0
}
