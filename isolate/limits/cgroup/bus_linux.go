package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bus is the account's own service manager (systemd --user), which can move
// processes into a part of the tree that is the account's to divide. That
// matters where this process is in none: after a login over ssh or at a
// console.
type Bus struct {
	Dir    string // what the manager divides, on the host
	CPU    bool   // it has the cpu controller
	Tree   string // where the whole tree is mounted
	Socket string // where the manager is spoken to
	Shared bool   // the socket is a bus's, which wants to be greeted
}

// ErrRefused says that the service manager said no and changed nothing.
var ErrRefused = errors.New("the service manager makes no scope")

// NoBus says why there is no manager that could help, and what would change
// that where something does.
type NoBus struct{ Why, Hint string }

func (e *NoBus) Error() string { return e.Why }

// FindBus looks for the account's service manager and asks it what it divides.
// Every reason why it can't be had is a NoBus: limits are sampled then. Root
// has the tree itself.
func FindBus() (*Bus, error) {
	uid := os.Getuid()
	if uid == 0 {
		return nil, &NoBus{Why: "root asks no service manager"}
	}
	mounts, err := read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	t, err := parseTree("0::/\n", mounts)
	if err != nil {
		return nil, &NoBus{Why: err.Error()}
	}
	return findBus(endpoints(uid), t.Mount)
}

// Offered is the better of what Find and FindBus find, or why there is neither.
type Offered struct {
	Place *Place
	Bus   *Bus
	Why   string
}

// Offer looks for both. An error says that it could not be found out.
func Offer() (Offered, error) {
	p, err := Find()
	if err != nil || p != nil {
		return Offered{Place: p}, err
	}
	b, err := FindBus()
	var none *NoBus
	if errors.As(err, &none) {
		return Offered{Why: none.Why}, nil
	}
	return Offered{Bus: b}, err
}

const (
	hintLinger   = "loginctl enable-linger" // starts one now, too
	hintDelegate = `sudo systemctl edit user@.service, with "[Service]" and "Delegate=cpu memory pids" in it, then log in again`
)

func findBus(all []endpoint, tree string) (*Bus, error) {
	none := &NoBus{Why: "this account has no service manager"}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		none.Hint = hintLinger
	}
	for _, e := range all {
		err := e.there()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			var b *Bus
			if b, err = e.ask(tree); err == nil {
				return b, nil
			}
		}
		if !errors.As(err, &none) {
			none = &NoBus{Why: err.Error()}
		}
		if none.Hint == hintDelegate {
			break // the same manager by another way has no more
		}
	}
	return nil, none
}

// ask has the manager tell which group it divides, and looks there for what
// sessions need.
func (e endpoint) ask(tree string) (*Bus, error) {
	c, err := e.dial()
	if err != nil {
		return nil, err
	}
	var m marshal
	m.text(unitsInterface)
	m.text("ControlGroup")
	out, err := c.call(call{dest: unitsName, path: unitsPath, iface: propsInterface, member: "Get", signature: "ss", body: m.buf}, "v")
	if err = errors.Join(err, c.close()); err != nil {
		return nil, fmt.Errorf("ask for its cgroup: %w", err)
	}
	group := out[0]
	if !path.IsAbs(group) || path.Clean(group) != group {
		return nil, fmt.Errorf("its cgroup is %.100q, which is none", group)
	}
	b := &Bus{Dir: filepath.Join(tree, group), Tree: tree, Socket: e.path, Shared: e.bus}
	text, err := read(filepath.Join(b.Dir, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("look at its cgroup: %w", err)
	}
	has := strings.Fields(text)
	for _, want := range wants() {
		if !contains(has, want) {
			return nil, &NoBus{Why: fmt.Sprintf("it was not given the controller %s, only %q", want, strings.Join(has, " ")), Hint: hintDelegate}
		}
	}
	b.CPU = contains(has, "cpu")
	return b, nil
}

// scopeFor is how long the manager may take to move processes.
const scopeFor = 2 * time.Second

// named says that a session's ID may stand in the name of a unit. No regular
// expression: one made at start costs every exec of the program.
func named(id string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return id != "" && len(id) <= 64 && strings.Trim(id, letters) == ""
}

// scopeProperties are those of a session's scope. It is delegated, so that the
// limits are ours to write and to read back, in a group of its own below. It
// sets no limit itself: what the manager has as a default for processes could
// be lower than the policy's.
func scopeProperties(id string, pids []int) []property {
	numbers := make([]uint32, len(pids))
	for i, p := range pids {
		numbers[i] = uint32(p)
	}
	return []property{
		{"Description", "s", "fumehood session " + id},
		{"Delegate", "b", true},
		{"CollectMode", "s", "inactive-or-failed"}, // nothing is left of it once it is empty
		{"TasksMax", "t", ^uint64(0)},
		{"PIDs", "au", numbers},
	}
}

// Adopt moves process first, and others that are fumehood's own, into a scope
// of the manager's, and first on into a group of its own that holds it to l.
// first must have no child and must start none before Adopt returns. The others
// keep the scope alive until the group was removed.
//
// ErrRefused says that the manager said no and that nothing was moved; after
// any other error processes may have been, and must not go on.
func (b *Bus) Adopt(id string, l Limits, first int, others ...int) (*Place, *Group, error) {
	if !named(id) {
		return nil, nil, fmt.Errorf("session %q: no name for a scope", id)
	}
	unit := fmt.Sprintf("%s%s-%d.scope", Prefix, id, first) // the one before may be on its way out
	pids := append([]int{first}, others...)
	dir, err := b.scope(unit, id, pids)
	if err != nil {
		return nil, nil, err
	}
	p := &Place{Dir: dir}
	for _, pid := range others {
		if err := p.settle("outside", pid); err != nil {
			return nil, nil, err
		}
	}
	if err := p.settle(Prefix+id, first); err != nil {
		return nil, nil, err
	}
	g, err := p.hold(id, l)
	return p, g, err
}

// scope asks for the scope and waits until the kernel shows every process in it.
func (b *Bus) scope(unit, id string, pids []int) (dir string, err error) {
	c, err := endpoint{path: b.Socket, bus: b.Shared}.dial()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err) // nothing was asked for yet
	}
	defer func() { err = errors.Join(err, c.close()) }()
	_, err = c.call(call{
		dest: unitsName, path: unitsPath, iface: unitsInterface, member: "StartTransientUnit",
		signature: scopeSignature, body: scopeBody(unit, scopeProperties(id, pids)),
	}, "o")
	var no *refusal
	if errors.As(err, &no) {
		return "", fmt.Errorf("%w: %w", ErrRefused, no)
	}
	if err != nil {
		return "", fmt.Errorf("ask for scope %s: %w", unit, err)
	}
	deadline := time.Now().Add(scopeFor)
	for {
		dir, where, err := b.allIn(unit, pids)
		if err != nil || dir != "" {
			return dir, err
		}
		result, err := c.jobEnded(unit, 2*time.Millisecond)
		switch {
		case err != nil:
			return "", fmt.Errorf("wait for scope %s: %w", unit, err)
		case result != "" && result != "done" && path.Base(where) != unit:
			return "", fmt.Errorf("%w: its job ended as %.40q", ErrRefused, result)
		case time.Now().After(deadline):
			return "", fmt.Errorf("the service manager took scope %s, and process %d is in %q after %v", unit, pids[0], where, scopeFor)
		}
	}
}

// allIn gives the scope's folder once all processes are in it, as the kernel
// has it; else where the first one is that is elsewhere.
func (b *Bus) allIn(unit string, pids []int) (dir, where string, err error) {
	for _, pid := range pids {
		own, err := read(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			return "", "", err
		}
		where = unified(own)
		at := filepath.Join(b.Tree, where)
		if path.Base(where) != unit || !strings.HasPrefix(at, b.Dir+"/") || dir != "" && at != dir {
			return "", where, nil
		}
		dir = at
	}
	return dir, where, nil
}

// settle moves one process into a group below, which is made if need be: a
// group that gives controllers on may hold none itself.
func (p *Place) settle(name string, pid int) error {
	dir := filepath.Join(p.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make cgroup: %w", err)
	}
	return write(filepath.Join(dir, "cgroup.procs"), fmt.Sprint(pid))
}

// hold writes the limits of the group that settle made.
func (p *Place) hold(id string, l Limits) (*Group, error) {
	var err error
	if p.CPU, err = p.give(); err != nil {
		return nil, err
	}
	g := &Group{Dir: filepath.Join(p.Dir, Prefix+id), fd: -1, set: l.files(p.CPU)}
	if err := g.open(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *Group) close() error {
	var err error
	if g.kill != nil {
		err = g.kill.Close()
	}
	if g.fd >= 0 {
		err = errors.Join(err, unix.Close(g.fd))
	}
	return err
}
