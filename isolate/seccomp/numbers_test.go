package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers of this build's machine, against those of x/sys; one row per
// group of the table.
func TestNumbersOfThisMachine(t *testing.T) {
	for call, want := range map[string]uint32{
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "setns": unix.SYS_SETNS, "ptrace": unix.SYS_PTRACE,
		"bpf": unix.SYS_BPF, "io_uring_setup": unix.SYS_IO_URING_SETUP, "keyctl": unix.SYS_KEYCTL,
		"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "reboot": unix.SYS_REBOOT, "clone3": unix.SYS_CLONE3,
		"sched_setaffinity": unix.SYS_SCHED_SETAFFINITY, "mbind": unix.SYS_MBIND, "ioctl": unix.SYS_IOCTL,
		"socket": unix.SYS_SOCKET, "sendmmsg": unix.SYS_SENDMMSG, "shmget": unix.SYS_SHMGET, "listns": unix.SYS_LISTNS,
	} {
		if got := Native().Calls[call]; got != want {
			t.Errorf("%s: got %d, want %d", call, got, want)
		}
	}
	if got := Native().Highest; got < unix.SYS_RSEQ_SLICE_YIELD {
		t.Errorf("the highest known is %d, x/sys knows %d", got, unix.SYS_RSEQ_SLICE_YIELD)
	}
}
