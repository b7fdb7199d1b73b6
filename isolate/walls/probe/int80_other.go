//go:build !amd64

package probe

// hasInt80 is for x86: no other machine's program can change its ABI by a call.
const hasInt80 = false

func int80(_, _, _, _ uint32) int32 { return 0 }
