package isolate

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
)

// A command may have taken the spawner over: what it reports is believed only
// where it was asked for and can be true.
func TestHostileReports(t *testing.T) {
	null := func(t *testing.T) []int {
		t.Helper()
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return []int{fd}
	}
	none := func(*testing.T) []int { return nil }
	started := &plan.Started{PID: 7}
	tests := []struct {
		name string
		tty  bool
		pid  int
		msg  plan.FromSpawner
		fds  func(*testing.T) []int
		want string // "" when it is taken
	}{
		{name: "started", msg: plan.FromSpawner{ID: 1, Started: started}, fds: none},
		{name: "refused", msg: plan.FromSpawner{ID: 1, Started: &plan.Started{Code: 127, Err: "x"}}, fds: none},
		{name: "ended", pid: 7, msg: plan.FromSpawner{ID: 1, Ended: &plan.Ended{Code: 3}}, fds: none},
		{name: "unknown process", msg: plan.FromSpawner{ID: 2, Started: started}, fds: none, want: "not awaited"},
		{name: "nothing", msg: plan.FromSpawner{ID: 1}, fds: none, want: "out of order"},
		{name: "started twice", pid: 7, msg: plan.FromSpawner{ID: 1, Started: started}, fds: none, want: "out of order"},
		{name: "ended before it started", msg: plan.FromSpawner{ID: 1, Ended: &plan.Ended{}}, fds: none, want: "out of order"},
		{name: "both at once", msg: plan.FromSpawner{ID: 1, Started: started, Ended: &plan.Ended{}}, fds: none, want: "out of order"},
		{name: "a canary too late", msg: plan.FromSpawner{ID: 1, Canary: &plan.CanaryTold{}}, fds: none, want: "out of order"},
		{name: "status too high", pid: 7, msg: plan.FromSpawner{ID: 1, Ended: &plan.Ended{Code: 256}}, fds: none, want: "can't be"},
		{name: "negative signal", pid: 7, msg: plan.FromSpawner{ID: 1, Ended: &plan.Ended{Signal: -1}}, fds: none, want: "can't be"},
		{name: "refused as ours", msg: plan.FromSpawner{ID: 1, Started: &plan.Started{Code: 125, Err: "x"}}, fds: none, want: "without code"},
		{name: "refused without a reason", msg: plan.FromSpawner{ID: 1, Started: &plan.Started{Code: 126}}, fds: none, want: "without code"},
		{name: "a descriptor unasked", msg: plan.FromSpawner{ID: 1, Started: started}, fds: null, want: "not asked for"},
		{name: "no pty", tty: true, msg: plan.FromSpawner{ID: 1, Started: started}, fds: none, want: "want a pty's"},
		{name: "something else as pty", tty: true, msg: plan.FromSpawner{ID: 1, Started: started}, fds: null, want: "no pty's master"},
		{name: "a descriptor at the end", pid: 7, msg: plan.FromSpawner{ID: 1, Ended: &plan.Ended{}}, fds: null, want: "out of order"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &Process{tty: tt.tty, pid: tt.pid, started: make(chan struct{}), done: make(chan struct{})}
			s := &Sandbox{procs: map[uint64]*Process{1: p}}
			fds := tt.fds(t)
			err := s.report(tt.msg, fds)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			for _, fd := range fds {
				if _, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && tt.want != "" {
					t.Errorf("descriptor %d of a refused report is open", fd)
				}
			}
		})
	}
}
