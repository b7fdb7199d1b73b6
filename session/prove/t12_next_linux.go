package prove

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// nextSession has one sandbox leave things, and looks for each from one beside
// it and from the next. The two that live at once look at each other.
func nextSession(ctx context.Context, e *env) ([]walls.Attempt, error) {
	n, err := newLeavings(e)
	if err != nil {
		return nil, err
	}
	out, err := n.run(ctx)
	return out, errors.Join(err, n.clean(ctx))
}

func (n *leavings) run(ctx context.Context) ([]walls.Attempt, error) {
	e := n.e
	one, err := e.openRoom(ctx, e.lasting())
	if err != nil {
		return nil, err
	}
	beside, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	out, err := n.leave(ctx, one, "one")
	if err != nil {
		return out, err
	}
	more, err := e.rows(ctx, beside, n.look(one, beside, "one", "beside"))
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	more, err = n.leave(ctx, beside, "two")
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	more, err = e.rows(ctx, one, n.look(beside, one, "two", "back"))
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	if e.target.kind() == foreign {
		return out, nil // each of its probes was a launch of its own
	}
	if err := one.close(ctx); err != nil {
		return out, err
	}
	next, err := e.openRoom(ctx, e.lasting())
	if err != nil {
		return out, err
	}
	more, err = e.rows(ctx, next, n.look(one, next, "one", "next"))
	out = append(out, more...)
	return out, errors.Join(err, next.close(ctx))
}

// leavings is everything that is left, and how each went.
type leavings struct {
	e      *env
	places []lair
	left   map[string]string // "who what": what kept it from being left, "" when it is there
	alive  map[string]int    // who: the process on the host that was left
}

// lair is a folder in which something can be left.
type lair struct {
	name string // inside, "" for the home
	host string // the run's own folder at the same place on the host, "" where it may make none
}

func (p lair) label() string {
	if p.name == "" {
		return "the home"
	}
	return p.name
}

func newLeavings(e *env) (*leavings, error) {
	n := &leavings{e: e, left: map[string]string{}, alive: map[string]int{}}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run", ""} {
		p := lair{name: dir}
		if dir == "" {
			dir = e.host.Home
		}
		made, err := e.plant(dir)
		switch {
		case err == nil:
			p.host = made
			// A sandbox of root's runs as another account.
			if err := openToAll(made); err != nil {
				return nil, err
			}
		case !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS):
			return nil, err
		}
		n.places = append(n.places, p)
	}
	return n, nil
}

// openToAll lets every account write into a folder of the run's own.
func openToAll(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %q: %w", dir, err)
	}
	return errors.Join(unix.Fchmod(fd, 0o777), unix.Close(fd))
}

// folder is where in a place something is left, as the room names it.
func (n *leavings) folder(rm room, p lair) string {
	dir := p.name
	if dir == "" {
		if dir = rm.home(); dir == "" {
			dir = n.e.host.Home
		}
	}
	return filepath.Join(dir, "fumehood-canary-"+n.e.id)
}

// key is a number of System V objects that nobody else uses.
func (n *leavings) key(who string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(n.e.id + who)) // never fails
	return h.Sum32()&0x3fffffff | 0x40000000
}

func (n *leavings) name(who string) string { return "fumehood-" + n.e.id + "-" + who }

// userKeyring is KEY_SPEC_USER_KEYRING.
const userKeyring = "-4"

// thing is one kind of what can be left.
type thing struct {
	id, what string
	call     string       // the call that leaves it, and
	make     []probe.Step // how
	seek     string       // the call that finds it, and
	find     []probe.Step // how
	absent   []syscall.Errno
}

func (n *leavings) things(maker, seeker room, who string) []thing {
	var out []thing
	for _, p := range n.places {
		file := func(rm room) string { return "s:" + filepath.Join(n.folder(rm, p), "left-"+who) }
		label := p.label()
		out = append(out, thing{
			id: "file in " + label, what: "a file in " + label, call: "openat", seek: "openat", absent: []syscall.Errno{unix.ENOENT, unix.EACCES},
			make: []probe.Step{
				{Call: "mkdirat", Args: []string{"-100", "s:" + n.folder(maker, p), "0o777"}, Always: true},
				{Call: "openat", Args: []string{"-100", file(maker), "0o101", "0o666"}, Always: true},
			},
			find: []probe.Step{{Call: "openat", Args: []string{"-100", file(seeker), "0"}}},
		})
	}
	key, name := fmt.Sprint(n.key(who)), n.name(who)
	simple := func(id, what, call string, create, find []string, absent ...syscall.Errno) {
		out = append(out, thing{
			id: id, what: what, call: call, seek: call, absent: absent,
			make: []probe.Step{{Call: call, Args: create}}, find: []probe.Step{{Call: call, Args: find}},
		})
	}
	simple("shared memory", "a System V segment", "shmget", []string{key, "4096", "0o1666"}, []string{key, "0", "0"}, unix.ENOENT)
	simple("semaphore", "a System V semaphore", "semget", []string{key, "1", "0o1666"}, []string{key, "0", "0"}, unix.ENOENT)
	simple("message queue", "a System V message queue", "msgget", []string{key, "0o1666"}, []string{key, "0"}, unix.ENOENT)
	simple("posix queue", "a POSIX message queue", "mq_open", []string{"s:" + name, "0o102", "0o666", "0"}, []string{"s:" + name, "0", "0", "0"}, unix.ENOENT, unix.EACCES)
	out = append(out, thing{
		id: "key", what: "a key in the user's keyring", call: "add_key", seek: "keyctl", absent: []syscall.Errno{unix.ENOSYS, unix.ENOKEY, unix.EPERM, unix.EACCES},
		make: []probe.Step{{Call: "add_key", Args: []string{"s:user", "s:" + name, "s:left", "4", userKeyring}}},
		find: []probe.Step{{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_SEARCH), userKeyring, "s:user", "s:" + name, "0"}}},
	})
	return out
}

// leave has a room leave everything, traced, and then a process that holds
// sockets, untraced: it would end with the tracer.
func (n *leavings) leave(ctx context.Context, rm room, who string) ([]walls.Attempt, error) {
	var list []row
	for _, t := range n.things(rm, rm, who) {
		slot := who + " " + t.id
		list = append(list, row{
			id: "leave " + t.id + " (" + who + ")", tried: "leave " + t.what, expected: "is left, or can't be", do: probe.Action{Steps: t.make},
			judge: func(s *seen) outcome {
				o, why := judgeLeft(t.call, s)
				n.left[slot] = why
				return o
			},
		})
	}
	out, err := n.e.rows(ctx, rm, list)
	if err != nil {
		return out, err
	}
	stay := probe.Action{Do: "leave-alive", Args: map[string]string{
		"abstract": n.name(who), "path": filepath.Join(n.folder(rm, n.places[0]), "sock-"+who),
	}}
	got, err := rm.probe(ctx, probe.Job{Actions: []probe.Action{stay}}, how{})
	if err != nil {
		return out, err
	}
	pid := n.stayed(who)
	n.alive[who] = pid
	o := errored(fmt.Sprintf("no process was left: %+v", got.said[0]))
	if pid != 0 {
		o = held("it runs", walls.Status, fmt.Sprintf("process %d of the host: %s %s", pid, "stay", n.name(who)))
	} else if rm.first() == 0 {
		o = held("it ended with the command that started it", walls.Status, "no such process on the host")
	}
	n.left[who+" process"] = map[bool]string{true: "", false: "it ended with its command"}[pid != 0]
	_, text := nonce()
	r := row{id: "leave a process (" + who + ")", tried: "leave a process that listens on an abstract socket and on one with a path", expected: "runs on"}
	a := r.attempt(text, false, o, "")
	n.e.tell(walls.Event{Test: n.e.test, Attempt: &a})
	return append(out, a), nil
}

// stayed is the host's number of the process that was left, 0 when there is none.
func (n *leavings) stayed(who string) int {
	procs, err := processesOf("stay\x00" + n.name(who))
	if err != nil || len(procs) == 0 {
		return 0
	}
	var pid int
	if _, err := fmt.Sscanf(procs[0], "%d", &pid); err != nil {
		return 0
	}
	return pid
}

// look is what one room finds of what another left. Beside each stands the same
// search for something of its own, which has to be found.
func (n *leavings) look(maker, seeker room, who, when string) []row {
	var list []row
	own := "own-" + when
	find := n.things(maker, seeker, who)
	for i, t := range n.things(seeker, seeker, own) {
		control := "own " + t.id + " (" + when + ")"
		var blocked bool
		list = append(list, row{
			id: control, tried: "leave " + t.what + " of its own and find it", expected: "is found, or can't be made",
			do: probe.Action{Steps: append(t.make, always(t.find)...)},
			judge: func(s *seen) outcome {
				o := judgeOwn(t.call, t.seek, s)
				blocked = o.observed != wasFound
				return o
			},
		})
		theirs, slot := find[i], who+" "+t.id
		list = append(list, row{
			id: t.id + " (" + when + ")", tried: "find " + t.what + " of another sandbox", expected: "absent", control: control,
			do: probe.Action{Steps: theirs.find},
			judge: func(s *seen) outcome {
				return judgeFind(theirs.seek, theirs.absent, n.left[slot], blocked, s)
			},
			after: n.fromHost(who, t.id),
		})
	}
	return append(list, n.sockets(seeker, who, when)...)
}

func always(steps []probe.Step) []probe.Step {
	out := append([]probe.Step(nil), steps...)
	for i := range out {
		out[i].Always = true
	}
	return out
}

// sockets looks for the sockets and the process.
func (n *leavings) sockets(seeker room, who, when string) []row {
	socket := probe.Step{Call: "socket", Args: []string{"1", "1", "0"}, Save: "s"}
	to := func(name string) probe.Action {
		b := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
		b = append(b, name...)
		return probe.Action{Steps: []probe.Step{socket, {Call: "connect", Args: []string{"$s", "d:" + base64.StdEncoding.EncodeToString(b), "len:1"}}}}
	}
	path := filepath.Join(n.folder(seeker, n.places[0]), "sock-"+who)
	gone := []syscall.Errno{unix.ECONNREFUSED, unix.ENOENT, unix.EPERM, unix.EACCES}
	list := []row{
		{id: "socket (" + when + ")", tried: "make a unix socket", expected: "works", do: probe.Action{Steps: []probe.Step{socket}}, judge: works("socket")},
		{id: "abstract socket (" + when + ")", tried: "connect to the abstract socket of another sandbox", expected: "absent", do: to("\x00" + n.name(who)), judge: n.lookFor(who, "connect", gone), control: "socket (" + when + ")"},
		{id: "socket with a path (" + when + ")", tried: "connect to the socket " + path + " of another sandbox", expected: "absent", do: to(path), judge: n.lookFor(who, "connect", gone), control: "socket (" + when + ")"},
	}
	process := row{
		id: "process (" + when + ")", tried: "open the files of the process that another sandbox left", expected: "absent", control: "socket (" + when + ")",
		judge: n.lookFor(who, "openat", []syscall.Errno{unix.ENOENT}),
		do:    probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", fmt.Sprintf("s:/proc/%d/cmdline", n.alive[who]), "0"}}}},
	}
	if when == "next" {
		process.after = func() (outcome, error) {
			if pid := n.stayed(who); pid != 0 {
				return failed("it runs on the host after its sandbox has ended", walls.Status, fmt.Sprintf("process %d of the host", pid)), nil
			}
			return held("it is gone from the host", walls.Status, "no such process on the host"), nil
		}
	}
	return append(list, process)
}

func (n *leavings) lookFor(who, call string, absent []syscall.Errno) func(*seen) outcome {
	return func(s *seen) outcome { return judgeFind(call, absent, n.left[who+" process"], false, s) }
}

// fromHost looks for what was left in the host's own tables and folders; nil
// for what neither shows.
func (n *leavings) fromHost(who, id string) func() (outcome, error) {
	tables := map[string]string{"shared memory": "shm", "semaphore": "sem", "message queue": "msg"}
	if table, ok := tables[id]; ok {
		return func() (outcome, error) {
			text, err := os.ReadFile("/proc/sysvipc/" + table)
			if err != nil {
				return outcome{}, err
			}
			return judgeTable(table, string(text), n.key(who)), nil
		}
	}
	for _, p := range n.places {
		if id != "file in "+p.label() || p.host == "" {
			continue
		}
		path := filepath.Join(p.host, "left-"+who)
		return func() (outcome, error) {
			if _, err := os.Lstat(path); err == nil {
				return failed("it lies on the host", walls.Filesystem, path), nil
			}
			return held("it is not on the host", walls.Filesystem, "lstat "+path+": absent"), nil
		}
	}
	return nil
}
