package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The budgets that need the whole program, as ratios in one run: a start with
// everything included, and work inside against the same work outside.
// FUMEHOOD_BENCH_BIN names a binary to measure; without it one is built.

func benchProgram(b *testing.B) (bin, repo string, env []string) {
	b.Helper()
	bin = os.Getenv("FUMEHOOD_BENCH_BIN")
	if bin == "" {
		bin = filepath.Join(b.TempDir(), "fumehood")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Skipf("got %v (%s), want a built program", err, out)
		}
	}
	state := b.TempDir()
	repo = b.TempDir()
	if out, err := exec.Command("git", "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		b.Fatalf("git init: %v: %s", err, out)
	}
	return bin, repo, append(os.Environ(), "XDG_STATE_HOME="+state)
}

func timed(b *testing.B, dir string, env []string, argv ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%q: %v: %s", argv, err, out)
	}
	return time.Since(begin)
}

// BenchmarkRunTrue is `run --rm -- true` in an empty repository, everything
// included. Budget: 60 ms on a machine at rest.
func BenchmarkRunTrue(b *testing.B) {
	bin, repo, env := benchProgram(b)
	timed(b, repo, env, bin, "run", "--rm", "--", "true") // warm
	var all time.Duration
	for b.Loop() {
		all += timed(b, repo, env, bin, "run", "--rm", "--", "true")
	}
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms/run")
}

// BenchmarkWorkInside runs the same work inside and outside: many short
// programs, many file reads, and plain computing. Budget: 1.05 times outside.
func BenchmarkWorkInside(b *testing.B) {
	bin, repo, env := benchProgram(b)
	const work = `s=$(date +%s%N)
i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done
find /usr/share /usr/lib -type f -size -64k 2>/dev/null | head -n 8000 | tr '\n' '\0' | xargs -0 cat 2>/dev/null | wc -c >/dev/null
i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done
echo $(( ($(date +%s%N) - s) / 1000000 ))`
	run := func(argv ...string) float64 {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = repo, env
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%q: %v", argv[0], err)
		}
		ms := 0.0
		for _, c := range out {
			if c >= '0' && c <= '9' {
				ms = ms*10 + float64(c-'0')
			}
		}
		return ms
	}
	run("sh", "-c", work) // fill the page cache
	inside, outside := 0.0, 0.0
	for b.Loop() {
		outside += run("sh", "-c", work)
		inside += run(bin, "run", "--rm", "--", "sh", "-c", work)
	}
	b.ReportMetric(inside/outside, "inside/outside")
	b.ReportMetric(outside/float64(b.N), "ms-outside")
}
