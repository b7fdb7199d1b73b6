package prove

import (
	"testing"

	"fumehood/isolate/walls"
)

func TestAnEndIsJudgedByWhatIsLeft(t *testing.T) {
	good := lifetime{processes: 5, wakeups: 4, stopped: true, state: "stopped", says: []string{"stopped"}}
	change := func(f func(*lifetime)) lifetime { l := good; f(&l); return l }
	for _, tt := range []struct {
		name string
		in   lifetime
		want walls.Verdict
	}{
		{"all gone", good, walls.Held},
		{"without a record to read", change(func(l *lifetime) { l.says, l.state = nil, "" }), walls.Held},
		{"the daemon never ticked", change(func(l *lifetime) { l.wakeups = 1 }), walls.Errored},
		{"the stopped child was not there", change(func(l *lifetime) { l.stopped = false }), walls.Errored},
		{"a process outlives it", change(func(l *lifetime) { l.alive = []string{"process 7"} }), walls.Failed},
		{"a socket is left", change(func(l *lifetime) { l.left = []string{"socket"} }), walls.Failed},
		{"the workspace is gone", change(func(l *lifetime) { l.workgone = "no such file" }), walls.Failed},
		{"the record says something else", change(func(l *lifetime) { l.state = "running" }), walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := outlived(tt.in); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}
