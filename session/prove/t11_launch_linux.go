package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// launchEnding is one way in which another sandbox's command comes to its end.
type launchEnding struct {
	id, tried string
	signal    unix.Signal // to the launcher; 0 lets the probe end by itself
}

var launchEndings = []launchEnding{
	{"end", "the command ends by itself", 0},
	{"launcher-kill", "KILL to the process that was started", unix.SIGKILL},
	{"launcher-term", "TERM to the process that was started", unix.SIGTERM},
	{"launcher-stop", "STOP to the process that was started", unix.SIGSTOP},
}

// lingerFor is how long a probe that ends by itself lets the host look first.
const lingerFor = 500 * time.Millisecond

// endLaunch launches a probe that leaves a daemon, ends the launch in one way
// and looks at the process table.
func (e *env) endLaunch(ctx context.Context, en launchEnding) walls.Attempt {
	_, word := nonce()
	l, o := e.launchAndEnd(ctx, en, word)
	return l.attempt(en.id, en.tried, word, o)
}

func (e *env) launchAndEnd(ctx context.Context, en launchEnding, word string) (l lifetime, o outcome) {
	theirs, ok := e.target.(*command)
	if !ok {
		return l, errored("the target is no command")
	}
	// A program of its own, so that what it leaves can be told from the others'.
	own := &command{e: e, words: theirs.words, path: filepath.Join(filepath.Dir(theirs.path), probe.Name+"-"+e.id+"-"+word)}
	if err := copyProgram(own.path, -1, -1); err != nil {
		return l, errored(err.Error())
	}
	defer func() {
		if err := endAll(own.path); err != nil {
			o = errored(err.Error())
		}
	}()
	job := daemonJob(word, filepath.Join(e.repo, "beat-"+word), 0)
	if en.signal == 0 {
		job = daemonJob(word, filepath.Join(e.repo, "beat-"+word), lingerFor)
	} else {
		job.Stay = true
	}
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	started, ended := make(chan int, 1), make(chan struct{})
	var endErr error // once ended is closed
	go func() {
		defer close(ended)
		_, endErr = (&launched{c: own}).probe(inside, job, how{started: func(pid int) { started <- pid }})
	}()
	finish := func(o outcome) (lifetime, outcome) {
		cancel()
		if err := endAll(own.path); err != nil { // a stopped launcher would hold the wait up
			return l, errored(err.Error())
		}
		<-ended
		return l, o
	}
	var pid int
	select {
	case pid = <-started:
	case <-ended:
		return finish(errored(fmt.Sprintf("the probe did not start: %v", endErr)))
	case <-ctx.Done():
		return finish(errored(ctx.Err().Error()))
	}
	launcher, err := launcherOf(pid)
	if err != nil {
		return finish(errored(err.Error()))
	}
	daemon, stopped, l := observe(ctx, word)
	all := herd{}
	for _, pid := range []int{daemon, stopped, pid} {
		if st, err := limits.ReadStat(pid, 0); err == nil && pid > 0 {
			all[pid] = st.Start
		}
	}
	l.processes = len(all)
	if en.signal != 0 {
		if err := unix.Kill(launcher, en.signal); err != nil {
			return finish(errored(fmt.Sprintf("%s: %v", en.tried, err)))
		}
		l.took, l.alive = all.ended(ctx)
		if en.signal == unix.SIGSTOP {
			_ = unix.Kill(launcher, unix.SIGKILL) // gone, when all is well
		}
		return finish(outlived(l))
	}
	select {
	case <-ended:
		if endErr != nil {
			return finish(errored(endErr.Error()))
		}
	case <-ctx.Done():
		return finish(errored(ctx.Err().Error()))
	}
	l.took, l.alive = all.ended(ctx)
	return finish(outlived(l))
}

// launcherOf is the process above a probe that was started first: it is the
// child of the process that this one started it by.
func launcherOf(pid int) (int, error) {
	for range 64 {
		st, err := limits.ReadStat(pid, 0)
		if err != nil {
			return 0, err
		}
		above, err := limits.ReadStat(st.Parent, 0)
		if err != nil {
			return 0, err
		}
		if above.Parent == os.Getpid() {
			return pid, nil
		}
		pid = st.Parent
	}
	return 0, errors.New("the probe has no launcher above it")
}
