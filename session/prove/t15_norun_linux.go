package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// lacking is one start that must be refused.
type lacking struct {
	id, tried string
	names     string // what the error has to name
	lack      probe.Lack
	policy    func(string) string // changes the policy's text
	repo      string              // another folder than the run's repository
	state     string              // another state folder
}

// noWallNoRun starts fumehood's own program, as a person would, on a machine
// that is made to lack one thing. What the command would make is sought on the
// host.
func noWallNoRun(ctx context.Context, e *env) ([]walls.Attempt, error) {
	bin := filepath.Join(e.dir, "norun")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	s := &starts{e: e, dir: bin, probe: filepath.Join(bin, probe.Name+"-"+e.id+"-deny"), program: filepath.Join(bin, "fumehood")}
	for _, to := range []string{s.probe, s.program} {
		if err := copyProgram(to, -1, -1); err != nil {
			return nil, err
		}
	}
	control := s.try(ctx, 0, lacking{id: "control", tried: "start with nothing missing"})
	control.Expected = "the command runs and leaves its marker"
	list := lackings(e)
	all := make([]walls.Attempt, len(list))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2) // starts at once
	for i, l := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i] = s.try(ctx, i+1, l)
		})
	}
	wg.Wait()
	all = append(all, s.killedMidway(ctx, len(list)+1), s.nested(ctx))
	for i := range all {
		all[i].Control = "control: " + control.Observed
		if control.Verdict != walls.Held && all[i].Verdict == walls.Held {
			all[i].Verdict, all[i].Observed = walls.Errored, "the same start with nothing missing does not run either, so the refusal means nothing"
		}
	}
	all = append([]walls.Attempt{control}, all...)
	for i := range all {
		e.tell(walls.Event{Test: e.test, Attempt: &all[i]})
	}
	return all, nil
}

// starts is a copy of the program in the folder of the run, so that nothing of its
// other processes is taken for it.
type starts struct {
	e                   *env
	dir, probe, program string
}

func lackings(e *env) []lacking {
	refuse := func(id, names, call string, errno unix.Errno, more ...func(*probe.Lack)) lacking {
		l := lacking{id: id, tried: fmt.Sprintf("start where %s answers %s", id, unix.ErrnoName(errno)), names: names, lack: probe.Lack{Call: call, Errno: uint16(errno)}}
		for _, f := range more {
			f(&l.lack)
		}
		return l
	}
	arg := func(n int, bits uint32) func(*probe.Lack) { return func(l *probe.Lack) { l.Arg, l.Bits = n, bits } }
	equal := func(n int, val uint32) func(*probe.Lack) { return func(l *probe.Lack) { l.Arg, l.Equal = n, val } }
	// What keeps the credentials hardens itself before the sandbox is started.
	first := "identity"
	if len(e.pol.Credentials) > 0 {
		first = "egress proxy"
	}
	var out []lacking
	for _, ns := range []struct {
		name string
		flag uint32
	}{
		{"user", unix.CLONE_NEWUSER},
		{"mount", unix.CLONE_NEWNS},
		{"pid", unix.CLONE_NEWPID},
		{"network", unix.CLONE_NEWNET},
		{"ipc", unix.CLONE_NEWIPC},
		{"uts", unix.CLONE_NEWUTS},
		{"cgroup", unix.CLONE_NEWCGROUP},
	} {
		out = append(out, refuse("a new "+ns.name+" namespace", "namespaces", "clone", unix.EPERM, arg(0, ns.flag)))
	}
	out = append(out,
		refuse("mount", "namespaces", "mount", unix.EPERM),
		refuse("pivot_root", "namespaces", "pivot_root", unix.EPERM),
		refuse("sethostname", "namespaces", "sethostname", unix.EPERM),
		refuse("landlock_create_ruleset (absent)", "landlock", "landlock_create_ruleset", unix.ENOSYS),
		refuse("landlock_create_ruleset (off)", "landlock", "landlock_create_ruleset", unix.EOPNOTSUPP),
		refuse("landlock_add_rule", "landlock", "landlock_add_rule", unix.EINVAL),
		refuse("landlock_restrict_self", "landlock", "landlock_restrict_self", unix.EPERM),
		refuse("seccomp (absent)", "seccomp", "seccomp", unix.ENOSYS),
		refuse("seccomp SECCOMP_SET_MODE_FILTER", "seccomp", "seccomp", unix.EINVAL, equal(0, unix.SECCOMP_SET_MODE_FILTER)),
		refuse("prctl PR_SET_NO_NEW_PRIVS", first, "prctl", unix.EPERM, equal(0, unix.PR_SET_NO_NEW_PRIVS)),
		refuse("prctl PR_CAPBSET_DROP", "identity", "prctl", unix.EPERM, equal(0, unix.PR_CAPBSET_DROP)),
		// Made between clone and exec, so that it looks like the clone.
		refuse("capset", "namespaces", "capset", unix.EPERM),
	)
	if e.pol.Limits.Processes > 0 || e.pol.Limits.Memory > 0 {
		out = append(out, refuse("prlimit64 of another process", "limits", "prlimit64", unix.EPERM, arg(0, ^uint32(0))))
	}
	require := func(layer string) func(string) string {
		return func(p string) string {
			return regexp.MustCompile(`(?m)^require\s*=.*$`).ReplaceAllLiteralString(p, fmt.Sprintf("require = [%q]", layer))
		}
	}
	line := func(text string) func(string) string { return func(p string) string { return p + "\n" + text + "\n" } }
	return append(out,
		lacking{id: "no /proc", tried: "start where /proc is empty", names: "/proc", lack: probe.Lack{Bare: "/proc"}},
		lacking{id: "future level", tried: `start with require = ["landlock>=99"]`, names: "landlock", policy: require("landlock>=99")},
		lacking{id: "malformed policy", tried: "start with a policy that is no TOML", names: "policy-", policy: line("[limits")},
		lacking{id: "misspelt key", tried: "start with a policy with the key limits.proceses", names: "proceses", policy: func(p string) string {
			return strings.Replace(p, "[limits]", "[limits]\nproceses = 7", 1)
		}},
		lacking{id: "unknown layer", tried: `start with require = ["landlok"]`, names: "landlok", policy: require("landlok")},
		lacking{id: "not proven", tried: `start with proven = "required" and no record of the wall tests`, names: "proven", policy: func(p string) string {
			return regexp.MustCompile(`(?m)^proven\s*=.*$`).ReplaceAllLiteralString(p, `proven = "required"`)
		}},
		lacking{id: "no repository", tried: "start in a folder that is not there", names: "gone", repo: filepath.Join(e.dir, "gone")},
		lacking{id: "no state folder", tried: "start where the state folder can't be made", names: "state", state: "/dev/null/state"},
	)
}

// try makes one start and judges it.
func (s *starts) try(ctx context.Context, n int, l lacking) walls.Attempt {
	_, text := nonce()
	want := "exit 125, " + l.names + " named, no marker"
	a := walls.Attempt{ID: l.id, Nonce: text, Tried: l.tried, Expected: want, Witness: walls.Filesystem}
	set := func(o outcome) walls.Attempt {
		a.Verdict, a.Observed, a.Evidence = o.verdict, o.observed, clean(o.evidence)
		return a
	}
	state, args, err := s.command(n, l, text)
	if err != nil {
		return set(errored(err.Error()))
	}
	lack, err := json.Marshal(l.lack)
	if err != nil {
		return set(errored(err.Error()))
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.probe, append([]string{probe.Deny, string(lack), s.program}, args...)...)
	cmd.Env, cmd.Dir = s.environ(state), s.dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return set(errored(err.Error()))
	}
	return set(judgeStart(cmd.ProcessState.ExitCode(), string(out), marker(state, text), l))
}

// judgeStart judges a start: a control, which has no name to be named, has to
// run, and everything else must not.
func judgeStart(code int, out string, ran bool, l lacking) outcome {
	evidence := fmt.Sprintf("exit %d; marker %s; it said %q", code, map[bool]string{true: "there", false: "absent"}[ran], strings.TrimSpace(out))
	switch {
	case l.names == "" && code == 0 && ran:
		return held("it ran and left its marker", walls.Filesystem, evidence)
	case l.names == "":
		return errored("with nothing missing it did not run: " + clean(evidence))
	case ran:
		return failed("the command ran", walls.Filesystem, evidence)
	case code != 125:
		return failed(fmt.Sprintf("the command did not run, and the exit status is %d", code), walls.Supervisor, evidence)
	case !strings.Contains(out, l.names):
		return failed("it was refused, and what is missing is not named", walls.Supervisor, evidence)
	}
	return held("refused, and the command never began", walls.Filesystem, evidence)
}

// command is the arguments of one start, and its state folder.
func (s *starts) command(n int, l lacking, mark string) (state string, args []string, err error) {
	shown := *s.e.pol
	shown.Boundary.Proven = policy.ProvenShown // what asks for a proof would refuse every one of these starts
	text := string(policy.Encode(&shown))
	if l.policy != nil {
		text = l.policy(text)
	}
	file := filepath.Join(s.dir, fmt.Sprintf("policy-%d.toml", n))
	if err := atomicfile.Write(file, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	state, repo := filepath.Join(s.dir, fmt.Sprintf("state-%d", n)), s.e.repo
	if l.state != "" {
		state = l.state
	}
	if l.repo != "" {
		repo = l.repo
	}
	return state, []string{"run", "--repo", repo, "--policy", file, "--", "/bin/sh", "-c", "echo began > marker-" + mark}, nil
}

func (s *starts) environ(state string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.e.host.Home, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + filepath.Join(s.dir, "config"), "TERM=dumb"}
}

// marker says whether the command's marker is in any workspace of a state folder.
func marker(state, mark string) bool {
	found, err := filepath.Glob(filepath.Join(state, "fumehood/sessions/*/workspace/marker-"+mark))
	return err != nil || len(found) > 0 // a pattern that can't be read shows nothing
}

// killedMidway ends a start while the walls are being closed: the stage is
// stopped as soon as it is there, and everything above it killed.
func (s *starts) killedMidway(ctx context.Context, n int) walls.Attempt {
	_, text := nonce()
	a := walls.Attempt{
		ID: "killed midway", Nonce: text, Tried: "kill the starter while the walls are being closed", Expected: "nothing began, nothing is left",
		Witness: walls.Status,
	}
	o := errored("the stage was not caught in 8 starts")
	for i := range 8 {
		mark := fmt.Sprintf("%s-%d", text, i)
		got, caught := s.killOne(ctx, n+i, mark)
		if caught {
			o = got
			break
		}
	}
	a.Verdict, a.Observed, a.Evidence = o.verdict, o.observed, clean(o.evidence)
	return a
}

func (s *starts) killOne(ctx context.Context, n int, mark string) (outcome, bool) {
	state, args, err := s.command(n, lacking{}, mark)
	if err != nil {
		return errored(err.Error()), true
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env, cmd.Dir = s.environ(state), s.dir
	if err := cmd.Start(); err != nil {
		return errored(err.Error()), true
	}
	stage := 0
	for deadline := time.Now().Add(3 * time.Second); stage == 0 && time.Now().Before(deadline); {
		stage = stageBelow(cmd.Process.Pid)
	}
	stopped := stage != 0 && unix.Kill(stage, unix.SIGSTOP) == nil
	// A spawner below it means that all was closed already.
	below, err := limits.Tree(max(stage, 1))
	late := err != nil || stage == 0 || !stopped || len(below) > 0 || marker(state, mark)
	kids, err := limits.Tree(cmd.Process.Pid)
	if err != nil {
		late = true
	}
	for _, pid := range append([]int{cmd.Process.Pid}, kids...) {
		_ = unix.Kill(pid, unix.SIGKILL) // gone already, perhaps
	}
	_ = cmd.Wait() // killed
	if late {
		return outcome{}, false
	}
	gone := waitGone(kids, 3*time.Second)
	evidence := fmt.Sprintf("stage %d stopped and %d processes killed; marker %v; all gone %v", stage, len(kids)+1, marker(state, mark), gone)
	switch {
	case marker(state, mark):
		return failed("the command ran", walls.Filesystem, evidence), true
	case !gone:
		return failed("something of the start is left", walls.Status, evidence), true
	}
	return held("nothing began and nothing is left", walls.Status, evidence), true
}

// nested starts fumehood inside one of its own sessions.
func (s *starts) nested(ctx context.Context) walls.Attempt {
	_, text := nonce()
	a := walls.Attempt{
		ID: "inside a sandbox", Nonce: text, Tried: "start inside another session", Expected: "exit 125, a layer named, no marker", Witness: walls.Filesystem,
	}
	o := func() outcome {
		rm, err := s.e.shared(ctx)
		if err != nil {
			return errored(err.Error())
		}
		box, ok := rm.(*sess)
		if !ok {
			return notApplicable("it needs a session of fumehood's")
		}
		code, out, err := box.nested(ctx, text)
		if err != nil {
			return errored(err.Error())
		}
		host, _ := box.workspace()
		ran := false
		err = filepath.WalkDir(filepath.Dir(host), func(path string, _ os.DirEntry, _ error) error {
			ran = ran || strings.HasSuffix(path, "marker-"+text)
			return nil
		})
		if err != nil {
			return errored(err.Error())
		}
		return judgeStart(code, out, ran, lacking{names: "operation not permitted"})
	}()
	a.Verdict, a.Observed, a.Evidence = o.verdict, o.observed, clean(o.evidence)
	return a
}

// stageBelow is a descendant that is becoming the first process of a sandbox,
// 0 when there is none. A supervisor is detached: it is found by its parent
// only as long as that waits for it, which it does during a start.
func stageBelow(pid int) int {
	kids, err := limits.Tree(pid)
	if err != nil {
		return 0
	}
	for _, k := range kids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", k))
		if err == nil && strings.Contains(string(text), "\x00__stage\x00") {
			return k
		}
	}
	return 0
}

// waitGone waits until none of the processes is there, zombies aside.
func waitGone(pids []int, within time.Duration) bool {
	for deadline := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if st, err := limits.ReadStat(pid, 0); err == nil && st.State != 'Z' {
				left++
			}
		}
		if left == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
