package stage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// readProc reads one process. Its state is T only when every thread of it is
// stopped: a group stop reaches each by itself, and a process whose first
// thread has ended looks like a zombie while others run.
func readProc(pid int) (proc, error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	q, err := parseStat(dir + "/stat")
	if err != nil {
		return proc{}, err
	}
	if q.state != 'T' && q.state != 'Z' {
		return q, nil
	}
	tasks, err := os.ReadDir(dir + "/task")
	if err != nil {
		return proc{}, err
	}
	for _, t := range tasks {
		one, err := parseStat(dir + "/task/" + t.Name() + "/stat")
		if err != nil {
			return proc{}, err
		}
		switch one.state {
		case 'Z', 'X':
		case 'T':
			if q.state == 'Z' {
				q.state = 'T'
			}
		default:
			q.state = one.state
			return q, nil
		}
	}
	return q, nil
}

func parseStat(path string) (proc, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return proc{}, err
	}
	// The name is in parentheses and may hold anything, parentheses too.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return proc{}, fmt.Errorf("%s: not understood", path)
	}
	f := bytes.Fields(text[end+1:])
	if len(f) < 20 {
		return proc{}, fmt.Errorf("%s: %d fields", path, len(f))
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	if err != nil {
		return proc{}, fmt.Errorf("%s: %w", path, err)
	}
	parent, err := strconv.Atoi(string(f[1]))
	if err != nil {
		return proc{}, fmt.Errorf("%s: %w", path, err)
	}
	return proc{pid: pid, parent: parent, start: string(f[19]), state: f[0][0]}, nil
}
