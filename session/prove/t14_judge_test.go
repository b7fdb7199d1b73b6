package prove

import (
	"context"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/policy"
	"fumehood/isolate/seccomp"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// noRoom is a sandbox in which nothing happens.
type noRoom struct{}

func (noRoom) probe(context.Context, probe.Job, how) (*ran, error)    { return &ran{}, nil }
func (noRoom) workspace() (host, inside string)                       { return "/w", "/w" }
func (noRoom) home() string                                           { return "/h" }
func (noRoom) first() int                                             { return 0 }
func (noRoom) close(context.Context) error                            { return nil }
func (noRoom) kind() kind                                             { return bare }
func (noRoom) open(context.Context, *policy.Policy) (r room, e error) { return noRoom{}, nil }

// What was not seen to be tried is an error, whatever the attempt.
func TestWhatWasNotTriedIsNeitherHeldNorFailed(t *testing.T) {
	e := &env{target: noRoom{}, id: "id", dir: t.TempDir()}
	n := &otherName{e: e, rm: noRoom{}, dir: e.dir, host: "/w", inside: "/w"}
	l := &leavings{e: e, left: map[string]string{}, alive: map[string]int{}, places: []lair{{name: "/tmp"}, {}}}
	list := append(permittedRows(), e.gainRows(noRoom{})...)
	list = append(list, e.terminalRows()...)
	list = append(list, e.victimRows(noRoom{}, &victim{pid: 1 << 22})...)
	list = append(list, n.linkRows()...)
	list = append(list, n.descriptorRows(300)...)
	list = append(list, l.look(noRoom{}, noRoom{}, "one", "next")...)
	for _, r := range list {
		for _, s := range []seen{
			{traced: true}, {traced: true, seg: &trace.Segment{}}, {traced: true, seg: &trace.Segment{Signal: unix.SIGKILL}, died: "signal killed"}, {}, {said: &probe.Said{Err: "no"}},
		} {
			s.row = &r
			if got := r.judge(&s); got.verdict != walls.Errored {
				t.Errorf("%s: got %+v of %+v, want an error", r.id, got, s)
			}
		}
	}
}

func native(nr uint64, ret int64, args ...uint64) trace.Call {
	c := trace.Call{Arch: seccomp.Native().Audit, Nr: nr, Ret: ret, Returned: true}
	copy(c.Args[:], args)
	return c
}

func TestASweptCallThatReachesTheKernelFails(t *testing.T) {
	one := dangerous{seccomp.Native().Audit, 999, [6]uint64{7}, unix.EPERM}
	two := dangerous{seccomp.Native().Audit, 998, [6]uint64{}, unix.ENOSYS}
	seg := func(calls ...trace.Call) *trace.Segment { return &trace.Segment{Calls: calls} }
	refusal, fault, absent := -int64(unix.EPERM), -int64(unix.EFAULT), -int64(unix.ENOSYS)
	free := seg(native(999, fault, 7), native(998, fault))
	for _, tt := range []struct {
		name    string
		in, out *trace.Segment
		another bool
		want    walls.Verdict
	}{
		{"refused by the rows", seg(native(999, refusal, 7), native(998, absent)), free, false, walls.Held},
		{"one reached", seg(native(999, fault, 7), native(998, absent)), free, false, walls.Failed},
		{"one worked", seg(native(999, refusal, 7), native(998, 0)), free, false, walls.Failed},
		{"with other arguments it is another call", seg(native(999, refusal, 8), native(998, absent)), free, false, walls.Errored},
		{"one was not made", seg(native(999, refusal, 7)), free, false, walls.Errored},
		{"another errno than the row's", seg(native(999, absent, 7), native(998, absent)), free, false, walls.Failed},
		{"another's filter refuses its own way", seg(native(999, absent, 7), native(998, refusal)), free, true, walls.Held},
		{"outside the same", seg(native(999, refusal, 7), native(998, absent)), seg(native(999, refusal, 7), native(998, absent)), false, walls.NA},
		{"not made outside", seg(native(999, refusal, 7), native(998, absent)), nil, false, walls.NA},
		{"no such ABI", nil, &trace.Segment{Signal: unix.SIGSEGV}, false, walls.NA},
		{"no filter, and the kernel lacks the call", seg(native(999, absent, 7), native(998, absent)), seg(native(999, absent, 7), native(998, absent)), false, walls.NA},
		{"ended by the filter", &trace.Segment{Signal: unix.SIGSYS}, free, true, walls.Held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judgeSweep([]dangerous{one, two}, tt.out, tt.another)(&seen{traced: true, seg: tt.in})
			if got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestEachGroupOfTheFilterIsSwept(t *testing.T) {
	for _, tr := range seccomp.Trials() {
		list := groupCalls(tr.Group)
		if len(list) < 2 || list[0].args != tr.Args {
			t.Errorf("%s: got %d calls that begin with %x, want its trial and its rows", tr.Group, len(list), list[0].args)
		}
	}
	for _, list := range [][]dangerous{unknownCalls(), x32Calls()} {
		for _, d := range list {
			if d.errno != unix.ENOSYS || d.nr <= uint64(seccomp.Native().Highest) {
				t.Errorf("got number %d with %v, want one above the highest known, with ENOSYS", d.nr, d.errno)
			}
		}
	}
}

func TestAChainFailsOnlyAtItsEnd(t *testing.T) {
	judge := judgeRefusedAt([]syscall.Errno{unix.ESRCH}, "pidfd_open", "pidfd_send_signal")
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"absent at once", []trace.Call{call("pidfd_open", -int64(unix.ESRCH), true)}, walls.Held},
		{"refused in the end", []trace.Call{call("pidfd_open", 3, true), call("pidfd_send_signal", -int64(unix.ESRCH), true)}, walls.Held},
		{"not carried on", []trace.Call{call("pidfd_open", 3, true)}, walls.Errored},
		{"sent", []trace.Call{call("pidfd_open", 3, true), call("pidfd_send_signal", 0, true)}, walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestTerminalRequestsAreRefusedOneByOne(t *testing.T) {
	ioctl := func(request uint64, e syscall.Errno) trace.Call {
		c := call("ioctl", -int64(e), true)
		c.Args[1] = request
		return c
	}
	high := uint64(probe.TypeRequest | probe.HighBit)
	judge := judgeIoctl([]uint64{probe.TypeRequest, high}, false)
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"both refused", []trace.Call{ioctl(probe.TypeRequest, unix.EPERM), ioctl(high, unix.EPERM)}, walls.Held},
		{"the high bit passes", []trace.Call{ioctl(probe.TypeRequest, unix.EPERM), ioctl(high, unix.EIO)}, walls.Failed},
		{"typed", []trace.Call{ioctl(probe.TypeRequest, 0), ioctl(high, 0)}, walls.Failed},
		{"one was not tried", []trace.Call{ioctl(probe.TypeRequest, unix.EPERM)}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestANamespaceThatIsMadeFails(t *testing.T) {
	clone := func(flags uint64, ret int64) trace.Call {
		c := call("clone", ret, true)
		c.Args[0] = flags
		return c
	}
	judge := judgeClone(unix.CLONE_NEWUSER, unix.EPERM)
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"refused", []trace.Call{clone(0, 9), clone(unix.CLONE_NEWUSER, -int64(unix.EPERM))}, walls.Held},
		{"made", []trace.Call{clone(unix.CLONE_NEWUSER, 9)}, walls.Failed},
		{"refused by a number of namespaces alone", []trace.Call{clone(unix.CLONE_NEWUSER, -int64(unix.ENOSPC))}, walls.Failed},
		{"only an ordinary child", []trace.Call{clone(0, 9)}, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judge(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestACopyThatRunsAsAnotherFails(t *testing.T) {
	id := func(tid int, uid int64) trace.Call {
		c := call("geteuid", uid, true)
		c.TID = tid
		return c
	}
	chmod := call("chmod", 0, true)
	for _, tt := range []struct {
		name  string
		calls []trace.Call
		want  walls.Verdict
	}{
		{"the same id", []trace.Call{chmod, id(1, 1001), id(2, 1001)}, walls.Held},
		{"another id", []trace.Call{chmod, id(1, 1001), id(2, 0)}, walls.Failed},
		{"it never ran", []trace.Call{chmod, id(1, 1001)}, walls.Errored},
		{"chmod refused", []trace.Call{call("chmod", -int64(unix.EPERM), true)}, walls.Held},
		{"nowhere to write", []trace.Call{call("openat", -int64(unix.EROFS), true)}, walls.Held},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeIDs(&seen{traced: true, seg: &trace.Segment{Calls: tt.calls}}); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestOnlyThisBuildsFilterIsRecognised(t *testing.T) {
	want := []unix.SockFilter{{Code: 0x20}, {Code: 6, K: 0x7fff0000}}
	almost := []unix.SockFilter{{Code: 0x20}, {Code: 6, K: 0x7fff0001}}
	if got := judgeFilters([][]unix.SockFilter{almost, want}, want); got.verdict != walls.Held {
		t.Errorf("got %+v, want held", got)
	}
	for _, list := range [][][]unix.SockFilter{nil, {almost}, {want[:1]}} {
		if got := judgeFilters(list, want); got.verdict != walls.Failed {
			t.Errorf("%v: got %+v, want failed", list, got)
		}
	}
}

func TestGroupsThatStayFailForRoot(t *testing.T) {
	for _, tt := range []struct {
		name, status string
		root, own    bool
		want         walls.Verdict
	}{
		{"dropped", "Groups:\t \n", true, true, walls.Held},
		{"kept", "Groups:\t4 27 \n", true, true, walls.Failed},
		{"an ordinary user's", "Groups:\t4 27 \n", false, true, walls.NA},
		{"none to drop", "Groups:\t \n", true, false, walls.NA},
		{"not told", "Uid:\t0\n", true, true, walls.Errored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeGroups(tt.status, tt.root, tt.own); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestASignalToProcessOneIsForALandlockThatHasThatScope(t *testing.T) {
	for _, tt := range []struct {
		name string
		abi  int
		ret  int64
		want walls.Verdict
	}{
		{"refused", 6, -int64(unix.EPERM), walls.Held},
		{"taken where it could be refused", 6, 0, walls.Failed},
		{"taken by an old kernel", 5, 0, walls.NA},
		{"refused by an old kernel", 2, -int64(unix.EPERM), walls.Held},
		{"an answer of neither kind", 2, -int64(unix.ESRCH), walls.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := judgeFirst(tt.abi)(tracedBy(call("kill", tt.ret, true))); got.verdict != tt.want {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}
