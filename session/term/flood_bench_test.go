package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// cpuOf is a process's user and system time, in seconds.
func cpuOf(t testing.TB, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return (u + s) / 100
}

func selfCPU() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	sec := func(tv syscall.Timeval) float64 { return float64(tv.Sec) + float64(tv.Usec)/1e6 }
	return sec(u.Utime) + sec(u.Stime)
}

// BenchmarkFloodAgainstTmux lets the same command write 50 MB to a Terminal
// whose frames are drawn 60 times a second, and to tmux with a client attached.
// It reports the ratios of wall and processor time; the budget is 1 and 1.5.
func BenchmarkFloodAgainstTmux(b *testing.B) {
	if _, err := exec.LookPath("tmux"); err != nil {
		b.Skip("got no tmux, want one to compare with")
	}
	for _, row := range []struct {
		name   string
		stream []byte
	}{{"plain", plainLines()}, {"coloured", colouredLines()}} {
		b.Run(row.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "out")
			f, err := os.Create(file)
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; n < 50<<20; n += len(row.stream) {
				f.Write(row.stream)
			}
			f.Close()
			var wall, cpu, theirWall, theirCPU float64
			for b.Loop() {
				w, c := floodUs(b, file)
				wall, cpu = wall+w, cpu+c
				w, c = floodTmux(b, file)
				theirWall, theirCPU = theirWall+w, theirCPU+c
			}
			n := float64(b.N)
			b.ReportMetric(wall/n, "s-wall")
			b.ReportMetric(cpu/n, "s-cpu")
			b.ReportMetric(theirWall/n, "s-tmux-wall")
			b.ReportMetric(theirCPU/n, "s-tmux-cpu")
			b.ReportMetric(wall/theirWall, "wall-ratio")
			b.ReportMetric(cpu/theirCPU, "cpu-ratio")
		})
	}
}

func floodUs(b *testing.B, file string) (wall, cpu float64) {
	outer, inner, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	t, err := Start(outer, 120, 40, io.Discard, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	cmd := exec.Command("cat", file)
	cmd.Stdout = inner
	began, before := time.Now(), selfCPU()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	inner.Close()
	gen := uint64(0)
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for {
		f, err := t.NextFrame(context.Background(), gen, 0)
		if err != nil {
			break
		}
		gen = f.Gen
		<-tick.C
	}
	wall, cpu = time.Since(began).Seconds(), selfCPU()-before
	cmd.Wait()
	return wall, cpu
}

func floodTmux(b *testing.B, file string) (wall, cpu float64) {
	dir := b.TempDir()
	sock := filepath.Join(dir, "s")
	run := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-S", sock, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "TERM=xterm-256color", "TMUX=")
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("tmux %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	run("new-session", "-d", "-x", "120", "-y", "41", "sleep 1000")
	defer exec.Command("tmux", "-S", sock, "kill-server").Run()
	pid, _ := strconv.Atoi(run("display", "-p", "#{pid}"))
	client := exec.Command("tmux", "-u", "-S", sock, "attach")
	client.Env = append(os.Environ(), "LANG=C.UTF-8", "TERM=xterm-256color", "TMUX=")
	outer, err := pty.StartWithSize(client, &pty.Winsize{Cols: 120, Rows: 41})
	if err != nil {
		b.Fatal(err)
	}
	defer outer.Close()
	go io.Copy(io.Discard, outer)
	began, before := time.Now(), cpuOf(b, pid)+cpuOf(b, client.Process.Pid)
	run("respawn-pane", "-k", "cat "+file+"; tmux -S "+sock+" wait-for -S done; sleep 1000")
	run("wait-for", "done")
	wall = time.Since(began).Seconds()
	return wall, cpuOf(b, pid) + cpuOf(b, client.Process.Pid) - before
}
