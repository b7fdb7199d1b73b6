package prove

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
	"fumehood/session/wire"
)

// life is one session that is brought to an end.
type life struct {
	e                          *env
	s                          *sess
	word                       string
	supervisor, first, command int // on the host
	client                     *exec.Cmd
	group                      string     // its own group of the kernel's, "" when it has none
	release                    func()     // of the first process
	stopped                    chan error // how stop came out; nil when it was not called
}

// endSession starts a session, leaves a daemon in it, ends it in one way and
// looks at what is left.
func (e *env) endSession(ctx context.Context, en ending) walls.Attempt {
	_, word := nonce()
	l := &life{e: e, word: word}
	seen, o := l.run(ctx, en)
	a := seen.attempt(en.id, en.tried, word, o)
	if err := l.close(en); err != nil && a.Verdict == walls.Held {
		a.Verdict, a.Observed = walls.Errored, "it could not be taken away: "+err.Error()
	}
	return a
}

func (l *life) run(ctx context.Context, en ending) (lifetime, outcome) {
	var seen lifetime
	if err := l.begin(ctx, en.bound); err != nil {
		return seen, errored(err.Error())
	}
	_, ws := l.s.workspace()
	got, err := l.s.probe(ctx, daemonJob(l.word, filepath.Join(ws, "beat"), 0), how{})
	if err != nil {
		return seen, errored(err.Error())
	}
	if said := got.said[0]; said.Err != "" {
		return seen, errored(said.Err)
	}
	daemon, _, seen := observe(ctx, l.word)
	if err := l.find(daemon); err != nil {
		return seen, errored(err.Error())
	}
	all, err := herdBelow(l.first)
	if err != nil {
		return seen, errored(err.Error())
	}
	seen.processes, seen.who = len(all), all.alive()
	outside := herd{}
	if st, err := limits.ReadStat(l.supervisor, 0); err == nil {
		outside[l.supervisor] = st.Start
	}
	if err := en.do(ctx, l); err != nil {
		return seen, errored(fmt.Sprintf("%s: %v", en.tried, err))
	}
	seen.took, seen.alive = all.ended(ctx)
	if en.undo != nil {
		en.undo(l)
	}
	// The supervisor stands outside and may have its last words to write.
	_, rest := outside.ended(ctx)
	seen.left = append(rest, l.leftovers(en.stays)...)
	seen.says = en.says
	seen.state, seen.workgone = l.record(ctx)
	return seen, outlived(seen)
}

// begin starts the session. Several may be started at once.
func (l *life) begin(ctx context.Context, bound bool) error {
	e := l.e
	pol := *e.pol
	if e.loosen != nil {
		e.loosen(&pol)
	}
	file := filepath.Join(e.dir, "policy-"+l.word+".toml")
	if err := atomicfile.Write(file, policy.Encode(&pol), 0o600); err != nil {
		return fmt.Errorf("policy of a session: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%s", probe.Name, e.id, l.word)
	l.s = &sess{e: e, path: isolate.HomeInside + "/" + name}
	dest, err := e.far()
	if err != nil {
		return err
	}
	id, err := e.host.Create(ctx, session.Request{
		Repo: e.repo, Policy: file, Agent: "command", Name: "life-" + l.word, Command: []string{l.s.path}, Hold: true, Bound: true, Proving: true, Stand: dest.stand(""),
	}, nil)
	if err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	l.s.dir = e.host.Root.Dir(id)
	if !bound {
		return l.s.begin(ctx, name)
	}
	rec, err := l.s.dir.LoadRecord()
	if err != nil {
		return err
	}
	if err := copyProgram(filepath.Join(l.s.dir.Home(), name), rec.UID, rec.GID); err != nil {
		return err
	}
	return l.attach(ctx)
}

// attach has a process of its own be the session's client.
func (l *life) attach(ctx context.Context) error {
	var frame frames
	if err := wire.NewConn(&frame).WriteJSON(wire.KindRequest, wire.Request{Protocol: wire.Protocol, Op: wire.OpAttach}); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "client", hex.EncodeToString(frame.Bytes()))
	cmd.Args[0] = fmt.Sprintf("%s-%s-client", probe.Name, l.e.id)
	cmd.Dir, cmd.Env = string(l.s.dir), []string{}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a client: %w", err)
	}
	l.client = cmd
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && ctx.Err() == nil; waitBriefly(ctx, 5*time.Millisecond) {
		if _, ok := l.commandOf(); ok {
			return nil
		}
	}
	return errors.New("the session's command did not begin within 5 s")
}

// frames keeps what is written to it.
type frames struct{ bytes.Buffer }

func (*frames) Close() error { return nil }

// commandOf is the process that runs the session's own command.
func (l *life) commandOf() (int, bool) {
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, false
	}
	for _, d := range pids {
		text, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil || string(text) != l.s.path+"\x00" {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(d), "%d", &pid); err == nil {
			return pid, true
		}
	}
	return 0, false
}

// find goes up from the daemon, which has none of the session's processes as its
// parent but the first.
func (l *life) find(daemon int) error {
	var err error
	if l.first, err = firstOf(daemon); err != nil {
		return err
	}
	st, err := limits.ReadStat(l.first, 0)
	if err != nil {
		return err
	}
	l.supervisor = st.Parent
	if got := commandLine(l.supervisor); !strings.Contains(got, string(l.s.dir)) {
		return fmt.Errorf("above the first process stands %q, which is not the supervisor", got)
	}
	var ok bool
	if l.command, ok = l.commandOf(); !ok {
		return errors.New("the session's command is not in the process table")
	}
	l.group = groupOf(l.first)
	if l.group == groupOf(os.Getpid()) {
		l.group = ""
	}
	return nil
}

// groupOf is a process's group in the unified hierarchy.
func groupOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// stop ends the session as a person would, beside what is watched; close hears
// how that came out.
func (l *life) stop(ctx context.Context) {
	l.stopped = make(chan error, 1)
	go func() { l.stopped <- l.e.host.Stop(ctx, l.s.dir) }()
}

// leftovers is everything but processes that a session could leave.
func (l *life) leftovers(groupStays bool) []string {
	var out []string
	id := l.s.dir.ID()
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), id) {
		out = append(out, "a mount that names the session")
	}
	if fd, err := connectTo(unixSock(unix.SOCK_STREAM, filepath.Join(string(l.s.dir), "sock"))); err == nil {
		_ = unix.Close(fd) // nobody may be there
		out = append(out, "somebody answers at the session's socket")
	}
	if f, err := os.OpenFile(filepath.Join(l.s.dir.Workspace(), "beat"), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			out = append(out, "the daemon's lock on its file in the workspace")
		}
		_ = f.Close() // it was only looked at
	}
	for _, dir := range []string{os.TempDir(), "/var/tmp", "/dev/shm"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // none
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), id) || strings.Contains(e.Name(), l.word) {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	if l.group != "" {
		out = append(out, groupLeft(l.group, groupStays)...)
	}
	return out
}

// groupLeft looks for a group of the kernel's that should be gone.
func groupLeft(group string, stays bool) []string {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(root, group)
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if stays && len(text) == 0 && unix.Rmdir(dir) == nil {
			return nil // what the next start would have done
		}
		return []string{"the group " + dir}
	}
	return nil
}

// record is what the session's folder says of the end.
func (l *life) record(ctx context.Context) (state, workgone string) {
	d, err := l.e.host.DetailOf(ctx, l.s.dir)
	if err != nil {
		return "unreadable: " + err.Error(), ""
	}
	if _, err := os.Stat(filepath.Join(l.s.dir.Workspace(), "README.md")); err != nil {
		workgone = err.Error()
	}
	state = string(d.State)
	if d.Signal != "" {
		state += " by " + d.Signal
	}
	return state, workgone
}

// close takes everything away, whatever state it is in.
func (l *life) close(en ending) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if l.release != nil {
		l.release()
	}
	if en.undo != nil && l.supervisor != 0 {
		en.undo(l)
	}
	if l.client != nil {
		_ = l.client.Process.Kill() // gone, mostly
		_ = l.client.Wait()         // how it ended was said above
	}
	if l.s == nil || l.s.dir == "" {
		return nil
	}
	if l.stopped != nil {
		select {
		case err := <-l.stopped:
			if err != nil && !errors.Is(err, session.ErrNotLive) {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.s.close(ctx)
}
