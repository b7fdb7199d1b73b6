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
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session/workspace"
)

// otherNames tries to reach a file outside by another name than its path.
func otherNames(ctx context.Context, e *env) ([]walls.Attempt, error) {
	n := &otherName{e: e}
	var err error
	if n.dir, err = e.plant(e.dir); err != nil {
		return nil, err
	}
	n.dir = filepath.Join(n.dir, "names")
	if err := os.MkdirAll(filepath.Join(n.dir, "shared"), 0o755); err != nil {
		return nil, err
	}
	fd, err := n.leak()
	if err != nil {
		return nil, err
	}
	// Not close-on-exec, so that it goes into whatever is started until then.
	defer unix.Close(fd)
	pol := *e.lasting()
	pol.Filesystem.Inputs = append(append([]string(nil), pol.Filesystem.Inputs...), filepath.Join(n.dir, "shared"))
	rm, err := e.openRoom(ctx, &pol)
	if err != nil {
		return nil, err
	}
	n.rm = rm
	n.host, n.inside = rm.workspace()
	list := n.linkRows()
	procs, err := n.procRows()
	if err != nil {
		return nil, err
	}
	list = append(list, procs...)
	list = append(list, n.descriptorRows(fd)...)
	list = append(list, n.machineRows()...)
	holds, err := n.holdRows()
	if err != nil {
		return nil, err
	}
	out, err := e.rows(ctx, rm, append(list, holds...))
	if err != nil {
		return out, err
	}
	next, err := n.nextSession(ctx)
	out = append(out, next...)
	return out, errors.Join(err, rm.close(ctx))
}

// otherName is what the rows of this test share.
type otherName struct {
	e            *env
	rm           room
	dir          string // of the targets on the host
	host, inside string // of the workspace
}

// leak leaves a folder with a canary open, as a careless parent would.
func (n *otherName) leak() (int, error) {
	dir := filepath.Join(n.dir, "leaked")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return -1, err
	}
	if err := atomicfile.Write(filepath.Join(dir, "secret"), []byte(n.e.token+"\n"), 0o644); err != nil {
		return -1, err
	}
	low, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("leave a folder open: %w", err)
	}
	defer unix.Close(low)
	fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD, 300)
	if err != nil {
		return -1, fmt.Errorf("leave a folder open: %w", err)
	}
	return fd, nil
}

// outcomes that lead nowhere.
var nowhere = []syscall.Errno{unix.ENOENT, unix.EACCES, unix.EPERM, unix.EROFS, unix.EXDEV, unix.ELOOP, unix.ENOTDIR}

// guard gives a row a target of its own, a folder with the file "secret", and
// lets the host judge that it was neither changed nor opened.
func (n *otherName) guard(r row) row {
	var before string
	var w *watch
	dirty := true
	dir := n.target(r.id)
	path := filepath.Join(dir, "secret")
	r.host = true
	r.before = func() (err error) {
		if dirty {
			err = errors.Join(workspace.Remove(dir), os.MkdirAll(dir, 0o755), atomicfile.Write(path, []byte("token = "+n.e.token+"\n"), 0o644))
		}
		if err != nil {
			return err
		}
		dirty = false
		if w != nil {
			w.close()
		}
		if before, err = snapshotOf(dir); err != nil {
			return err
		}
		if w, err = newWatch(); err != nil {
			return err
		}
		return w.add(path)
	}
	r.after = func() (outcome, error) {
		seen := w
		defer seen.close()
		w = nil
		opened, err := seen.events(path)
		if err != nil {
			return outcome{}, err
		}
		now, err := snapshotOf(dir)
		if err != nil {
			return outcome{}, err
		}
		dirty = before != now
		return judgeGuard(dir, before, now, opened), nil
	}
	return r
}

func (n *otherName) target(id string) string { return filepath.Join(n.dir, filepath.Base(id)) }

// linkRows are links, renames and the race.
func (n *otherName) linkRows() []row {
	at := func(name string) string { return "s:" + filepath.Join(n.inside, "names-"+n.e.id+"-"+name) }
	out := func(id string) string { return "s:" + filepath.Join(n.target(id), "secret") }
	create := func(name string) probe.Step {
		return probe.Step{Call: "openat", Args: []string{"-100", at(name), "0o101", "0o600"}}
	}
	remove := func(name string) probe.Step {
		return probe.Step{Call: "unlinkat", Args: []string{"-100", at(name), "0"}, Always: true}
	}
	link := func(id, name string) probe.Step {
		return probe.Step{Call: "symlinkat", Args: []string{out(id), "-100", at(name)}}
	}
	try := func(id, tried, call string, steps ...probe.Step) row {
		return n.guard(row{
			id: id, tried: tried, expected: "leads nowhere; the target on the host unchanged and unopened",
			do: probe.Action{Steps: steps}, control: "own names", judge: leadsNowhere(call, nowhere),
		})
	}
	list := []row{{
		id: "own names", tried: "symlink, hard link, open and rename within the workspace", expected: "work",
		do: probe.Action{Steps: []probe.Step{
			create("a"),
			{Call: "symlinkat", Args: []string{at("a"), "-100", at("b")}},
			{Call: "openat", Args: []string{"-100", at("b"), "0"}},
			{Call: "linkat", Args: []string{"-100", at("a"), "-100", at("c"), "0"}},
			{Call: "renameat2", Args: []string{"-100", at("a"), "-100", at("c2"), "0"}},
			{Call: "renameat2", Args: []string{"-100", at("b"), "-100", at("c"), "2"}},
			remove("b"), remove("c"), remove("c2"),
		}},
		judge: works("renameat2"), host: true,
	}}
	list = append(
		list,
		try("symlink", "read through a symlink in the workspace that points at the target", "openat",
			link("symlink", "l"), probe.Step{Call: "openat", Args: []string{"-100", at("l"), "0"}}, remove("l")),
		try("symlink-write", "append through a symlink in the workspace that points at the target", "openat",
			link("symlink-write", "w"), probe.Step{Call: "openat", Args: []string{"-100", at("w"), "0o2101", "0o600"}}, remove("w")),
		try("hard-link", "hard-link the target into the workspace", "linkat",
			probe.Step{Call: "linkat", Args: []string{"-100", out("hard-link"), "-100", at("h"), "0"}}, remove("h")),
		try("rename-in", "rename the target into the workspace", "renameat2",
			probe.Step{Call: "renameat2", Args: []string{"-100", out("rename-in"), "-100", at("i"), "0"}}, remove("i")),
		try("rename-out", "rename a file of the workspace over the target", "renameat2",
			create("o"), probe.Step{Call: "renameat2", Args: []string{"-100", at("o"), "-100", out("rename-out"), "0"}}, remove("o")),
		try("exchange", "exchange a file of the workspace with the target", "renameat2",
			create("e"), probe.Step{Call: "renameat2", Args: []string{"-100", at("e"), "-100", out("exchange"), "2"}}, remove("e")),
	)
	path := func(name string) string { return filepath.Join(n.inside, "names-"+n.e.id+"-"+name) }
	list = append(list, n.guard(row{
		id: "swap-race", tried: "swap a folder for a symlink to the target's folder in a loop, and open a file below it meanwhile", expected: "the target on the host unopened",
		do:      probe.Action{Do: "swap-race", Args: map[string]string{"dir": path("d"), "link": path("s"), "name": "secret", "to": n.target("swap-race")}},
		control: "own names", judge: judgeRace,
	}))
	return append(list, n.guard(row{
		id: "io_uring", tried: "open the target by a request in an io_uring", expected: "refused, or leads nowhere",
		do:      probe.Action{Do: "ring-open", Args: map[string]string{"path": filepath.Join(n.target("io_uring"), "secret")}},
		control: "own names", judge: judgeRing,
	}))
}

// procRows go through other processes, and through the numbers of files.
func (n *otherName) procRows() ([]row, error) {
	var first []probe.Step
	for _, f := range []string{"root", "cwd", "environ", "mem", "maps", "exe", "fd", "ns/mnt", "map_files"} {
		first = append(first, probe.Step{Call: "openat", Args: []string{"-100", "s:/proc/1/" + f, "0"}, Always: true})
	}
	through := filepath.Join(n.target("proc"), "secret")
	host := filepath.Join(n.target("proc-host"), "secret")
	list := []row{
		n.guard(row{
			id: "proc", tried: "open the target through the root and working folder of every process to be seen", expected: "leads nowhere",
			do: probe.Action{Do: "through-proc", Args: map[string]string{"path": through}}, control: "own names", judge: judgeAllNowhere("openat", through),
		}),
		n.guard(row{
			id: "proc-host", tried: fmt.Sprintf("open the target through /proc/%d/root, a process of the host's", os.Getpid()), expected: "leads nowhere",
			do:      probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", fmt.Sprintf("s:/proc/%d/root%s", os.Getpid(), host), "0"}}}},
			control: "own names", judge: leadsNowhere("openat", nowhere),
		}),
		{
			id: "proc-1", tried: "open what /proc/1 shows: root, cwd, environ, mem, maps, exe, fd, ns, map_files", expected: "refused",
			do: probe.Action{Steps: first}, control: "own names", judge: judgeAllNowhere("openat", "/proc/1/"), ours: true,
		},
	}
	handles, err := n.handleRows()
	return append(list, handles...), err
}

// handleRows open by a number that was got outside, and ask for one.
func (n *otherName) handleRows() ([]row, error) {
	const id = "handle"
	errnos := []syscall.Errno{unix.EPERM, unix.ENOSYS, unix.EACCES}
	buf := make([]byte, 8+120)
	binary.NativeEndian.PutUint32(buf, 120)
	ask := row{
		id: "ask-handle", tried: "ask for the number of the workspace's folder, name_to_handle_at", expected: "refused", control: "own names",
		do: probe.Action{Steps: []probe.Step{{Call: "name_to_handle_at", Args: []string{
			"-100", "s:" + n.inside, "d:" + base64.StdEncoding.EncodeToString(buf), "z:4", "0",
		}}}},
		judge: refused("name_to_handle_at", errnos...), ours: true,
	}
	open := row{
		id: id, tried: "open the target by its number, which the host handed in: open_by_handle_at", expected: "refused", control: "own names", account: true,
		judge: leadsNowhere("open_by_handle_at", errnos),
	}
	open = n.guard(open)
	// The number is that of the file, which stays as long as nobody changes it.
	if err := open.before(); err != nil {
		return nil, err
	}
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, filepath.Join(n.target(id), "secret"), 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		open.judge = func(*seen) outcome { return notApplicable("the host's own file system gives its files no numbers") }
		return []row{ask, open}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for a file's number on the host: %w", err)
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(h.Size()))
	b = binary.NativeEndian.AppendUint32(b, uint32(h.Type()))
	handle := base64.StdEncoding.EncodeToString(append(b, h.Bytes()...))
	open.do = probe.Action{Steps: []probe.Step{
		{Call: "openat", Args: []string{"-100", "s:" + n.inside, "0o200000"}, Save: "fd"},
		{Call: "open_by_handle_at", Args: []string{"$fd", "d:" + handle, "0"}},
	}}
	return []row{ask, open}, nil
}

// descriptorRows look for what was left open.
func (n *otherName) descriptorRows(fd int) []row {
	return []row{
		{
			id: "own descriptor", tried: "open a file by a descriptor of the workspace's folder", expected: "works", judge: works("openat"), host: true,
			do: probe.Action{Steps: []probe.Step{
				{Call: "openat", Args: []string{"-100", "s:" + n.inside, "0o200000"}, Save: "fd"},
				{Call: "openat", Args: []string{"$fd", "s:README.md", "0"}},
				{Call: "close", Args: []string{"$fd"}},
			}},
		},
		{
			id: "descriptors", tried: fmt.Sprintf("use every inherited descriptor; %d was left open outside on a folder with a canary", fd), expected: "none is there",
			do: probe.Action{Do: "descriptors", Args: map[string]string{"fd": strconv.Itoa(fd), "name": "secret"}}, control: "own descriptor", judge: judgeDescriptors(fd),
		},
	}
}

// machineRows open what belongs to the whole machine for writing, and write nothing.
func (n *otherName) machineRows() []row {
	list := []row{{
		id: "proc-sys-read", tried: "open /proc/sys/kernel/ostype for reading", expected: "works",
		do: probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:/proc/sys/kernel/ostype", "0"}}}}, judge: works("openat"),
	}}
	for _, f := range []struct{ id, path, flags string }{
		{"core_pattern", "/proc/sys/kernel/core_pattern", "1"},
		{"drop_caches", "/proc/sys/vm/drop_caches", "1"},
		{"sysctl-hostname", "/proc/sys/kernel/hostname", "1"},
		{"sysrq", "/proc/sysrq-trigger", "1"},
		{"kcore", "/proc/kcore", "2"},
	} {
		list = append(list, row{
			id: f.id, tried: "open " + f.path + " for writing, and write nothing", expected: "refused", control: "proc-sys-read",
			do:    probe.Action{Steps: []probe.Step{{Call: "openat", Args: []string{"-100", "s:" + f.path, f.flags}}}},
			judge: judgeMachine(f.path), account: true,
		})
	}
	return list
}

// judgeMachine judges one of the machine's own files, where this kernel has it.
func judgeMachine(path string) func(*seen) outcome {
	_, err := os.Lstat(path)
	return func(s *seen) outcome {
		if errors.Is(err, fs.ErrNotExist) {
			return notApplicable("this kernel has no " + path)
		}
		return refused("openat", nowhere...)(s)
	}
}
