package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// boundary is test 14: what the probe attempts, and the form of its processes
// as the host's own tables show it while it waits.
func boundary(ctx context.Context, e *env) ([]walls.Attempt, error) {
	tried, err := strength(ctx, e)
	seen, err2 := form(ctx, e)
	return append(tried, seen...), errors.Join(err, err2)
}

// form looks from outside at a probe that stands still, and has it try what
// only one part of the walls refuses and no other test asks for.
func form(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	own := ownRows()
	pty, err := hostTerminal()
	if err != nil {
		return nil, err
	}
	defer pty.close()
	own = append(own[:1:1], append([]row{pty.row()}, own[1:]...)...)
	if e.target.kind() == foreign {
		own = own[1:2] // the others are fumehood's own places and settings
	}
	out, err := e.rows(ctx, rm, own)
	if err != nil {
		return out, err
	}
	var looks []walls.Attempt
	add := func(id, what, want string, o outcome) {
		_, text := nonce()
		a := walls.Attempt{
			ID: "form " + id, Nonce: text, Tried: "see " + what, Expected: want, Observed: o.observed,
			Witness: o.witness, Evidence: clean(o.evidence), Verdict: o.verdict,
		}
		looks = append(looks, a)
		e.tell(walls.Event{Test: e.test, Attempt: &a})
	}
	// An action that does nothing keeps it there until all was read.
	_, err = rm.probe(ctx, probe.Job{Actions: []probe.Action{{Steps: []probe.Step{{Call: "getpid"}}}}}, how{
		started: func(pid int) { e.look(rm, pid, add) },
	})
	return append(out, looks...), err
}

type adder func(id, what, want string, o outcome)

// look reads the tables of the host about one waiting probe.
func (e *env) look(rm room, pid int, add adder) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		add("status", "the probe's status", "readable", errored(err.Error()))
		return
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		add("status", "the own status", "readable", errored(err.Error()))
		return
	}
	for _, f := range []struct{ key, want string }{
		{"NoNewPrivs", "1"}, {"Seccomp", "2"}, {"CapInh", noCaps}, {"CapPrm", noCaps}, {"CapEff", noCaps}, {"CapBnd", noCaps}, {"CapAmb", noCaps}, {"SigIgn", noCaps},
	} {
		if f.key == "SigIgn" && e.target.kind() == foreign {
			continue // handed on by exec, as exec(2) says, and no danger by itself
		}
		o := judgeField(string(status), f.key, f.want)
		if o.verdict == walls.Held && e.target.kind() == foreign && judgeField(string(own), f.key, f.want).verdict == walls.Held {
			o = notApplicable("it is so without a sandbox, too: " + f.key + " of who starts it is " + f.want)
		}
		add(f.key, f.key+" of the probe", f.want, o)
	}
	if e.target.kind() == foreign {
		return // what follows is fumehood's own way
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		add("limits", "the probe's limits", "readable", errored(err.Error()))
		return
	}
	for _, l := range e.kernelLimits() {
		add(l.name, "the limit "+strconv.Quote(l.name)+" of the probe", fmt.Sprintf("at most %d", l.most), judgeLimit(string(limits), l.name, l.most))
	}
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	add("oom score", "which process goes first when memory is short", "the probe, by 900", judgeScore(string(score), err))
	first := rm.first()
	add("process 1's session", "the session and terminal of process 1", "one of its own, and none", judgeSession(first))
	add("process 1's environment", "process 1's environment", "empty of this account's", e.judgeEnviron(first))
	add("process 1's files", "who owns process 1's files in /proc", "not the session's id, since it is undumpable", judgeOwner(first))
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", first))
	if err != nil {
		add("mounts", "the mount table", "readable", errored(err.Error()))
		return
	}
	for _, m := range mountRules(e) {
		add(m.id, m.what, m.want, judgeMounts(string(mounts), m.bad))
	}
}

const noCaps = "0000000000000000"

func judgeField(status, key, want string) outcome {
	for line := range strings.Lines(status) {
		k, v, _ := strings.Cut(line, ":")
		if k != key {
			continue
		}
		v = strings.TrimSpace(v)
		if v == want {
			return held("it is "+v, walls.Status, key+": "+v+" in /proc/PID/status")
		}
		return failed(fmt.Sprintf("it is %s", v), walls.Status, key+": "+v+" in /proc/PID/status")
	}
	return errored("/proc/PID/status has no " + key)
}

type kernelLimit struct {
	name string
	most uint64
}

// kernelLimits is what the policy asks the kernel for.
func (e *env) kernelLimits() []kernelLimit {
	out := []kernelLimit{{"Max core file size", 0}}
	if n := e.pol.Limits.Memory; n > 0 {
		out = append(out, kernelLimit{"Max data size", uint64(n)})
	}
	if n := e.pol.Limits.Disk; n > 0 {
		out = append(out, kernelLimit{"Max file size", uint64(n)})
	}
	if n := e.pol.Limits.Processes; n > 0 {
		out = append(out, kernelLimit{"Max processes", uint64(n) + ownThreads})
	}
	if e.target.kind() == bare {
		out = append(out, kernelLimit{"Max open files", openFiles})
	}
	return out
}

func judgeLimit(text, name string, most uint64) outcome {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		f := strings.Fields(rest)
		if !ok || len(f) < 2 {
			continue
		}
		hard, err := strconv.ParseUint(f[1], 10, 64)
		if err == nil && hard <= most {
			return held("the hard limit is "+f[1], walls.Status, strings.Join(strings.Fields(line), " "))
		}
		return failed("the hard limit is "+f[1], walls.Status, strings.Join(strings.Fields(line), " "))
	}
	return errored("/proc/PID/limits has no " + name)
}

func judgeScore(text string, err error) outcome {
	if err != nil {
		return errored(err.Error())
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return errored(fmt.Sprintf("oom_score_adj is %q", text))
	}
	if n < 900 {
		return failed(fmt.Sprintf("oom_score_adj is %d", n), walls.Status, fmt.Sprintf("/proc/PID/oom_score_adj: %d", n))
	}
	return held(fmt.Sprintf("oom_score_adj is %d", n), walls.Status, fmt.Sprintf("/proc/PID/oom_score_adj: %d", n))
}

// judgeSession reads fields 6 and 7 of /proc/PID/stat, session and terminal.
func judgeSession(pid int) outcome {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errored(err.Error())
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 5 {
		return errored("/proc/PID/stat is short")
	}
	evidence := fmt.Sprintf("/proc/%d/stat: session %s, tty_nr %s", pid, f[3], f[4])
	if f[3] != strconv.Itoa(pid) || f[4] != "0" {
		return failed("it belongs to the starter's", walls.Status, evidence)
	}
	return held("its own, without a terminal", walls.Status, evidence)
}

func (e *env) judgeEnviron(pid int) outcome {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, os.ErrPermission) {
		return notApplicable("this account can't read it: it is undumpable")
	}
	if err != nil {
		return errored(err.Error())
	}
	if strings.Contains(string(text), e.secret) || len(text) > 64 {
		return failed(fmt.Sprintf("%d bytes of the starter's environment are in it", len(text)), walls.Status, fmt.Sprintf("/proc/%d/environ: %d bytes", pid, len(text)))
	}
	return held("nothing of the starter's is in it", walls.Status, fmt.Sprintf("/proc/%d/environ: %q", pid, text))
}

// judgeOwner uses that the kernel gives the files of an undumpable process to
// root (proc(5)).
func judgeOwner(pid int) outcome {
	var st unix.Stat_t
	path := fmt.Sprintf("/proc/%d/environ", pid)
	if err := unix.Stat(path, &st); err != nil {
		return errored(err.Error())
	}
	evidence := fmt.Sprintf("owner of %s: %d", path, st.Uid)
	if st.Uid != 0 {
		return failed("they are the session's: it can be traced and read", walls.Status, evidence)
	}
	return held("root's, as of every undumpable process", walls.Status, evidence)
}

type mountRule struct {
	id, what, want string
	// bad says what is wrong with a mount; "" when nothing is.
	bad func(point, options, kind, super string) string
}

func mountRules(e *env) []mountRule {
	has := func(options, o string) bool { return strings.Contains(","+options+",", ","+o+",") }
	return []mountRule{
		{"nosuid", "the mount table", "every mount is nosuid", func(_, options, _, _ string) string {
			if has(options, "nosuid") {
				return ""
			}
			return "not nosuid"
		}},
		{"nodev", "the mount table", "every mount but the devices' own is nodev", func(point, options, _, _ string) string {
			if has(options, "nodev") || strings.HasPrefix(point, "/dev/") || strings.HasPrefix(point, "/proc/") {
				return ""
			}
			return "not nodev"
		}},
		{"read-only root", "the mount table", "the root, the system's folders and /proc/sys are read-only", func(point, options, _, _ string) string {
			for _, ro := range []string{"/", "/usr", "/proc/sys"} {
				if point == ro && !has(options, "ro") {
					return "not read-only"
				}
			}
			return ""
		}},
		{"size of temporary folders", "the mount table", "each has a size", func(point, _, kind, super string) string {
			limit := e.pol.Limits.Memory
			if kind != "tmpfs" || limit == 0 || point != "/tmp" && point != "/var/tmp" && point != "/dev/shm" && point != "/run" {
				return ""
			}
			if strings.Contains(super, "size=") {
				return ""
			}
			return "without a size"
		}},
	}
}

// judgeMounts applies a rule to each line of a mountinfo file (proc(5)).
func judgeMounts(text string, bad func(point, options, kind, super string) string) outcome {
	n, proc := 0, false
	for line := range strings.Lines(text) {
		head, rest, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, g := strings.Fields(head), strings.Fields(rest)
		if !ok || len(f) < 6 || len(g) < 3 {
			return errored(fmt.Sprintf("the mount table has a line %q", line))
		}
		n++
		proc = proc || f[4] == "/proc/sys"
		if why := bad(f[4], f[5], g[0], g[2]); why != "" {
			return failed(f[4]+" is "+why, walls.Status, strings.TrimSpace(line))
		}
	}
	if n == 0 {
		return errored("the mount table is empty")
	}
	if !proc {
		return failed("/proc/sys is no mount of its own", walls.Status, fmt.Sprintf("%d lines of /proc/PID/mountinfo, none of /proc/sys", n))
	}
	return held(fmt.Sprintf("so it is, in %d mounts", n), walls.Status, "/proc/PID/mountinfo")
}

// ownRows is what fumehood's own places and settings inside refuse.
func ownRows() []row {
	open := func(path, flags string) probe.Action {
		return probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:" + path, flags, "0o600"}, Save: "fd"}, {Call: "read", Args: []string{"$fd", "z:64", "64"}}}}
	}
	const create = "0o101" // O_CREAT|O_WRONLY
	return []row{
		{
			id: "core", tried: "raise the limit of core files", expected: "refused",
			do:    probe.Action{Steps: []probe.Step{{Call: "prlimit64", Args: []string{"0", "4", "d:AAAAAAEAAAAAAAAAAQAAAA==", "0"}}}},
			judge: refused("prlimit64", unix.EPERM),
		},
		{id: "own program", tried: "open fumehood's own program inside", expected: "hidden", do: open("/fumehood/spawner", "0"), judge: hiddenOr("openat")},
		{id: "canary", tried: "make a file where the start's canary was", expected: "gone", do: open("/fumehood/canary/allowed/x", create), judge: hiddenOr("openat")},
		{
			id: "user namespaces", tried: "read how many user namespaces may be made inside", expected: "0",
			do: open("/proc/sys/user/max_user_namespaces", "0"), judge: readsNumber(func(n int) bool { return n == 0 }),
		},
		{
			id: "inotify watches", tried: "read how many inotify watches the session may have", expected: "a share of the account's",
			do: open("/proc/sys/user/max_inotify_watches", "0"), judge: readsNumber(func(n int) bool { return n > 0 && n < hostNumber("/proc/sys/user/max_inotify_watches") }),
		},
	}
}

// terminal is a terminal of the host's, made for this.
type terminal struct {
	master *os.File
	name   string
}

// hostTerminal makes one that everybody may write to.
func hostTerminal() (*terminal, error) {
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("make a terminal on the host: %w", err)
	}
	t := &terminal{master: m}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err == nil {
		t.name = fmt.Sprintf("/dev/pts/%d", n)
		err = errors.Join(unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0), opened(t.name))
	}
	if err != nil {
		return nil, fmt.Errorf("make a terminal on the host: %w", errors.Join(err, m.Close()))
	}
	return t, nil
}

// opened lets everybody write to a terminal, by a descriptor of it.
func opened(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o622), f.Close())
}

func (t *terminal) close() { _ = t.master.Close() } // nothing in it is wanted

func (t *terminal) row() row {
	return row{
		id: "host terminal", tried: "open a terminal of the host's for writing: " + t.name, expected: "absent",
		do:    probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:" + t.name, "0o401"}}}}, // O_WRONLY|O_NOCTTY
		judge: hiddenOr("openat"),
	}
}

// hiddenOr judges a place that must not be there or not be open.
func hiddenOr(call string) func(*seen) outcome {
	return refused(call, unix.ENOENT, unix.EACCES, unix.EROFS)
}

// readsNumber judges a number that the kernel gave to a read.
func readsNumber(good func(int) bool) func(*seen) outcome {
	return func(s *seen) outcome {
		calls := s.seg.Find("read")
		if len(calls) == 0 || !calls[0].OK() {
			return errored("it could not be read" + s.why())
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(calls[0].Data)))
		if err != nil {
			return errored(fmt.Sprintf("it is %q", calls[0].Data))
		}
		if !good(n) {
			return failed(fmt.Sprintf("it is %d", n), walls.Kernel, calls[0].String())
		}
		return held(fmt.Sprintf("it is %d", n), walls.Kernel, calls[0].String())
	}
}

// hostNumber is a number of the host's, 0 when there is none.
func hostNumber(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return n
}
