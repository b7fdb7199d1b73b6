package supervisor

import (
	"testing"

	"fumehood/isolate"
)

func TestMemoryThatTheKernelTookIsNamed(t *testing.T) {
	for _, tt := range []struct {
		u    isolate.Usage
		want string
	}{
		{isolate.Usage{RSS: 300 << 20}, "300MiB"},
		{isolate.Usage{RSS: 5 << 20, Kernel: 2 << 30}, "2GiB by the kernel since the session began, with the machine short of memory, and 5MiB by its processes"},
	} {
		if got := memoryUsed(tt.u); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
