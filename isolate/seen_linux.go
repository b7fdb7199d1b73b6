package isolate

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// plant gives the end of a pipe that PID 1 inherits without knowing. When it is
// closed in PID 1 and in what it started, the end of file shows here.
func (l *launch) plant() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l.planted = r
	return w, nil
}

// firstFacts is what PID 1 did to itself, as it shows outside.
func firstFacts(pid int, planted *os.File) (Facts, error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	st, err := readStatus(pid, 0)
	if err != nil {
		return nil, err
	}
	caught, err := strconv.ParseUint(st["SigCgt"], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("SigCgt in /proc/PID/status: %w", err)
	}
	ignored, err := strconv.ParseUint(st["SigIgn"], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("SigIgn in /proc/PID/status: %w", err)
	}
	// What is not dumpable shows its folder's files as root's, whose id no
	// session has.
	var owner unix.Stat_t
	if err := unix.Stat(dir+"/oom_score_adj", &owner); err != nil {
		return nil, fmt.Errorf("owner of /proc/PID: %w", err)
	}
	uid, _, _ := strings.Cut(st["Uid"], "\t")
	session, err := sessionOf(dir)
	if err != nil {
		return nil, err
	}
	out := Facts{
		{Layer: layer.Identity, What: "owner of /proc/PID of PID 1", Value: fmt.Sprint(owner.Uid), Source: "/proc/PID", OK: fmt.Sprint(owner.Uid) != uid},
		{Layer: layer.Identity, What: "terminal session of PID 1", Value: fmt.Sprint(session), Source: "/proc/PID/stat", OK: session == pid},
		{
			Layer: layer.Identity, What: "SigCgt and SigIgn of PID 1", Value: st["SigCgt"] + " " + st["SigIgn"], Source: "/proc/PID/status",
			OK: caught&^plan.SignalsKept() == 0 && ignored == 0,
		},
	}
	held := layer.Fact{Layer: layer.Identity, What: plantedPipe, Value: "closed", Source: "the pipe's other end", OK: true}
	if ended, err := hungUp(planted); err != nil {
		return nil, err
	} else if !ended {
		held.Value, held.OK = "still open", false
	}
	out = append(out, held)
	if os.Getuid() != 0 {
		return out, nil // the rest shows to root alone
	}
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return nil, err
	}
	return append(out, layer.Fact{
		Layer: layer.Identity, What: "environment of PID 1", Value: fmt.Sprintf("%d bytes", len(environ)), Source: "/proc/PID/environ",
		OK: string(environ) == stageEnv+"\x00",
	}), nil
}

// stageEnv is all that PID 1 gets.
const stageEnv = "GOMAXPROCS=1" // one processor is enough

// sessionOf is the terminal session that a process is in.
func sessionOf(dir string) (int, error) {
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0, err
	}
	// The name in front is in parentheses and may hold anything.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 4 {
		return 0, fmt.Errorf("%s/stat: %d fields", dir, len(f))
	}
	return strconv.Atoi(f[3])
}

func oomFacts(spawner int) (Facts, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", spawner))
	if err != nil {
		return nil, err
	}
	got := strings.TrimSpace(string(text))
	return Facts{{Layer: layer.Limits, What: "oom_score_adj of spawner", Value: got, Source: "/proc/PID/oom_score_adj", OK: got == plan.OOMScoreAdj}}, nil
}

// gidFacts is for root, which can drop supplementary groups; an ordinary
// user's stay.
func gidFacts(spawner int) (Facts, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	st, err := readStatus(spawner, 0)
	if err != nil {
		return nil, err
	}
	return Facts{{Layer: layer.Identity, What: "Groups of spawner", Value: st["Groups"], Source: "/proc/PID/status", OK: st["Groups"] == ""}}, nil
}

// programFacts looks at the mount that the spawner runs from, through the
// process itself: the mount has no name any more when all is closed.
func programFacts(spawner int) (Facts, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(fmt.Sprintf("/proc/%d/exe", spawner), &st); err != nil {
		return nil, fmt.Errorf("mount of the own program: %w", err)
	}
	f := layer.Fact{Layer: layer.Namespaces, What: "mount of the own program", Value: "read-only", Source: "/proc/PID/exe", OK: st.Flags&unix.ST_RDONLY != 0}
	if !f.OK {
		f.Value = "can be written"
	}
	return Facts{f}, nil
}

// readable says whether something is in a socket's queue, or comes within so
// many milliseconds.
func readable(fd, within int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, within)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return n > 0, err
	}
}

// forkMillis is how long another process of this program may be between its
// fork and its exec, and hold every descriptor for as long.
const forkMillis = 1000

// hungUp says whether every other end of a pipe is closed.
func hungUp(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var ended bool
	var perr error
	err = raw.Control(func(fd uintptr) { ended, perr = readable(int(fd), forkMillis) })
	return ended, errors.Join(err, perr)
}
