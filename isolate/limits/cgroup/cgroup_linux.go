package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Place is a group in which sessions' groups can be made.
type Place struct {
	Dir string // on the host
	CPU bool   // it gives the cpu controller
}

// Find looks for a place from this process's own group upwards. Nil and no
// error says that there is none. Only a group that has to be told to give
// controllers is changed, and only by Open.
func Find() (*Place, error) {
	own, err := read("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	t, err := parseTree(own, mounts)
	if errors.Is(err, errNoTree) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.find(), nil
}

func (t Tree) find() *Place {
	for _, p := range parents(t.Own) {
		dir := filepath.Join(t.Mount, p)
		g, err := look(dir)
		if err != nil {
			continue // not shown to this account
		}
		if give, ok := g.verdict(); ok {
			cpu := contains(g.gives, "cpu") || contains(give, "cpu")
			return &Place{Dir: dir, CPU: cpu}
		}
	}
	return nil
}

// look finds out about one group. The top of the tree may hold processes and
// give controllers all the same, and has no cgroup.events.
func look(dir string) (group, error) {
	var g group
	for name, to := range map[string]*[]string{"cgroup.controllers": &g.has, "cgroup.subtree_control": &g.gives} {
		text, err := read(filepath.Join(dir, name))
		if err != nil {
			return g, err
		}
		*to = strings.Fields(text)
	}
	procs, err := read(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return g, err
	}
	g.processes = strings.TrimSpace(procs) != ""
	g.mayDivide = writable(dir) && writable(filepath.Join(dir, "cgroup.procs"))
	g.mayGive = writable(filepath.Join(dir, "cgroup.subtree_control"))
	g.delegated = delegated(dir)
	return g, nil
}

// delegated says whether whoever manages the tree has left this group to
// others. An ordinary account can write only where that was done. Root can
// everywhere, and must ask: a manager removes or moves what it did not make.
func delegated(dir string) bool {
	if os.Geteuid() != 0 {
		return true
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return true // nobody manages it
	}
	buf := make([]byte, 8)
	n, err := unix.Getxattr(dir, "trusted.delegate", buf)
	return err == nil && string(buf[:n]) == "1"
}

func writable(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// Group is one session's. It is made before the session and removed after.
type Group struct {
	Dir  string
	fd   int
	kill *os.File // opened before its holder confines itself
	set  []file
}

// Make makes a session's group and writes its limits. uid and gid are not
// given any right to it.
func (p *Place) Make(id string, l Limits) (*Group, error) {
	p.Sweep()
	if _, err := p.give(); err != nil {
		return nil, err
	}
	dir := filepath.Join(p.Dir, Prefix+id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		// An earlier supervisor of this session was killed and left it empty.
		if !errors.Is(err, fs.ErrExist) || os.Remove(dir) != nil || os.Mkdir(dir, 0o700) != nil {
			return nil, fmt.Errorf("make cgroup: %w", err)
		}
	}
	made := &Group{Dir: dir, fd: -1, set: l.files(p.CPU)}
	if err := made.open(); err != nil {
		return nil, errors.Join(err, made.Remove())
	}
	return made, nil
}

// give has the place give controllers to the groups in it, cpu among them where
// it has that.
func (p *Place) give() (cpu bool, err error) {
	g, err := look(p.Dir)
	if err != nil {
		return false, fmt.Errorf("look at cgroup %q: %w", p.Dir, err)
	}
	give, ok := g.verdict()
	if !ok {
		return false, fmt.Errorf("cgroup %q can't be divided any more", p.Dir)
	}
	for _, c := range give {
		if err := write(filepath.Join(p.Dir, "cgroup.subtree_control"), "+"+c); err != nil {
			return false, err
		}
	}
	return contains(g.gives, "cpu") || contains(give, "cpu"), nil
}

func (g *Group) open() error {
	for _, f := range g.set {
		if err := write(filepath.Join(g.Dir, f.name), f.value); err != nil {
			return err
		}
	}
	var err error
	if g.kill, err = os.OpenFile(filepath.Join(g.Dir, "cgroup.kill"), os.O_WRONLY, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open cgroup.kill: %w", err) // where there is none (before 5.14) the death of PID 1 ends all
	}
	if g.fd, err = unix.Open(g.Dir, unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open cgroup: %w", err)
	}
	return nil
}

// FD is for SysProcAttr.CgroupFD.
func (g *Group) FD() int { return g.fd }

// Setting is one limit as the kernel has it.
type Setting struct{ Name, Want, Got string }

// Settings reads the limits back, of the group in which process pid really is.
func (g *Group) Settings(pid int) (path string, all []Setting, err error) {
	own, err := read(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", nil, err
	}
	mounts, err := read("/proc/self/mountinfo")
	if err != nil {
		return "", nil, err
	}
	t, err := parseTree(own, mounts)
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(t.Mount, t.Own)
	for _, f := range g.set {
		got, err := read(filepath.Join(dir, f.name))
		if err != nil {
			return t.Own, nil, err
		}
		all = append(all, Setting{Name: f.name, Want: f.value, Got: strings.TrimSpace(got)})
	}
	if dir != g.Dir {
		return t.Own, nil, fmt.Errorf("process %d is in cgroup %q, want %q", pid, dir, g.Dir)
	}
	return t.Own, all, nil
}

// OutOfMemory says how often the kernel ended something in the group for its
// memory, and the most that it used; the kernel keeps no peak before 5.19, and
// then that is 0.
func (g *Group) OutOfMemory() (kills, peak int64) {
	text, err := read(filepath.Join(g.Dir, "memory.events"))
	if err != nil {
		return 0, 0
	}
	kills, _ = lookup(text, "oom_kill")
	if text, err = read(filepath.Join(g.Dir, "memory.peak")); err == nil {
		peak, _ = lookup("peak "+text, "peak")
	}
	return kills, peak
}

// Remove ends whatever is left in the group and removes it. It needs to be
// allowed to remove folders in the place.
func (g *Group) Remove() error {
	if g.kill != nil {
		_, _ = g.kill.WriteString("1") // PID 1 is dead, and with it all
		_ = g.kill.Close()
	}
	if g.fd >= 0 {
		_ = unix.Close(g.fd) // a path descriptor holds nothing
		g.fd = -1
	}
	// What has just died leaves its group a moment later.
	deadline := time.Now().Add(removeFor)
	for {
		err := unix.Rmdir(g.Dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove cgroup %q: %w", g.Dir, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

const removeFor = 2 * time.Second

// sweepAge keeps the hands off a group whose session is just being started.
const sweepAge = time.Minute

// Sweep removes empty groups of sessions whose supervisor was killed. The
// kernel refuses to remove one in which anything runs.
func (p *Place) Sweep() {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return // nothing to be seen, nothing to be removed
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > sweepAge {
			_ = unix.Rmdir(filepath.Join(p.Dir, e.Name())) // in use, or gone by now
		}
	}
}

// read reads one of the kernel's own files.
func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 4 << 20 // mountinfo of a busy machine
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), err
}

func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), errors.Unwrap(err))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %q to %s: %w", text, filepath.Base(path), err)
	}
	return nil
}
