package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session/workspace"
)

// holdRows take locks, leases and watches on a file that the sandbox shares
// with the host. Each is held while the host tries for itself.
func (n *otherName) holdRows() ([]row, error) {
	shared := filepath.Join(n.dir, "shared")
	sharedInside := shared
	if r, ok := n.rm.(*bareRoom); ok {
		shared, sharedInside = filepath.Join(r.dir, "input"), r.input
	}
	uid, err := n.e.hostID(n.rm)
	if err != nil {
		return nil, err
	}
	file, fileInside := filepath.Join(shared, "file"), filepath.Join(sharedInside, "file")
	if err := atomicfile.Write(file, []byte("shared\n"), 0o644); err != nil {
		return nil, err
	}
	own := filepath.Join(n.host, "names-"+n.e.id+"-held")
	if err := atomicfile.Write(own, []byte("own\n"), 0o644); err != nil {
		return nil, err
	}
	// A lease is for a file's owner alone (fcntl(2)).
	if err := errors.Join(os.Lchown(file, uid, -1), os.Lchown(own, uid, -1)); err != nil {
		return nil, err
	}
	ownInside := filepath.Join(n.inside, filepath.Base(own))
	list := []row{
		n.holdRow("own flock", "lock a file of the workspace", "flock", "flock", own, ownInside, true),
		n.holdRow("flock", "lock a file that the host shares", "flock", "flock", file, fileInside, false),
		n.holdRow("ofd lock", "lock a file that the host shares by an open file description", "ofd", "fcntl", file, fileInside, false),
		n.holdRow("lease", "take a lease on a file that the host shares", "lease", "fcntl", file, fileInside, false),
	}
	watched := n.holdRow("watch", "watch a file that the host shares while the host opens it", "watch", "inotify_add_watch", file, fileInside, false)
	watched.host, watched.judge = false, judgeEvents(false)
	watched.control = "own watch"
	ownWatch := n.holdRow("own watch", "watch a file of the workspace while the host opens it", "watch", "inotify_add_watch", own, ownInside, false)
	ownWatch.host, ownWatch.judge, ownWatch.control = false, judgeEvents(true), ""
	return append(list, ownWatch, watched), nil
}

func (n *otherName) holdRow(id, tried, way, call, host, inside string, own bool) row {
	name := strings.ReplaceAll(id, " ", "-")
	mark, goOn := "names-"+n.e.id+"-mark-"+name, "names-"+n.e.id+"-go-"+name
	var l *look
	r := row{
		id: id, tried: tried, expected: "the host's own try succeeds meanwhile", control: "own flock", host: true,
		do: probe.Action{Do: "hold", Args: map[string]string{
			"how": way, "path": inside, "mark": filepath.Join(n.inside, mark), "go": filepath.Join(n.inside, goOn),
		}},
		judge: judgeGranted(call, requestOf(way)),
		before: func() error {
			l = lookWhenHeld(filepath.Join(n.host, mark), filepath.Join(n.host, goOn), func() error { return tryFromHost(way, host) })
			return nil
		},
		after: func() (outcome, error) {
			held, answer, err := l.end()
			if err != nil {
				return outcome{}, err
			}
			if !held {
				return notHeld(own), nil
			}
			return judgeHold(way, answer, own), nil
		},
	}
	if own {
		r.control, r.expected = "", "the host sees the lock"
	}
	return r
}

// requestOf is fcntl's own number of a way to hold a file.
func requestOf(way string) uint64 {
	switch way {
	case "ofd":
		return unix.F_OFD_SETLK
	case "lease":
		return unix.F_SETLEASE
	}
	return 0
}

// notHeld is what the host says when nothing was held: the probe could not
// even open the file, which its own calls show.
func notHeld(own bool) outcome {
	if own {
		return errored("the probe held nothing")
	}
	return held("nothing was held", walls.Filesystem, "no mark in the workspace")
}

// judgeEvents judges whether a watch inside was told of what the host did.
func judgeEvents(own bool) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return triedUntraced(s)
		}
		taken := judgeGranted("inotify_add_watch", 0)(s)
		if taken.verdict != walls.Held {
			return taken
		}
		reads := s.seg.Find("read")
		if len(reads) == 0 {
			if c, ok := finalCall(s.seg, "inotify_add_watch"); own || ok && c.OK() {
				return errored("the events were not read" + s.why())
			}
			return taken
		}
		switch c := reads[0]; {
		case c.OK() && own:
			return held("events came", walls.Kernel, c.String())
		case c.OK():
			return failed("what the host does with its file shows inside", walls.Kernel, c.String())
		case own:
			return errored("no event came: " + c.String())
		default:
			return held("no event came", walls.Kernel, c.String())
		}
	}
}

// tryFromHost is what a program of the host's would do with its own file.
func tryFromHost(way, path string) error {
	flags := unix.O_RDONLY
	switch way {
	case "ofd":
		flags = unix.O_RDWR
	case "lease":
		flags = unix.O_WRONLY | unix.O_NONBLOCK // without it the open waits for the lease
	}
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	switch way {
	case "flock":
		return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	case "ofd":
		return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	return nil
}

// look is one try of the host's while something is held inside.
type look struct {
	stop   chan struct{}
	done   chan struct{}
	held   bool
	answer error
	err    error
	files  []string
}

// lookWhenHeld waits for the probe's mark, tries, and tells the probe to go on.
func lookWhenHeld(mark, goOn string, try func() error) *look {
	l := &look{stop: make(chan struct{}), done: make(chan struct{}), files: []string{mark, goOn}}
	go func() {
		defer close(l.done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := os.Lstat(mark); err == nil {
				l.held = true
				l.answer = try()
				l.err = atomicfile.Write(goOn, nil, 0o644)
				return
			}
			select {
			case <-l.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return l
}

// end waits for the look and takes both files away.
func (l *look) end() (held bool, answer, err error) {
	close(l.stop)
	<-l.done
	err = l.err
	for _, f := range l.files {
		if e := os.Remove(f); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return l.held, l.answer, err
}

// nextSession leaves links behind where fumehood and the next session's
// processes would go, stops the session and resumes it.
func (n *otherName) nextSession(ctx context.Context) ([]walls.Attempt, error) {
	s, ok := n.rm.(*sess)
	if !ok {
		return nil, nil // only a session has a next one
	}
	const id = "next-session"
	target := n.target(id)
	var steps []probe.Step
	at := func(path string) string { return "s:" + path }
	for _, l := range []struct{ from, to string }{
		{filepath.Join(n.inside, "README.md"), filepath.Join(target, "secret")},
		{filepath.Join(n.inside, "src"), target},
		{s.home() + "/.gitconfig", filepath.Join(target, "secret")},
		{s.home() + "/.config", target},
		{s.home() + "/.cache", target},
	} {
		steps = append(steps,
			probe.Step{Call: "renameat2", Args: []string{"-100", at(l.from), "-100", at(l.from + ".away"), "0"}, Always: true},
			probe.Step{Call: "symlinkat", Args: []string{at(l.to), "-100", at(l.from)}, Always: true})
	}
	plant := n.guard(row{
		id: id, tried: "swap files and folders of workspace and home for links to the target, and resume the session", expected: "the target unchanged and unopened",
		do: probe.Action{Steps: steps}, judge: works("symlinkat"),
	})
	plant.host = false
	look := plant.after
	plant.after = func() (outcome, error) {
		if err := s.again(ctx); err != nil {
			return outcome{}, fmt.Errorf("resume the session: %w", err)
		}
		return look()
	}
	out, err := n.e.rows(ctx, n.rm, []row{plant})
	if err != nil {
		return out, err
	}
	through := n.guard(row{
		id: "through-next", tried: "open the target through the links in the resumed session", expected: "leads nowhere", judge: judgeAllNowhere("openat", "/secret"),
		do: probe.Action{Steps: []probe.Step{
			{Call: "openat", Args: []string{"-100", at(filepath.Join(n.inside, "src/secret")), "0"}, Always: true},
			{Call: "openat", Args: []string{"-100", at(s.home() + "/.config/secret"), "0"}, Always: true},
		}},
	})
	through.host = false
	more, err := n.e.rows(ctx, n.rm, []row{through})
	return append(out, more...), errors.Join(err, workspace.Remove(target))
}
