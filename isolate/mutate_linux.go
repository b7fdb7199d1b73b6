package isolate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// Parts is every part of the walls, in the order in which they are closed, with
// the reason where one can't be left out here.
func Parts() []Part { return thisMachine().parts() }

// ErrUnfit says that this session does not have the part, or can't be without it.
var ErrUnfit = plan.ErrUnfit

// StartWithout is Start with one of Parts left out and all others closed. The
// others are looked at from outside as by Start, and so is that this one is
// missing. It is for showing what a part is good for, in a sandbox that is
// thrown away and runs harmless attempts alone; nothing that a session is
// started from leads here. A part that the spec makes no use of, such as a limit
// that it does not set, is ErrUnfit.
func StartWithout(ctx context.Context, spec Spec, part Part) (*Sandbox, error) {
	if part.Cannot != "" || part.part.Omit == plan.Nothing {
		return nil, fmt.Errorf("leave out %q: it can't be: %s", part.Name, part.Cannot)
	}
	return (&launch{spec: spec, part: part}).start(ctx)
}

func thisMachine() machine {
	m := machine{root: os.Getuid() == 0}
	groups, err := os.Getgroups()
	m.groups = err == nil && len(groups) > 0
	m.abi, _ = ll.LandlockGetABIVersion() // an error is ABI 0: no session starts then
	nnp, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	m.noNewPrivs = nnp == 1
	var core unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &core) == nil {
		m.coreMax = core.Max
	}
	if text, err := os.ReadFile("/proc/self/oom_score_adj"); err == nil {
		_, _ = fmt.Sscan(string(text), &m.oomScoreAdj) // 0, when it is no number
	}
	_, err = os.Stat("/proc/sys/abi/vsyscall32") // there where the 32-bit ABI is
	m.foreign = err == nil
	return m
}

// leaveOut makes the plan less the part.
func (l *launch) leaveOut() error {
	l.whole = l.plan
	if l.part.part.Omit == plan.Nothing {
		return nil
	}
	var host []plan.Step
	if l.part.part.Omit == plan.MinimalRoot {
		var err error
		if host, err = l.hostTrees(); err != nil {
			return err
		}
	}
	if l.part.part.Omit == plan.LimitCPUs && l.cpus == nil {
		return fmt.Errorf("leave out %q: %w: it has none", l.part.Name, ErrUnfit)
	}
	p, err := l.plan.Without(l.part.part, host)
	if err != nil {
		return err
	}
	l.plan = p
	return nil
}

// bornWithout is what the starter itself does for a part.
func (l *launch) bornWithout(cmd *exec.Cmd) {
	attr := cmd.SysProcAttr
	omit := l.part.part.Omit
	switch {
	case omit == plan.NetNS:
		attr.Cloneflags &^= unix.CLONE_NEWNET
	case omit == plan.IPCNS:
		attr.Cloneflags &^= unix.CLONE_NEWIPC
	case omit == plan.UTSNS:
		attr.Cloneflags &^= unix.CLONE_NEWUTS
	case omit == plan.CgroupNS:
		attr.Cloneflags &^= unix.CLONE_NEWCGROUP
	case omit == plan.ParentDeath:
		attr.Pdeathsig = 0
	case omit == plan.OwnSession:
		attr.Setsid = false
	case omit == plan.Groups:
		attr.Credential.NoSetGroups = true
	case omit == plan.EmptyEnviron:
		cmd.Env = append(os.Environ(), cmd.Env...)
	}
}

func (l *launch) boundTo() []int {
	if l.part.part.Omit == plan.LimitCPUs {
		return nil
	}
	return l.cpus
}

// maxTrees bounds what of the host's folders is shown one by one.
const maxTrees = 2000

// hostTrees is what of the host's root the plan leaves out: each folder and file
// beside what the plan has, at its own place.
func (l *launch) hostTrees() ([]plan.Step, error) {
	var out []plan.Step
	dirs := []string{""}
	for len(dirs) > 0 {
		dir := dirs[0]
		dirs = dirs[1:]
		entries, err := os.ReadDir("/" + dir)
		if err != nil {
			continue // not this account's to read: then it is not its to be shown either
		}
		for _, e := range entries {
			target := strings.TrimPrefix(dir+"/"+e.Name(), "/")
			at, below := l.plan.Holds(target)
			kind := e.Type()
			switch {
			case below && !at && kind.IsDir():
				dirs = append(dirs, target)
			case at, below, !kind.IsDir() && !kind.IsRegular() && kind&os.ModeSocket == 0:
			case len(out) >= maxTrees:
				return nil, fmt.Errorf("leave out %q: %w: more than %d folders and files lie beside its own, the last in %q", l.part.Name, ErrUnfit, maxTrees, "/"+dir)
			default:
				s := plan.Step{Do: plan.HostTree, Target: target, Source: "/" + target}
				if s.FD, err = l.hostTree(s.Source); err != nil {
					continue // as above, or gone
				}
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// hostTree looks whether a place can be shown. When root starts, a detached
// mount of it goes along.
func (l *launch) hostTree(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil || os.Getuid() != 0 {
		closeFDs(fd)
		return 0, err
	}
	closeFDs(fd)
	fd, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return 0, &layer.Error{Layer: layer.Namespaces, Op: fmt.Sprintf("open_tree %q", path), Err: err}
	}
	l.mounts = append(l.mounts, os.NewFile(uintptr(fd), path))
	return plan.FDMounts + len(l.mounts) - 1, nil
}
