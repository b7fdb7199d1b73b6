package prove

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/trace"
)

func TestWhatAnotherLeftMustBeAbsent(t *testing.T) {
	absent := []syscall.Errno{unix.ENOENT}
	enoent := []trace.Call{call("shmget", -int64(unix.ENOENT), true)}
	for _, tt := range []struct {
		name    string
		calls   []trace.Call
		why     string
		blocked bool
		want    walls.Verdict
	}{
		{"absent", enoent, "", false, walls.Held},
		{"found", []trace.Call{call("shmget", 5, true)}, "", false, walls.Failed},
		{"found although it was said not to be left", []trace.Call{call("shmget", 5, true)}, "the kernel returned EACCES", false, walls.Failed},
		{"nothing was left to be found", enoent, "the kernel returned EACCES", false, walls.NA},
		{"whether it was left is not known", enoent, "it was not tried", false, walls.Errored},
		{"the search fails", []trace.Call{call("shmget", -int64(unix.EFAULT), true)}, "", false, walls.Errored},
		{"no such thing inside", []trace.Call{call("shmget", -int64(unix.ENOSYS), true)}, "", true, walls.Held},
		{"not tried", nil, "", false, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judgeFind("shmget", absent, tt.why, tt.blocked, &seen{traced: true, seg: &trace.Segment{Calls: tt.calls}})
			if got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestTheControlOfASearchFindsItsOwn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"found", []trace.Call{call("shmget", 5, true), call("shmget", 5, true)}, walls.Held},
		{"made and not found", []trace.Call{call("shmget", 5, true), call("shmget", -int64(unix.ENOENT), true)}, walls.Errored},
		{"can't be made", []trace.Call{call("shmget", -int64(unix.ENOSYS), true), call("shmget", -int64(unix.ENOSYS), true)}, walls.Held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeOwn("shmget", "shmget", &seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestAKeyAmongTheHostsOwnFails(t *testing.T) {
	const text = "       key      shmid perms\n      4711      65536   666\n"
	if got := judgeTable("shm", text, 4711); got.verdict != walls.Failed {
		t.Errorf("got %+v, want failed", got)
	}
	if got := judgeTable("shm", text, 65536); got.verdict != walls.Held {
		t.Errorf("got %+v, want held", got)
	}
}
