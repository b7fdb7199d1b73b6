package workspace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"fumehood/session/baseline"
)

// benchFiles is how many files the large benchmarks use; the budgets are meant
// for 80,000. Without FUMEHOOD_BENCH_FILES they are skipped.
func benchFiles(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("FUMEHOOD_BENCH_FILES"))
	if err != nil || n <= 0 {
		b.Skipf("got FUMEHOOD_BENCH_FILES=%q, want a number of files such as 80000", os.Getenv("FUMEHOOD_BENCH_FILES"))
	}
	return n
}

// largeRepo makes a committed repository of n files, about 13 KiB each.
func largeRepo(b *testing.B, top string, n int) string {
	b.Helper()
	repo := filepath.Join(top, "repo")
	block := make([]byte, 64<<10)
	seed := uint32(1)
	for i := range block {
		seed = seed*1664525 + 1013904223
		block[i] = "abcdefghijklmnopqrstuvwxyz \n(){};="[seed>>16%34]
	}
	for i := range n {
		dir := filepath.Join(repo, fmt.Sprintf("d%02d", i%40), fmt.Sprintf("e%02d", i/40%50))
		if i < 40*50 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		size := 1<<10 + i*7919%(24<<10)
		data := append([]byte(fmt.Sprintf("file %d\n", i)), block[i%(32<<10):][:size]...)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%05d.go", i)), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "a"},
		{"config", "user.email", "a@host.test"},
		{"config", "gc.auto", "0"},
		{"add", "-A"},
		{"commit", "-q", "-m", "x"},
		{"-c", "pack.window=0", "repack", "-a", "-d", "-q"},
	} {
		run1(b, repo, "git", args...)
	}
	time.Sleep(1100 * time.Millisecond) //nolint:forbidigo // an index as young as its files proves nothing, and only the clock ages it
	run1(b, repo, "touch", ".git/index")
	run1(b, repo, "git", "update-index", "-q", "--refresh")
	return repo
}

func run1(b *testing.B, dir, name string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func benchTop(b *testing.B) string {
	top, err := os.MkdirTemp(os.Getenv("FUMEHOOD_BENCH_DIR"), "fumehood-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := Remove(top); err != nil {
			b.Error(err)
		}
	})
	return top
}

// BenchmarkCopyIn compares the whole of copy-in with "cp -a" of the same
// repository on the same file system: ratio is cp's time over ours.
func BenchmarkCopyIn(b *testing.B) {
	n := benchFiles(b)
	top := benchTop(b)
	repo := largeRepo(b, top, n)
	ctx := context.Background()
	var ours, cp, reflink []time.Duration
	for round := range 3 {
		// Nothing is removed between the rounds: ext4 passes over the inodes of
		// what was just deleted one by one, which slows every copy to a crawl.
		state := filepath.Join(top, fmt.Sprintf("state%d", round))
		if err := os.Mkdir(state, 0o700); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		r, err := Inspect(ctx, repo, "/nonexistent")
		if err != nil {
			b.Fatal(err)
		}
		sel, err := Choose(ctx, r, Options{})
		if err != nil {
			b.Fatal(err)
		}
		chosen := time.Since(start)
		if _, err := CopyIn(ctx, r, sel, Target{Dirs: baseline.Dirs{Workspace: filepath.Join(state, "workspace"), Store: filepath.Join(state, "store")}}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		b.Logf("choose %v, all %v", chosen, ours[len(ours)-1])
		for _, how := range []struct {
			to   *[]time.Duration
			flag string
		}{{&cp, "--reflink=never"}, {&reflink, "--reflink=auto"}} {
			*how.to = append(*how.to, run1(b, top, "cp", "-a", how.flag, repo, fmt.Sprintf("copy%d%s", round, how.flag)))
		}
	}
	b.ReportMetric(float64(median(ours).Milliseconds()), "ms/copyin")
	b.ReportMetric(float64(median(cp))/float64(median(ours)), "x-cp-never")
	b.ReportMetric(float64(median(reflink))/float64(median(ours)), "x-cp-auto")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSnapshot compares a snapshot after 20 changed files with "git
// status" in the same tree: ratio is ours over git's.
func BenchmarkSnapshot(b *testing.B) {
	n := benchFiles(b)
	top := benchTop(b)
	repo := largeRepo(b, top, n)
	ctx := context.Background()
	d := baseline.Dirs{Workspace: filepath.Join(top, "workspace"), Store: filepath.Join(top, "store")}
	r, err := Inspect(ctx, repo, "/nonexistent")
	if err != nil {
		b.Fatal(err)
	}
	sel, err := Choose(ctx, r, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := CopyIn(ctx, r, sel, Target{Dirs: d}); err != nil {
		b.Fatal(err)
	}
	first := run1(b, d.Workspace, "git", "status")
	for i := range 20 {
		f := sel.Files[i*len(sel.Files)/20].Path
		if err := os.WriteFile(filepath.Join(d.Workspace, f), fmt.Appendf(nil, "changed %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	var ours, git, load []time.Duration
	for range 9 {
		git = append(git, run1(b, d.Workspace, "git", "--no-optional-locks", "status"))
		start := time.Now()
		m, err := baseline.Load(d)
		if err != nil {
			b.Fatal(err)
		}
		load = append(load, time.Since(start))
		s, err := baseline.Take(ctx, d, m, baseline.Options{})
		if err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		if len(s.Changes()) != 20 {
			b.Fatalf("got %d changes, want 20", len(s.Changes()))
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms/first-status")
	b.ReportMetric(float64(median(load).Milliseconds()), "ms/load")
	b.ReportMetric(float64(median(ours).Milliseconds()), "ms/snapshot")
	b.ReportMetric(float64(median(git).Milliseconds()), "ms/git-status")
	b.ReportMetric(float64(median(ours))/float64(median(git)), "x-git-status")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCopyInSmall is what a start pays in a repository of one file.
func BenchmarkCopyInSmall(b *testing.B) {
	top := benchTop(b)
	repo := filepath.Join(top, "repo")
	if err := os.Mkdir(repo, 0o755); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "a"}, {"config", "user.email", "a@host.test"}, {"commit", "-q", "--allow-empty", "-m", "x"},
	} {
		run1(b, repo, "git", args...)
	}
	ctx := context.Background()
	i := 0
	for b.Loop() {
		i++
		state := filepath.Join(top, strconv.Itoa(i))
		if err := os.Mkdir(state, 0o700); err != nil {
			b.Fatal(err)
		}
		r, err := Inspect(ctx, repo, "/nonexistent")
		if err != nil {
			b.Fatal(err)
		}
		sel, err := Choose(ctx, r, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := CopyIn(ctx, r, sel, Target{Dirs: baseline.Dirs{Workspace: filepath.Join(state, "workspace"), Store: filepath.Join(state, "store")}}); err != nil {
			b.Fatal(err)
		}
	}
}
