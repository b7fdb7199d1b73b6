package supervisor

import (
	"testing"

	"fumehood/isolate"
)

func TestMemoryThatNoProcessHasIsNamed(t *testing.T) {
	for _, tt := range []struct {
		u    isolate.Usage
		want string
	}{
		{isolate.Usage{RSS: 300 << 20}, "limit memory of 200MiB reached: 300MiB used"},
		{isolate.Usage{RSS: 5 << 20, Kernel: 2 << 30}, "limit memory of 200MiB reached: 2GiB by the kernel since the session began, with the machine short of memory, and 5MiB by its processes used"},
		{isolate.Usage{RSS: 5 << 20, Pressed: "TCP"}, "limit memory of the machine's for TCP queues reached: all of it, most by this session's sockets used"},
	} {
		if got := memoryReached(tt.u, 200<<20).Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
