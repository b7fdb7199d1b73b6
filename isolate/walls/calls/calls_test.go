package calls

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNumbers(t *testing.T) {
	for name, want := range map[string]uint64{"openat": unix.SYS_OPENAT, "prctl": unix.SYS_PRCTL, "io_uring_setup": unix.SYS_IO_URING_SETUP, "fchmodat2": unix.SYS_FCHMODAT2} {
		if got, ok := Number(name); !ok || got != want {
			t.Errorf("%s: got %d, %v; want %d", name, got, ok, want)
		}
		if got, ok := Name(want); !ok || got != name {
			t.Errorf("%d: got %q, %v; want %q", want, got, ok, name)
		}
	}
	if _, ok := Number("no such call"); ok {
		t.Error("a call that is not there has a number")
	}
}

func TestEveryEntryIsUnderstood(t *testing.T) {
	if got, want := len(parsed().number), strings.Count(table, ", "); got != want {
		t.Errorf("got %d names, want %d", got, want)
	}
}
