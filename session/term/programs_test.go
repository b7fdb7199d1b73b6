package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the file\n", i+1)
	}
	return b.String()
}

func TestVimEditsScrollsResizesAndTakesTheMouse(t *testing.T) {
	path := file(t, "a.txt", numbered(200))
	p := start(t, 80, 24, Options{}, "vim", "-u", "NONE", "-N", "-i", "NONE", "--cmd", "set mouse=a ruler shortmess+=F nocp ttymouse=sgr", path)
	p.see(t, "line 1 of the file") // the ruler may come with the first key only, after vim's questions to the terminal
	p.typed(t, "50G")
	p.see(t, "50,1")
	p.typed(t, "Ohello 漢字\x1b")
	p.see(t, "hello 漢字")
	if f, _ := p.Frame(0, 0); !f.Alt || !f.Mouse {
		t.Errorf("got alternate screen %v, mouse %v, want both", f.Alt, f.Mouse)
	}
	p.Mouse(Mouse{Kind: MousePress, Button: MouseLeft, X: 5, Y: 2})
	p.Mouse(Mouse{Kind: MouseRelease, Button: MouseLeft, X: 5, Y: 2})
	p.until(t, "the cursor at 5,2", func() bool { f, _ := p.Frame(0, 0); return f.CursorX == 5 && f.CursorY == 2 })
	if _, _, err := p.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	p.until(t, "the ruler in the last row", func() bool { return strings.Contains(p.lines()[29], ",6") })
	p.Key(Key{Code: KeyUp})
	p.Key(Key{Code: KeyPgDown})
	p.typed(t, ":wq\n")
	<-p.Done()
	if f, _ := p.Frame(0, 0); f.Alt || f.Mouse {
		t.Errorf("got alternate screen %v, mouse %v after the end, want neither", f.Alt, f.Mouse)
	}
	got, _ := os.ReadFile(path)
	if !strings.Contains(string(got), "\nhello 漢字\nline 50 of") {
		t.Errorf("got a file without the new line")
	}
}

func TestLessPagesAndTheWheelScrollsIt(t *testing.T) {
	p := start(t, 60, 10, Options{}, "less", file(t, "a.txt", numbered(100)))
	p.see(t, "line 1 of the file")
	p.typed(t, " ")
	p.see(t, "line 18 of the file")
	p.Mouse(Mouse{Kind: MousePress, Button: MouseWheelUp, X: 1, Y: 1})
	p.see(t, "line 7 of the file")
	p.typed(t, "/line 77\n")
	p.see(t, "line 77 of the file")
	p.typed(t, "q")
	<-p.Done()
}

func TestHtopDraws(t *testing.T) {
	p := start(t, 100, 30, Options{}, "htop")
	p.see(t, "PID")
	p.see(t, "F10")
	p.Key(Key{Code: KeyF1})
	p.until(t, "the help", func() bool { return strings.Contains(p.text(), "Arrows") })
	p.typed(t, "q")
	p.see(t, "PID")
	p.Key(Key{Code: KeyF1 + 9})
	<-p.Done()
}

func TestTmuxInside(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "s")
	conf := file(t, "conf", "set -g assume-paste-time 0\n") // or keys that come fast are no keys to it
	p := start(t, 80, 24, Options{}, "tmux", "-u", "-S", sock, "-f", conf, "new-session", "exec env PS1='$ ' bash --norc --noprofile")
	t.Cleanup(func() { exec.Command("tmux", "-S", sock, "kill-server").Run() })
	p.see(t, "[0]")
	p.see(t, "$")
	p.typed(t, "echo one$((1+1))\n")
	p.see(t, "one2")
	p.Key(Key{Code: 'b', Mod: ModCtrl})
	p.typed(t, "%")
	p.until(t, "a line between two panes", func() bool { return strings.Count(p.text(), "│") > 10 })
	p.typed(t, "seq 1 100; printf '漢字\\n'\n")
	p.see(t, "漢字")
	for y, l := range p.lines()[:23] {
		if r := []rune(l); len(r) < 41 && !strings.Contains(l, "│") {
			t.Errorf("got row %d %q without the border, want it straight", y, l)
		}
	}
}

func TestQueriesAreAnsweredAtOnce(t *testing.T) {
	script := `stty raw -echo min 1 time 20; printf '\r\n\r\nabc\033[6n'; a=$(dd bs=1 count=6 2>/dev/null | od -An -c | tr -d ' \n'); printf '\033[5n'; b=$(dd bs=1 count=4 2>/dev/null | od -An -c | tr -d ' \n'); stty sane; printf '\r\n%s %s DONE\n' "$a" "$b"`
	began := time.Now()
	p := start(t, 80, 24, Options{}, "sh", "-c", script)
	p.see(t, "DONE")
	p.see(t, `033[3;4R 033[0n DONE`)
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("got the answers after %v, want them well before the program's patience of 2 s", d)
	}
}

func TestAFloodStallsNeitherFramesNorKeys(t *testing.T) {
	p := start(t, 120, 40, Options{}, "bash", "--norc", "--noprofile")
	p.see(t, "$")
	p.typed(t, "yes $(printf %0200d 1)\n")
	p.see(t, "00000001")
	p.log.close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var worst time.Duration
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		began := time.Now()
		if _, ok := p.Frame(0, 0); !ok {
			t.Fatal("got no frame, want one")
		}
		worst = max(worst, time.Since(began))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if worst > 200*time.Millisecond {
		t.Errorf("got a frame after %v, want every one within 200 ms", worst)
	}
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 16<<20 {
		t.Errorf("got %d MiB more memory, want it bounded", grown>>20)
	}
	began := time.Now()
	p.Key(Key{Code: 'c', Mod: ModCtrl})
	p.until(t, "the prompt after ctrl+c", func() bool {
		rows := strings.Split(strings.TrimRight(p.text(), "\n"), "\n")
		return strings.HasPrefix(rows[len(rows)-1], "$") || strings.HasSuffix(rows[len(rows)-1], "^C$")
	})
	if d := time.Since(began); d > 3*time.Second {
		t.Errorf("got the prompt after %v, want it at once", d)
	}
	p.typed(t, "echo al''ive\n")
	p.see(t, "alive")
}

func TestSizesNeverReachTheChildAsZero(t *testing.T) {
	p := start(t, 0, 0, Options{}, "bash", "--norc", "--noprofile", "-c", `
		report() { set -- $(stty size); [ "$1" -gt 0 ] && [ "$2" -gt 0 ] || echo ZERO; }
		trap report WINCH; report; echo READY; while read -r l; do [ "$l" = end ] && { stty size; exit; }; done`)
	p.until(t, "READY in one column", func() bool { return strings.Contains(strings.ReplaceAll(p.log.String(), "\r\n", ""), "READY") })
	for i := range 200 {
		size := [][2]int{{0, 0}, {1, 1}, {2, 1}, {10, 3}, {500, 200}}[i%5]
		if _, _, err := p.Resize(size[0], size[1]); err != nil {
			t.Fatal(err)
		}
	}
	if c, r, err := p.Resize(77, 33); c != 77 || r != 33 || err != nil {
		t.Fatalf("got %dx%d, %v, want 77x33", c, r, err)
	}
	p.typed(t, "end\n")
	<-p.Done()
	if got := p.log.String(); !strings.Contains(got, "33 77") || strings.Contains(got, "ZERO") {
		t.Errorf("got %q, want the final size and no zero", got)
	}
}

func TestPasteArrivesOnceFramedAndComplete(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "pasted line %03d %s\n", i, strings.Repeat("q", 200))
	}
	text.WriteString("\x1b[201~\x03evil\u009b")
	want := strings.ReplaceAll(text.String(), "\n", "\r")
	want = strings.ReplaceAll(want, "\x1b[201~\x03evil\u009b", "[201~evil")
	for _, framed := range []bool{true, false} {
		out := filepath.Join(t.TempDir(), "out")
		mode, size := "", len(want)
		if framed {
			mode, size = `\033[?2004h`, size+12
		}
		p := start(t, 80, 24, Options{}, "sh", "-c",
			fmt.Sprintf("stty raw -echo; printf '%sREADY'; head -c %d > %s; printf GOT", mode, size, out))
		p.see(t, "READY")
		if err := p.Paste(text.String()); err != nil {
			t.Fatal(err)
		}
		p.see(t, "GOT")
		got, _ := os.ReadFile(out)
		expect := want
		if framed {
			expect = "\x1b[200~" + want + "\x1b[201~"
		}
		if string(got) != expect {
			t.Errorf("framed %v: got %d bytes, want %d, and the same ones", framed, len(got), len(expect))
		}
	}
}

func TestRawInputArrivesByteForByte(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	in := bytes.Repeat(all, 2000) // more than the queue takes at once
	out := filepath.Join(t.TempDir(), "out")
	p := start(t, 80, 24, Options{}, "sh", "-c", fmt.Sprintf("stty raw -echo; printf READY; head -c %d > %s; printf GOT", len(in), out))
	p.see(t, "READY")
	if n, err := p.Write(in); n != len(in) || err != nil {
		t.Fatalf("got %d, %v, want all taken", n, err)
	}
	p.see(t, "GOT")
	if got, _ := os.ReadFile(out); !bytes.Equal(got, in) {
		t.Errorf("got %d bytes, want %d, and the same ones", len(got), len(in))
	}
}

func TestAProgramThatAsksWithoutReadingStallsNothing(t *testing.T) {
	p := start(t, 80, 24, Options{}, "sh", "-c", `stty raw -echo; i=0; while [ $i -lt 3000 ]; do printf '\033[6n\033[c\033[6n\033[c\033[6n\033[c'; i=$((i+1)); done; printf '\033[HASKED'; sleep 1000`)
	p.see(t, "ASKED")
	if f, _ := p.Frame(0, 0); f.Dropped == 0 {
		t.Error("got no answer dropped, want some, and counted")
	}
	var err error
	for range 80 { // keys are refused with an error in the end, never dropped in silence
		if err = p.Paste(strings.Repeat("x", 64<<10)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrInputFull) {
		t.Errorf("got %v, want %v", err, ErrInputFull)
	}
}

func TestFinishEndsThoughABackgroundProcessHoldsThePty(t *testing.T) {
	p := start(t, 80, 24, Options{}, "sh", "-c", "printf LAST; sleep 1000 & exit 0")
	p.cmd.Wait()
	if err := p.Finish(100 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("got no end, want one")
	}
	if got := p.text(); !strings.HasPrefix(got, "LAST") {
		t.Errorf("got %q, want the last words", got)
	}
	if err := p.Err(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestDeathBySignalIsTheEndAndNoError(t *testing.T) {
	for _, sig := range []string{"SEGV", "TERM", "KILL"} {
		p := start(t, 80, 24, Options{}, "sh", "-c", "printf 'before '; kill -"+sig+" $$")
		<-p.Done()
		p.cmd.Wait()
		ws := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ws.Signaled() || p.Err() != nil || !strings.HasPrefix(p.text(), "before") {
			t.Errorf("SIG%s: got status %v, error %v, screen %q", sig, ws, p.Err(), p.text())
		}
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	p := start(t, 80, 24, Options{}, "sh", "-c", "stty raw; printf READY; sleep 1000")
	p.see(t, "READY")
	p.Paste(strings.Repeat("x", 1<<20)) // the writer blocks
	u := p.Subscribe()
	ended := make(chan error, 2)
	go func() {
		_, err := p.Write(make([]byte, 1<<20)) // blocks too
		ended <- err
	}()
	go func() {
		var err error
		for err == nil {
			_, _, err = u.Next(context.Background())
		}
		ended <- err
	}()
	if err := p.Close(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	for range 2 {
		if err := <-ended; err != io.EOF && !errors.Is(err, ErrEnded) {
			t.Errorf("got %v, want the end", err)
		}
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("got %d goroutines, want %d:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestFirstSubscriberSeesShortOutputAsItWas(t *testing.T) {
	p := start(t, 80, 24, Options{}, "sh", "-c", "printf 'one\\n'; read x; printf 'two\\n'")
	p.see(t, "one")
	u := p.Subscribe()
	p.typed(t, "\n")
	var got []byte
	for {
		b, lost, err := u.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil || lost {
			t.Fatalf("got %v, lost %v", err, lost)
		}
		got = append(got, b...)
	}
	if string(got) != "one\r\n\r\ntwo\r\n" {
		t.Errorf("got %q, want the output from its beginning", got)
	}
}

func TestSlowSubscriberHoldsOutputUpBrieflyThenGetsARepaint(t *testing.T) {
	p := start(t, 80, 24, Options{Stall: 50 * time.Millisecond}, "sh", "-c", "seq 1 300000; printf END; sleep 1000")
	fast, slow := p.Subscribe(), p.Subscribe()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all []byte
	for !bytes.HasSuffix(all, []byte("END")) {
		b, lost, err := fast.Next(ctx)
		if err != nil || lost {
			t.Fatalf("got %v, lost %v for a subscriber that takes everything", err, lost)
		}
		all = append(all, b...)
	}
	if want := p.log.String(); string(all) != want {
		t.Errorf("got %d bytes, want the %d of the log", len(all), len(want))
	}
	b, lost, err := slow.Next(ctx)
	if err != nil || !lost {
		t.Fatalf("got %v, lost %v, want to be told of the loss", err, lost)
	}
	s := NewScreen(80, 24, ScreenOptions{})
	s.Feed(b)
	if got := s.shownText(); got != p.text() {
		t.Errorf("got %q after the repaint, want %q", got, p.text())
	}
	slow.Close()
	fast.Close()
}

func TestActivityMovesWithOutputAndInput(t *testing.T) {
	p := start(t, 80, 24, Options{}, "cat")
	out, in := p.Activity()
	p.typed(t, "x")
	p.see(t, "x")
	out2, in2 := p.Activity()
	if !out2.After(out) || !in2.After(in) {
		t.Errorf("got %v, %v after %v, %v, want both later", out2, in2, out, in)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestALogThatFailsIsReportedAndStopsNothing(t *testing.T) {
	outer, cmd := ptyCommand(t, "echo hello")
	tm, err := Start(outer, 80, 24, failing{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	<-tm.Done()
	cmd.Wait()
	if err := tm.Err(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %v, want the log's error", err)
	}
	f, _ := tm.Frame(0, 0)
	if f.Lines[0] != "hello" {
		t.Errorf("got %q, want the output all the same", f.Lines[0])
	}
}
