package prove

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/calls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// strength tries to gain rights and to reach kernel code that a build does not
// need.
func strength(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	uid, err := e.hostID(rm)
	if err != nil {
		return nil, err
	}
	v, err := e.newVictim(uid)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(permittedRows(), e.gainRows(rm), e.victimRows(rm, v), e.terminalRows())
	sweep, err := e.sweepRows(ctx, uid)
	if err != nil {
		return nil, errors.Join(err, v.close())
	}
	out, err := e.rows(ctx, rm, append(list, sweep...))
	if err = errors.Join(err, v.close()); err != nil {
		return out, err
	}
	more, err := e.outsideLooks(ctx, rm, uid)
	return append(out, more...), err
}

// permittedRows are the controls: the nearest that is permitted.
func permittedRows() []row {
	return []row{
		{
			id: "own child", tried: "end a child of its own by a signal", expected: "works",
			do: probe.Action{Do: "signal-child"}, judge: works("kill"), host: true,
		},
		{
			id: "calls", tried: "make calls that lie next to refused ones: fcntl(F_GETFD), socketpair(unix), personality(ask), sched_getaffinity, unshare(nothing)", expected: "work",
			do: probe.Action{Steps: []probe.Step{
				{Call: "fcntl", Args: []string{"0", "1"}},
				{Call: "socketpair", Args: []string{"1", "1", "0", "z:8"}},
				{Call: "personality", Args: []string{"0xffffffff"}},
				{Call: "sched_getaffinity", Args: []string{"0", "128", "z:128"}},
				{Call: "unshare", Args: []string{"0"}},
			}},
			judge: works("unshare"),
		},
	}
}

// gainRows try to become somebody else, or to own a namespace.
func (e *env) gainRows(rm room) []row {
	host, inside := rm.workspace()
	name := probe.Name + "-" + e.id + "-setuid"
	path := filepath.Join(host, name)
	remove := func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	errnos := []syscall.Errno{unix.EPERM}
	if e.target.kind() == foreign {
		errnos = append(errnos, unix.ENOSPC, unix.ENOSYS, unix.EACCES, unix.EUSERS)
	}
	return []row{
		{
			id: "set-uid copy", tried: "make a set-user-id copy of a program in the workspace and run it", expected: "no other id, and no file of another's on the host",
			do: probe.Action{Do: "setuid-copy", Args: map[string]string{"path": filepath.Join(inside, name)}}, control: "own child",
			judge: judgeIDs, host: true, account: true, before: remove,
			after: func() (outcome, error) {
				o, err := judgeSetuid(path)
				return o, errors.Join(err, remove())
			},
		},
		{
			id: "user namespace", tried: "start a child in a user namespace of its own", expected: "refused",
			do: probe.Action{Do: "user-namespace"}, control: "own child", judge: judgeClone(unix.CLONE_NEWUSER, errnos...),
		},
		{
			id: "capability", tried: "set the loopback interface's packet size to what it is", expected: "refused, as every capability is dropped",
			do: probe.Action{Do: "same-mtu"}, control: "calls", account: true,
			judge: func(s *seen) outcome {
				if o := refused("socket", unix.EPERM, unix.EACCES)(s); o.verdict == walls.Held && e.against() {
					return o // no socket to ask by
				}
				if calls := s.seg.Find("ioctl"); s.traced && (len(calls) < 2 || calls[len(calls)-1].Args[1] != unix.SIOCSIFMTU) {
					return errored("it was not tried" + s.why())
				}
				return refused("ioctl", unix.EPERM)(s)
			},
		},
		{
			id: "process 1", tried: "send no signal to process 1, kill(1, 0)", expected: "refused: it is not in the session's domain (Landlock)",
			do: probe.Action{Steps: []probe.Step{{Call: "kill", Args: []string{"1", "0"}}}}, control: "own child", ours: true, judge: judgeFirst(landlockABI()),
		},
		{
			id: "process 1's files", tried: "list the open files of process 1", expected: "refused: it is undumpable",
			do: probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:/proc/1/fd", "0o200000"}}}}, control: "calls", ours: true,
			judge: refused("openat", unix.EACCES, unix.EPERM, unix.ENOENT),
		},
	}
}

// landlockABI is 0 without Landlock, where no session starts.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// judgeSetuid looks at the copy from the host: whose it is, and whether somebody else could run it.
func judgeSetuid(path string) (outcome, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return held("no copy is on the host", walls.Filesystem, "lstat "+path+": absent"), nil
		}
		return outcome{}, err
	}
	evidence := fmt.Sprintf("%s: owner %d, mode %#o", path, st.Uid, st.Mode&0o7777)
	if st.Mode&unix.S_ISUID == 0 {
		return held("the host's file has no set-user-id", walls.Filesystem, evidence), nil
	}
	if st.Uid == 0 {
		return failed("a program of root's with set-user-id is on the host", walls.Filesystem, evidence), nil
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if err := unix.Stat(dir, &st); err != nil {
			return outcome{}, err
		}
		if st.Mode&0o001 == 0 {
			return held("it belongs to the account that made it, and no other can reach it", walls.Filesystem, evidence+fmt.Sprintf("; %s: mode %#o", dir, st.Mode&0o7777)), nil
		}
	}
	return failed("every account of the host can run it with the owner's id", walls.Filesystem, evidence), nil
}

// terminalRows try to type into a terminal. Each request is made on a terminal
// of the probe's own, once as a descriptor and once as the controlling one.
func (e *env) terminalRows() []row {
	open := probe.Step{Call: "openat", Args: []string{"-100", "s:/dev/ptmx", "0o402"}, Save: "fd"}
	ask := func(request string) probe.Step {
		return probe.Step{Call: "ioctl", Args: []string{"$fd", request, "z:64"}, Always: true}
	}
	requests := []uint64{probe.TypeRequest, probe.TypeRequest | probe.HighBit, probe.PasteRequest, probe.PasteRequest | probe.HighBit}
	all := []probe.Step{open}
	for _, r := range requests {
		all = append(all, ask(fmt.Sprintf("%#x", r)))
	}
	another := e.target.kind() == foreign
	return []row{
		{
			id: "terminal", tried: "open a terminal of its own and ask for its settings", expected: "works",
			do: probe.Action{Steps: []probe.Step{open, ask(fmt.Sprintf("%#x", unix.TCGETS))}}, judge: works("ioctl"),
		},
		{
			id: "typing requests", tried: "TIOCSTI and TIOCLINUX on a terminal, also with high bits set", expected: "refused by EPERM", control: "terminal",
			do: probe.Action{Steps: all}, judge: judgeIoctl(requests, another),
		},
		{
			id: "typing", tried: "type into the controlling terminal of a child, also with high bits set", expected: "refused by EPERM", control: "terminal",
			do: probe.Action{Do: "type"}, judge: judgeIoctl(requests, another),
		},
	}
}

// victimRows reach for a process of the same account on the host by its
// number there, and for the session's supervisor.
func (e *env) victimRows(rm room, v *victim) []row {
	pid := strconv.Itoa(v.pid)
	gone := []syscall.Errno{unix.ESRCH, unix.EPERM, unix.ENOENT, unix.EACCES, unix.ENOSYS}
	signal := func(id string, n int, steps []probe.Step, names ...string) row {
		var from int
		return row{
			id: id, tried: fmt.Sprintf("send signal %d to process %d of the host by %s", n, v.pid, id), expected: "refused or absent; nothing in its log",
			do: probe.Action{Steps: steps}, control: "own child", judge: judgeRefusedAt(gone, names...), host: true,
			before: func() error { from = len(v.since(0)); return nil },
			after: func() (outcome, error) {
				lines, err := v.log(from)
				if err != nil {
					return outcome{}, err
				}
				return judgeLog(lines, n), nil
			},
		}
	}
	open := probe.Step{Call: "pidfd_open", Args: []string{pid, "0"}, Save: "p"}
	list := []row{
		signal("kill", 40, []probe.Step{{Call: "kill", Args: []string{pid, "40"}}}, "kill"),
		signal("tgkill", 41, []probe.Step{{Call: "tgkill", Args: []string{pid, pid, "41"}}}, "tgkill"),
		signal("rt_sigqueueinfo", 42, []probe.Step{{Call: "rt_sigqueueinfo", Args: []string{pid, "42", queued(42)}}}, "rt_sigqueueinfo"),
		signal("pidfd_send_signal", 43, []probe.Step{open, {Call: "pidfd_send_signal", Args: []string{"$p", "43", "0", "0"}}}, "pidfd_open", "pidfd_send_signal"),
	}
	reach := func(id, what string, do probe.Action, names ...string) {
		list = append(list, row{id: id, tried: what, expected: "refused or absent", do: do, control: "own child", judge: judgeRefusedAt(gone, names...)})
	}
	reach("memory", fmt.Sprintf("read the memory of process %d of the host", v.pid),
		probe.Action{Do: "read-memory", Args: map[string]string{"pid": pid, "addr": v.addr}}, "process_vm_readv")
	reach("memory file", fmt.Sprintf("open /proc/%d/mem", v.pid),
		probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:/proc/" + pid + "/mem", "0"}}}}, "openat")
	reach("pidfd_getfd", fmt.Sprintf("take a descriptor of process %d of the host", v.pid),
		probe.Action{Steps: []probe.Step{open, {Call: "pidfd_getfd", Args: []string{"$p", "1", "0"}}}}, "pidfd_open", "pidfd_getfd")
	reach("limits", fmt.Sprintf("read the limits of process %d of the host", v.pid),
		probe.Action{Steps: []probe.Step{{Call: "prlimit64", Args: []string{pid, "7", "0", "z:16"}}}}, "prlimit64")
	reach("priority", fmt.Sprintf("set the priority of process %d of the host", v.pid),
		probe.Action{Steps: []probe.Step{{Call: "setpriority", Args: []string{"0", pid, niceOf(v.pid)}}}}, "setpriority")
	if sup := parentOf(rm.first()); e.target.kind() == ours && sup > 1 {
		reach("supervisor", fmt.Sprintf("send no signal to the session's supervisor, kill(%d, 0)", sup),
			probe.Action{Steps: []probe.Step{{Call: "kill", Args: []string{strconv.Itoa(sup), "0"}}}}, "kill")
		reach("supervisor pidfd", fmt.Sprintf("open the session's supervisor, pidfd_open(%d)", sup),
			probe.Action{Steps: []probe.Step{{Call: "pidfd_open", Args: []string{strconv.Itoa(sup), "0"}}}}, "pidfd_open")
	}
	// The last, since whoever traces it stops it at its next signal.
	reach("trace", fmt.Sprintf("trace process %d of the host", v.pid),
		probe.Action{Steps: []probe.Step{{Call: "ptrace", Args: []string{fmt.Sprint(unix.PTRACE_SEIZE), pid, "0", "0"}}}}, "ptrace")
	return list
}

// niceOf is the priority that the process has already, which the kernel lets
// every process of its account set, one started under nice too.
func niceOf(pid int) string {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return "0"
	}
	return strconv.Itoa(20 - raw) // the call itself gives 1 to 40
}

// queued is a siginfo as sigqueue(3) fills it.
func queued(n uint32) string {
	info := make([]byte, 128)
	binary.NativeEndian.PutUint32(info, n)
	binary.NativeEndian.PutUint32(info[8:], 1<<32-1) // SI_QUEUE
	return "d:" + base64.StdEncoding.EncodeToString(info)
}

// judgeLog looks for a signal in what the victim wrote down.
func judgeLog(lines []string, n int) outcome {
	line := fmt.Sprintf("signal %d", n)
	if slices.Contains(lines, line) {
		return failed("the process on the host received it", walls.Listener, "the victim's log: "+line)
	}
	return held("the process on the host received nothing", walls.Listener, "the victim's log: "+strings.Join(lines, ", "))
}

// parentOf is a process' parent, 0 when there is none to be seen.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if pid == 0 || err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "PPid:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// sweepRows make every refused call in every ABI, after the same was done
// where no wall stands.
func (e *env) sweepRows(ctx context.Context, uid int) ([]row, error) {
	type sweep struct {
		id, tried string
		list      []dangerous
		do        probe.Action
	}
	var all []sweep
	for _, t := range seccomp.Trials() {
		list := groupCalls(t.Group)
		if hangup, ok := calls.Number("vhangup"); ok && e.target.kind() == foreign && os.Getuid() == 0 {
			// It takes no argument that could be wrong: root would do it.
			list = slices.DeleteFunc(list, func(d dangerous) bool { return d.nr == hangup })
		}
		all = append(all, sweep{"filter: " + string(t.Group), fmt.Sprintf("%d calls of the group %q with bad arguments, for %s", len(list), t.Group, t.Why), list, stepsOf(list)})
	}
	unknown := unknownCalls()
	all = append(all, sweep{"unknown numbers", fmt.Sprintf("%d numbers above the highest known", len(unknown)), unknown, stepsOf(unknown)})
	if x32 := x32Calls(); x32 != nil {
		all = append(all, sweep{"x32", "getpid and dangerous calls by the x32 ABI", x32, stepsOf(x32)})
		// The last, since a kernel without that ABI ends the probe.
		i386, do := i386Calls()
		all = append(all, sweep{"i386", "getpid and dangerous calls by the 32-bit ABI (int 0x80)", i386, do})
	}
	var job probe.Job
	for i, s := range all {
		do := s.do
		do.Seq = i
		do.Nonce, _ = nonce()
		job.Actions = append(job.Actions, do)
	}
	free, err := e.outside(ctx, job, ordinary(uid))
	if err != nil {
		return nil, fmt.Errorf("make the same calls outside: %w", err)
	}
	if free.log.Err != nil {
		return nil, fmt.Errorf("trace the same calls outside: %w", free.log.Err)
	}
	var list []row
	for i, s := range all {
		list = append(list, row{
			id: s.id, tried: s.tried, expected: "refused by the filter", do: s.do, control: "calls",
			judge: judgeSweep(s.list, free.log.Segments[i], e.target.kind() == foreign),
		})
	}
	return list, nil
}

// outsideLooks reads what the kernel holds of a waiting probe, beside its form.
func (e *env) outsideLooks(ctx context.Context, rm room, uid int) ([]walls.Attempt, error) {
	var out []walls.Attempt
	add := func(id, tried, expected string, o outcome) {
		_, text := nonce()
		r := row{id: id, tried: tried, expected: expected}
		a := r.attempt(text, false, o, "")
		out = append(out, a)
		e.tell(walls.Event{Test: e.test, Attempt: &a})
	}
	_, err := rm.probe(ctx, probe.Job{Actions: []probe.Action{{Steps: []probe.Step{{Call: "getpid"}}}}}, how{started: func(pid int) {
		add("filter read out", "read the probe's filters out of the kernel", "one is this build's", e.lookFilters(pid))
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			add("groups", "the probe's groups", "none", errored(err.Error()))
			return
		}
		own, err := os.Getgroups()
		if err != nil {
			add("groups", "the probe's groups", "none", errored(err.Error()))
			return
		}
		own = slices.DeleteFunc(own, func(g int) bool { return g == os.Getgid() })
		add("groups", "the probe's supplementary groups as the host shows them", "none", judgeGroups(string(text), os.Getuid() == 0, len(own) > 0))
		if os.Getuid() == 0 {
			add("host id", "the id that the probe has on the host", "an unprivileged one", judgeHostID(uid))
		}
	}})
	return out, err
}

func judgeHostID(uid int) outcome {
	evidence := fmt.Sprintf("Uid: %d in /proc/PID/status", uid)
	if uid == 0 {
		return failed("it is root's", walls.Status, evidence)
	}
	return held(fmt.Sprintf("it is %d", uid), walls.Status, evidence)
}

// lookFilters compares the filters of a process with what is compiled here.
func (e *env) lookFilters(pid int) outcome {
	if e.target.kind() == foreign {
		return notApplicable("another's filter is not to be compared with this build's")
	}
	if os.Getuid() != 0 {
		return notApplicable("the kernel hands filters out to root alone")
	}
	raw, err := seccomp.Compile(seccomp.Native(), seccomp.Table())
	if err != nil {
		return errored(err.Error())
	}
	list, err := trace.Filters(pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.EACCES) {
		return notApplicable("this kernel, or the sandbox that fumehood is in, hands no filters out: " + err.Error())
	}
	if err != nil {
		return errored(err.Error())
	}
	var want []unix.SockFilter
	for _, i := range raw {
		want = append(want, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	return judgeFilters(list, want)
}
