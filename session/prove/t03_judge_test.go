package prove

import (
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/trace"
)

func TestATargetThatWasTouchedFails(t *testing.T) {
	for _, tt := range []struct {
		name, now string
		opened    int
		want      walls.Verdict
	}{
		{"as it was", "a 1\nb 2\n", 0, walls.Held},
		{"opened", "a 1\nb 2\n", 1, walls.Failed},
		{"changed", "a 1\nb 3\n", 0, walls.Failed},
		{"gone", "a 1\n", 0, walls.Failed},
		{"more", "a 1\nb 2\nc 3\n", 0, walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeGuard("/x", "a 1\nb 2\n", tt.now, tt.opened); got.verdict != tt.want || got.evidence == "" {
				t.Errorf("got %+v, want %s with evidence", got, tt.want)
			}
		})
	}
}

func TestALockThatShowsOutsideFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer error
		own    bool
		want   walls.Verdict
	}{
		{"the host is free", nil, false, walls.Held},
		{"the host is refused", unix.EAGAIN, false, walls.Failed},
		{"the control shows", unix.EAGAIN, true, walls.Held},
		{"the control does not show", nil, true, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeHold("flock", tt.answer, tt.own); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestAnInheritedDescriptorFails(t *testing.T) {
	probed := call("fcntl", -int64(unix.EBADF), true)
	probed.Args = [6]uint64{300, unix.F_GETFD}
	there := probed
	there.Ret = 0
	below := call("openat", 9, true)
	below.Args[0] = 7
	list := call("openat", 3, true)
	list.Args[0] = 0xffffff9c // AT_FDCWD
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"closed", []trace.Call{probed, list}, walls.Held},
		{"open", []trace.Call{there, list}, walls.Failed},
		{"another one leads out", []trace.Call{probed, list, below}, walls.Failed},
		{"not tried", []trace.Call{list}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeDescriptors(300)(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestARequestInARingCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"no rings", []trace.Call{call("io_uring_setup", -int64(unix.ENOSYS), true)}, walls.Held},
		{"a request", []trace.Call{call("io_uring_setup", 3, true), call("io_uring_enter", 1, true)}, walls.Held}, // what it opened shows on the host
		{"a ring and no request", []trace.Call{call("io_uring_setup", 3, true)}, walls.Errored},
		{"bad arguments", []trace.Call{call("io_uring_setup", -int64(unix.EINVAL), true)}, walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeRing(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}
