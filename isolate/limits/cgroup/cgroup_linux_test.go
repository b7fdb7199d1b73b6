package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTreeIsReadFromTheKernelsFiles(t *testing.T) {
	const v2 = "25 20 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	const part = "26 20 0:22 /user /srv/part rw - cgroup2 cgroup2 rw\n"
	for _, row := range []struct {
		name, cgroups, mounts string
		want                  Tree
		ok                    bool
	}{
		{"v2 alone", "0::/user/shell\n", v2, Tree{"/sys/fs/cgroup", "/user/shell"}, true},
		{"a part first", "0::/user/shell\n", part + v2, Tree{"/sys/fs/cgroup", "/user/shell"}, true},
		{"a part alone", "0::/user/shell\n", part, Tree{}, false},
		{"hybrid", "4:memory:/a\n0::/\n", "30 20 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" + strings.ReplaceAll(v2, "cgroup rw,nosuid", "cgroup/unified rw"), Tree{"/sys/fs/cgroup/unified", "/"}, true},
		{"v1 alone", "4:memory:/a\n", "", Tree{}, false},
		{"outside the cgroup namespace", "0::/../other\n", v2, Tree{}, false},
		{"a mount without a path", "0::/\n", "1 - cgroup2 x\n", Tree{}, false},
	} {
		got, err := parseTree(row.cgroups, row.mounts)
		if got != row.want || (err == nil) != row.ok {
			t.Errorf("%s: got %+v, %v, want %+v, %v", row.name, got, err, row.want, row.ok)
		}
	}
}

func TestOnlyAGroupWithoutProcessesIsToldToGive(t *testing.T) {
	all := []string{"cpu", "memory", "pids"}
	for _, row := range []struct {
		name string
		g    group
		give string
		ok   bool
	}{
		{"gives already", group{mayDivide: true, delegated: true, processes: true, has: all, gives: all}, "", true},
		{"has to be told", group{mayDivide: true, mayGive: true, delegated: true, has: all}, "memory pids cpu", true},
		{"holds processes", group{mayDivide: true, mayGive: true, delegated: true, processes: true, has: all}, "", false},
		{"may not be told", group{mayDivide: true, delegated: true, has: all}, "", false},
		{"has none", group{mayDivide: true, mayGive: true, delegated: true}, "", false},
		{"may not be divided", group{mayGive: true, delegated: true, has: all, gives: all}, "", false},
		{"managed by another", group{mayDivide: true, mayGive: true, has: all, gives: all}, "", false},
		{"without cpu", group{mayDivide: true, delegated: true, has: all, gives: []string{"memory", "pids"}}, "", true},
	} {
		give, ok := row.g.verdict()
		if got := strings.Join(give, " "); got != row.give || ok != row.ok {
			t.Errorf("%s: got %q, %v, want %q, %v", row.name, got, ok, row.give, row.ok)
		}
	}
}

// fake makes a folder that looks like a group.
func fake(t *testing.T, dir string, has, gives, procs string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cgroup.controllers": has, "cgroup.subtree_control": gives, "cgroup.procs": procs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePlaceIsTheNearestAboveThatGives(t *testing.T) {
	top := t.TempDir()
	fake(t, top, "cpu memory pids", "memory pids", "1\n")
	fake(t, filepath.Join(top, "user"), "memory pids", "memory pids", "")
	fake(t, filepath.Join(top, "user/shell"), "memory pids", "", "77\n")
	fake(t, filepath.Join(top, "user/shell/deep"), "", "", "78\n")
	tree := Tree{Mount: top, Own: "/user/shell/deep"}
	if got := tree.find(); got == nil || got.Dir != filepath.Join(top, "user") || got.CPU {
		t.Errorf("got %+v, want the folder user, without cpu", got)
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(filepath.Join(top, "user/cgroup.procs"), 0o444); err != nil {
			t.Fatal(err)
		}
		if got := tree.find(); got == nil || got.Dir != top {
			t.Errorf("got %+v, want the top: no process may be moved into user", got)
		}
	}
	tree.Mount = t.TempDir()
	if got := tree.find(); got != nil {
		t.Errorf("got %+v in an empty folder, want none", got)
	}
}

func TestLimitsBecomeFiles(t *testing.T) {
	l := Limits{Memory: 200<<20 + 1, Processes: 60, CPUs: 2}
	want := []file{
		{"memory.oom.group", "1"}, {"memory.swap.max", "0"}, {"memory.max", "209715200"}, {"pids.max", "60"}, {"cpu.max", "200000 100000"},
	}
	if got := l.files(true); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := l.files(false); !slices.Equal(got, want[:4]) {
		t.Errorf("without cpu: got %v, want %v", got, want[:4])
	}
	if got := (Limits{}).files(true); len(got) != 0 {
		t.Errorf("without limits: got %v, want nothing", got)
	}
}

func TestEventsAreLookedUp(t *testing.T) {
	const text = "low 0\noom 3\noom_kill 2\noom_group_kill 1\n"
	if n, ok := lookup(text, "oom_kill"); n != 2 || !ok {
		t.Errorf("got %d, %v, want 2", n, ok)
	}
	if _, ok := lookup(text, "oom_"); ok {
		t.Error("got a value for a key that is not there")
	}
}
