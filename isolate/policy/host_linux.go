package policy

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// thisHost reads what the words of a policy stand for on this machine. It is
// read once: a policy must not mean two things in one process.
var thisHost = sync.OnceValue(func() host {
	h := host{CPUs: runtime.NumCPU()} // of the affinity, not of the machine
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		// A small bound, since "half" must never come to mean "no limit".
		h.RAM = 4 << 30
		return h
	}
	h.RAM = Bytes(uint64(s.Totalram) * uint64(s.Unit))
	return h
})
