package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// readOutside is test 1.
func readOutside(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	w, err := newWatch()
	if err != nil {
		return nil, err
	}
	defer w.close()
	r := &reading{e: e, rm: rm, w: w}
	if r.mounted, err = e.mountedPlaces(); err != nil {
		return nil, err
	}
	c, err := e.startCarrier(ctx)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	list := r.controls()
	for _, rows := range []func() ([]row, error){
		r.canaries, func() ([]row, error) { return r.otherPaths(c) }, r.project, r.homeFiles, r.ownRecord, r.carriedOut, r.sights,
	} {
		more, err := rows()
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return e.rows(ctx, rm, list)
}

// reading makes the rows of test 1.
type reading struct {
	e       *env
	rm      room
	w       *watch
	mounted []string // places of the host that the policy shows inside
}

// absent is how the kernel refuses what is not there or not granted.
var absent = []syscall.Errno{unix.ENOENT, unix.EACCES, unix.EPERM}

// openAction opens a path and reads from it.
func openAction(path string) probe.Action {
	return probe.Action{Steps: []probe.Step{
		{Call: "openat", Args: []string{"-100", "s:" + path, fmt.Sprint(unix.O_RDONLY | unix.O_NONBLOCK)}, Save: "fd"},
		{Call: "read", Args: []string{"$fd", "z:4096", "4096"}},
		{Call: "close", Args: []string{"$fd"}},
	}}
}

// onlyOpen opens a path and reads nothing: it may be a real file of the user's.
func onlyOpen(path string) probe.Action {
	return probe.Action{Steps: []probe.Step{
		{Call: "openat", Args: []string{"-100", "s:" + path, fmt.Sprint(unix.O_RDONLY | unix.O_NONBLOCK)}, Save: "fd"},
		{Call: "close", Args: []string{"$fd"}},
	}}
}

func lookAction(call, path string, rest ...string) probe.Action {
	return probe.Action{Steps: []probe.Step{{Call: call, Args: append([]string{"-100", "s:" + path}, rest...)}}}
}

// listAction opens a folder and reads its names.
func listAction(path string) probe.Action {
	return probe.Action{Steps: []probe.Step{
		{Call: "openat", Args: []string{"-100", "s:" + path, fmt.Sprint(unix.O_RDONLY | unix.O_DIRECTORY)}, Save: "fd"},
		{Call: "getdents64", Args: []string{"$fd", "z:4096", "4096"}},
		{Call: "close", Args: []string{"$fd"}},
	}}
}

// way is one call that tells of a file.
type way struct {
	id, tried, call string
	do              func(path string) probe.Action
}

var ways = []way{
	{"open", "open", "openat", openAction},
	{"open path", "open with O_PATH", "openat", func(p string) probe.Action {
		return lookAction("openat", p, fmt.Sprint(unix.O_PATH))
	}},
	{"stat", "stat", "newfstatat", func(p string) probe.Action { return lookAction("newfstatat", p, "z:256", "0") }},
	{"statx", "statx", "statx", func(p string) probe.Action { return lookAction("statx", p, "0", "0xfff", "z:256") }},
	{"access", "ask for access to", "faccessat", func(p string) probe.Action { return lookAction("faccessat", p, "4") }},
	{"readlink", "read the link beside", "readlinkat", func(p string) probe.Action {
		return lookAction("readlinkat", p+linkSuffix, "z:256", "256")
	}},
	{"getxattr", "list the attributes of", "listxattr", func(p string) probe.Action {
		return probe.Action{Steps: []probe.Step{{Call: "listxattr", Args: []string{"s:" + p, "z:256", "256"}}}}
	}},
}

const linkSuffix = ".link"

// controls is each way at a file of the workspace.
func (r *reading) controls() []row {
	host, inside := r.rm.workspace()
	link := filepath.Join(host, plainName+linkSuffix)
	var out []row
	for _, wy := range ways {
		out = append(out, row{
			id: "workspace " + wy.id, tried: wy.tried + " a file of the workspace", expected: "works",
			do: wy.do(filepath.Join(inside, plainName)), judge: works(wy.call),
			before: func() error { return atLeast(os.Symlink("main.txt", link)) },
			after:  func() (outcome, error) { return nothingMore, atLeastGone(os.Remove(link)) },
		})
	}
	out = append(out, row{
		id: "workspace list", tried: "list the workspace", expected: "works", do: listAction(inside), judge: works("getdents64"),
	}, row{
		// The watch is a witness only if it sees what is opened through a mount.
		id: "workspace watched", tried: "open a file of the workspace that is watched from outside", expected: "works, and the watch sees it",
		do: openAction(filepath.Join(inside, "README.md")), host: true,
		before: func() error { return r.w.add(filepath.Join(host, "README.md")) },
		judge: func(s *seen) outcome {
			n, err := r.w.events(filepath.Join(host, "README.md"))
			switch {
			case err != nil:
				return errored(err.Error())
			case n == 0:
				return errored("the watch on the host did not see a file opened that was opened" + s.why())
			}
			return beside(works("openat")(s), held("the watch saw it", walls.Filesystem, fmt.Sprintf("inotify: %d events", n)))
		},
	})
	return out
}

// nothingMore is what a look afterwards adds when it only cleans up.
var nothingMore = outcome{verdict: walls.NA}

func atLeast(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func atLeastGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// plainName is the file that the run leaves in a workspace for controls, with a
// link beside it.
const plainName = "src/main.txt"

// beside joins what two witnesses saw of one attempt.
func beside(a, b outcome) outcome {
	w := worst(a, b)
	if a.verdict != walls.Held || b.verdict != walls.Held {
		return w
	}
	if a.witness == walls.Supervisor {
		return b // the probe's own report beside a witness
	}
	return outcome{a.verdict, a.observed + "; " + b.observed, a.witness, a.evidence + "; " + b.evidence}
}

// place is somewhere on the host where the run can put a file.
type place struct{ id, dir, why string }

// places lists them; why says that there can be none, or none that proves
// anything.
func (e *env) places(mounted []string) []place {
	list := []place{{id: "run folder", dir: e.dir}, {id: "home", dir: e.real.Home}, {id: "tmp", dir: "/tmp"}, {id: "var tmp", dir: "/var/tmp"}, {id: "shm", dir: "/dev/shm"}}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) {
		runtime = fmt.Sprintf("/run/user/%d", e.real.UID)
	}
	list = append(list, place{id: "runtime folder", dir: runtime})
	if e.real.UID == 0 {
		// Of root's other folders every account can pass through to this one.
		list = append(list, place{id: "var", dir: "/var"})
	}
	for i, p := range list {
		switch {
		case p.dir == "":
			list[i].why = "this account has none"
		case below(p.dir, mounted):
			list[i].why = "the policy mounts that place"
		case unix.Access(p.dir, unix.W_OK|unix.X_OK) != nil:
			list[i].why = "it is not there, or this account can't write there"
		}
	}
	return list
}

// mountedPlaces lists the folders and files of the host that appear inside.
func (e *env) mountedPlaces() ([]string, error) {
	shape, err := e.real.Shape(e.pol)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range shape.Mounts {
		if host, _, ok := strings.Cut(m, " -> "); ok && filepath.IsAbs(host) {
			out = append(out, host)
		}
	}
	return out, nil
}

// below says whether a path is one of a list or below one.
func below(path string, list []string) bool {
	for _, at := range list {
		if path == at || strings.HasPrefix(path, strings.TrimSuffix(at, "/")+"/") {
			return true
		}
	}
	return false
}

// skipped is a row for what can't be tried here.
func skipped(id, tried, why string) row {
	return row{id: id, tried: tried, expected: "refused or absent", judge: func(*seen) outcome { return notApplicable(why) }}
}
