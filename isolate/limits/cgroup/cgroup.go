// Package cgroup finds a part of the cgroup v2 tree that this account may
// divide, and makes, checks and removes one group a session in it. It never
// gives controllers on from a group that holds processes, and changes nothing
// but groups named as it names them. A process is born in its group; only where
// this process is in no such part does it ask the account's service manager to
// move a process that waits, into a scope that is then such a part. isolate
// starts sessions in such groups; session and doctor ask whether there is a
// place for them.
//
// What this does not cover: cgroup v1.
package cgroup

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Prefix is what every session's group begins with.
const Prefix = "fumehood-"

// Limits are what the kernel holds all of a session to together. 0 is none.
type Limits struct {
	Memory    int64
	Processes int
	CPUs      int
}

// file is one setting of a group.
type file struct{ name, value string }

// files is what is written into a new group, in this order. A session over its
// memory is ended as a whole: the rest of one is of no use, and fumehood names
// the limit.
func (l Limits) files(cpu bool) []file {
	var out []file
	if l.Memory > 0 {
		out = append(
			out, file{"memory.oom.group", "1"}, file{"memory.swap.max", "0"},
			file{"memory.max", strconv.FormatInt(l.Memory/page*page, 10)},
		)
	}
	if l.Processes > 0 {
		out = append(out, file{"pids.max", strconv.Itoa(l.Processes)})
	}
	if l.CPUs > 0 && cpu {
		out = append(out, file{"cpu.max", fmt.Sprintf("%d %d", l.CPUs*period, period)})
	}
	return out
}

const (
	page   = 4096    // memory.max keeps whole pages
	period = 100_000 // microseconds, as the kernel has it by default
)

// Tree is where cgroup v2 is mounted and where this process is in it.
type Tree struct {
	Mount string // such as /sys/fs/cgroup
	Own   string // such as /user/shell
}

// errNoTree says that there is no cgroup v2.
var errNoTree = errors.New("no cgroup v2 is mounted")

// parseTree reads /proc/self/cgroup and /proc/self/mountinfo.
func parseTree(cgroups, mounts string) (Tree, error) {
	t := Tree{Own: unified(cgroups)}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		// Only the whole tree will do: what a bind mount of a part shows has
		// other paths than /proc/PID/cgroup.
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 && f[3] == "/" {
			t.Mount = f[4]
			break
		}
	}
	// A path that leads up is that of a process outside this cgroup namespace.
	if t.Mount == "" || !path.IsAbs(t.Own) || strings.Contains(t.Own, "/..") {
		return Tree{}, errNoTree
	}
	return t, nil
}

// unified is the path in the v2 tree that a /proc/PID/cgroup names.
func unified(cgroups string) string {
	var own string
	for line := range strings.Lines(cgroups) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			own = rest
		}
	}
	return own
}

// parents lists the groups from a process's own up to the top.
func parents(own string) []string {
	var out []string
	for p := path.Clean(own); ; p = path.Dir(p) {
		out = append(out, p)
		if p == "/" {
			return out
		}
	}
}

// group is what was found of one group, as far as this account is concerned.
type group struct {
	mayDivide  bool     // make a child, and have a process born there
	mayGive    bool     // write subtree_control
	delegated  bool     // or there is nobody else who manages the tree
	processes  bool     // it holds some
	has, gives []string // controllers that it has, and gives to its children
}

// wants is the controllers that a place must give; cpu is welcome.
func wants() []string { return []string{"memory", "pids"} }

// verdict says whether a group is a place for sessions, and which controllers
// it has to be told to give first.
func (g group) verdict() (give []string, ok bool) {
	if !g.mayDivide || !g.delegated {
		return nil, false
	}
	for _, c := range append(wants(), "cpu") {
		switch {
		case slices.Contains(g.gives, c):
		case slices.Contains(g.has, c) && g.mayGive && !g.processes:
			give = append(give, c)
		case c == "cpu":
		default:
			return nil, false
		}
	}
	return give, true
}

// lookup finds the last value of a key in a file such as memory.events.
func lookup(text, key string) (int64, bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == key {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
