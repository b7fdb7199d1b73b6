package limits

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestErrorNamesLimitValueAndUse(t *testing.T) {
	err := error(&Error{Name: "memory", Value: "4GiB", Used: "4.1GiB"})
	if got, want := err.Error(), "limit memory of 4GiB reached: 4.1GiB used"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var le *Error
	if !errors.As(err, &le) {
		t.Error("it is not an Error")
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 1536: "1.5KiB", 4 << 30: "4GiB", 1 << 50: "1024TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestLinesSayWhoEnforces(t *testing.T) {
	if l := Memory(4 << 30); l.How != Sampled || l.Note == "" {
		t.Errorf("got %+v, want sampled, with what that means", l)
	}
	if l := Memory(0); l.How != None {
		t.Errorf("got %+v, want none", l)
	}
	if l := Processes(10); l.How != Enforced || l.Value != "10" {
		t.Errorf("got %+v, want 10, enforced", l)
	}
	if l := Processes(0); l.How != None {
		t.Errorf("got %+v, want none", l)
	}
}

// family starts a shell with two children and one grandchild.
func family(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 600 & (sleep 601; :) & echo ready; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pids, err := Tree(cmd.Process.Pid)
		if err != nil {
			t.Error(err)
		}
		for _, pid := range append(pids, cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // gone already, perhaps
			}
		}
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		pids, err := Tree(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if len(pids) == 3 {
			return cmd.Process.Pid
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d processes, want 3", len(pids))
		}
		<-time.After(time.Millisecond)
	}
}

func TestBothWaysFindTheSameTree(t *testing.T) {
	root := family(t)
	kids, err := byChildren(root)
	if errors.Is(err, errNoChildren) {
		t.Skip("got no children files in /proc, want them")
	}
	if err != nil {
		t.Fatal(err)
	}
	parents, err := byParents(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(kids)
	if !slices.Equal(kids, parents) {
		t.Errorf("got %v by children, %v by parents", kids, parents)
	}
}

func TestTakeCountsTheTree(t *testing.T) {
	root := family(t)
	s, err := Take(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.Threads != 4 || s.Mapped < 128<<10 || s.Mapped > 100<<20 || s.Blind != 0 {
		t.Errorf("got %+v, want 4 threads and some MiB", s)
	}
	used, over, err := Over(root, 1)
	if err != nil || !over || used <= 0 || used > s.Total() {
		t.Errorf("got %d, %v, %v; want over, by at most the upper bound %d", used, over, err, s.Total())
	}
	if _, over, err := Over(root, 1<<40); err != nil || over {
		t.Errorf("got over %v, %v; want not", over, err)
	}
	if _, over, err := Over(root, 0); err != nil || over {
		t.Errorf("got over %v, %v; want not: 0 is no limit", over, err)
	}
}

func TestTreeOfNobodyIsAnError(t *testing.T) {
	if pids, err := Tree(1 << 30); err == nil {
		t.Errorf("got %v, want an error", pids)
	}
	if _, err := Take(1<<30, 0); err == nil {
		t.Error("a sample of nobody is no error")
	}
}

func TestStatOfAHostileName(t *testing.T) {
	text := []byte("42 (a) R 1 ) (b)) S 7 42 42 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 3 0 999 1000 10 18446744073709551615 1 1")
	st, err := parseStat(text)
	if err != nil {
		t.Fatal(err)
	}
	want := Stat{Parent: 7, State: 'S', Threads: 3, Ticks: 11, RSS: 10 * int64(os.Getpagesize()), Start: "999"}
	if st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
	for _, bad := range []string{"", "42", "42 (x", "42 (x) S", ") S 1 2 3"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}

func TestShares(t *testing.T) {
	own, shared, err := parseShares([]byte("55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss: 100 kB\nPss:      80 kB\nPss_Anon: 40 kB\nPss_File: 10 kB\nPss_Shmem:  30 kB\nSwapPss: 5 kB\nShared_Hugetlb: 2048 kB\nPrivate_Hugetlb: 4096 kB\n"))
	if err != nil || own != 6189<<10 || shared != 30<<10 {
		t.Errorf("got %d, %d, %v; want 6189 KiB, 30 KiB", own, shared, err)
	}
	for _, bad := range []string{"Pss_Anon: x kB\n", "Pss_Anon: 5 MB\n", "Pss_Shmem:\n"} {
		if _, _, err := parseShares([]byte(bad)); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}

// What files take is the host's cache and no memory of the session; what is
// swapped out and what maps it is.
func TestUseOfAProcess(t *testing.T) {
	u, err := parseUse([]byte("Name:\tRssAnon: 9 kB\nVmRSS: 1000 kB\nRssAnon:\t 100 kB\nRssFile:\t 500 kB\nRssShmem:\t 20 kB\nVmSwap: 3 kB\nVmPTE: 4 kB\nHugetlbPages: 2048 kB\n"))
	if err != nil || u.bytes != 2175<<10 || u.tables != 4<<10 {
		t.Errorf("got %+v, %v; want 2175 KiB, 4 of them tables", u, err)
	}
	for _, bad := range []string{"RssAnon: x kB\n", "VmSwap: 5 MB\n", "VmPTE:\n"} {
		if _, err := parseUse([]byte(bad)); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}
