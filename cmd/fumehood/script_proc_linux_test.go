package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes every descendant whose parent ends a child of this
// process, so that whatever a session leaves can be found without its help.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// process is what /proc says of one; all of it can be read of any process.
type process struct {
	pid, parent int
	state       byte
	name        string
}

func (p process) String() string { return fmt.Sprintf("%s (pid %d, state %c)", p.name, p.pid, p.state) }

func processes() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	var out []process
	for _, path := range dirs {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		// The name is in parentheses and may hold any byte.
		s := string(b)
		open, end := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
		f := strings.Fields(s[end+1:])
		if open < 0 || len(f) < 2 {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(s[:open]))
		if err != nil {
			continue
		}
		parent, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		out = append(out, process{pid: pid, parent: parent, state: f[0][0], name: s[open+1 : end]})
	}
	return out
}

// alive tells a running process from one that has ended and was not waited for.
func alive(pid int) bool {
	for _, p := range processes() {
		if p.pid == pid {
			return p.state != 'Z' && p.state != 'X'
		}
	}
	return false
}

// orphans waits until this process has no running descendant, and says which
// it still has after a while.
func orphans(within time.Duration) []string {
	return settle(within, func() []string {
		all := processes()
		ours := map[int]bool{os.Getpid(): true}
		for grew := true; grew; {
			grew = false
			for _, p := range all {
				if ours[p.parent] && !ours[p.pid] {
					ours[p.pid], grew = true, true
				}
			}
		}
		var out []string
		for _, p := range all {
			if ours[p.pid] && p.pid != os.Getpid() && p.state != 'Z' {
				out = append(out, p.String())
			}
		}
		return out
	})
}

// processesOf waits until no process names a folder in its arguments or has it
// in its mounts: a supervisor does the one, what is inside a sandbox the other.
func processesOf(dir string, within time.Duration) []string {
	return settle(within, func() []string {
		var out []string
		for _, p := range processes() {
			if p.pid == os.Getpid() || p.state == 'Z' {
				continue
			}
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
			mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", p.pid)) // another account's may not be read
			if strings.Contains(string(args), dir+"/state") || strings.Contains(string(mounts), dir+"/") {
				out = append(out, p.String())
			}
		}
		return out
	})
}

// settle asks until nothing is left, or for so long.
func settle(within time.Duration, left func() []string) []string {
	deadline := time.Now().Add(within)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if out := left(); len(out) == 0 || time.Now().After(deadline) {
			return out
		}
		<-again.C
	}
}

// supervisorOf finds the process that owns a session, 0 when there is none.
func supervisorOf(session string) int {
	for _, p := range processes() {
		if p.state == 'Z' {
			continue
		}
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if err == nil && strings.HasSuffix(string(args), "\x00"+session+"\x00") && strings.Contains(string(args), "\x00__supervise\x00") {
			return p.pid
		}
	}
	return 0
}

// signalNamed knows the signals that scripts send.
func signalNamed(name string) (unix.Signal, error) {
	if s := unix.SignalNum("SIG" + name); s != 0 {
		return s, nil
	}
	return 0, errors.New("unknown signal " + name)
}
