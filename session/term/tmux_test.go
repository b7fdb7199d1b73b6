package term

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tmux is a second emulator that is fed the same bytes.
type tmux struct {
	sock, dir  string
	cols, rows int
	n          int
	feed       *os.File
}

func startTmux(t *testing.T, cols, rows int) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("got no tmux, want one to compare with")
	}
	x := &tmux{dir: t.TempDir(), cols: cols, rows: rows}
	x.sock = filepath.Join(x.dir, "s")
	conf := filepath.Join(x.dir, "conf")
	os.WriteFile(conf, []byte("set -g status off\nset -g default-terminal tmux-256color\nset -g history-limit 2000\nset -g allow-rename off\n"), 0o600)
	fifo := filepath.Join(x.dir, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v %s", err, out)
	}
	cmd := exec.Command("tmux", "-u", "-S", x.sock, "-f", conf, "new-session", "-d",
		"-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows),
		"stty raw -echo; exec cat "+fifo)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TMUX=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("got %v %s, want tmux to start", err, out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-S", x.sock, "kill-server").Run() })
	var err error
	if x.feed, err = os.OpenFile(fifo, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.feed.Close() })
	return x
}

func (x *tmux) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.sock}, args...)...).Output()
	if err != nil {
		t.Fatalf("tmux %v: %v", args, err)
	}
	return string(out)
}

// show feeds a stream to a fresh screen and returns its rows, with colours, and
// the cursor.
func (x *tmux) show(t *testing.T, stream []byte) (rows []string, cursor string) {
	t.Helper()
	x.n++
	mark := fmt.Sprintf("mark%d", x.n)
	fmt.Fprintf(x.feed, "\x1b[?1049l\x1bc\x1b[3J%s\x1b]2;%s\x1b\\", stream, mark)
	deadline := time.Now().Add(patience)
	for {
		got := strings.TrimSpace(x.run(t, "display", "-p", "#{pane_title};#{cursor_x},#{cursor_y}"))
		title, cur, _ := strings.Cut(got, ";")
		if title == mark {
			cursor = cur
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got title %q from tmux, want %q", title, mark)
		}
	}
	return strings.Split(x.run(t, "capture-pane", "-e", "-N", "-p"), "\n"), cursor
}

// plausible is a stream as a full-screen program might send it. With wide
// characters it does nothing that cuts one in two: tmux leaves the other half.
func plausible(r *rand.Rand, cols, rows, pieces int, wide bool) []byte {
	b := []byte("\x1b7") // tmux's full reset keeps the saved cursor
	csi := func(final string, params ...int) {
		b = append(b, esc, '[')
		for i, p := range params {
			if i > 0 {
				b = append(b, ';')
			}
			b = appendInt(b, p)
		}
		b = append(b, final...)
	}
	n := func(max int) int { return 1 + r.IntN(max) }
	alt, top, bot := false, 1, rows
	words := []string{"alpha ", "x", "0123456789", "é", "e\u0301", "─│┌", "    "}
	if wide {
		words = append(words, "漢字", "한글 ", "🙂")
	}
	for range pieces {
		kind := r.IntN(30)
		if wide {
			switch kind {
			case 9, 10, 11, 12, 13, 14, 17, 18, 19, 23, 27, 28, 29:
				kind = 0
			}
		}
		switch kind {
		case 13, 14, 17, 18, 19: // past the last column tmux erases nothing, xterm and we the last cell
			csi("H", n(rows), n(cols))
		}
		switch kind {
		case 0, 1, 2, 3, 4, 5, 6:
			b = append(b, words[r.IntN(len(words))]...)
		case 7, 8:
			b = append(b, "\r\n"...)
		case 9:
			b = append(b, "\b\t\r\n"[r.IntN(4)])
		case 10, 11:
			csi("H", n(rows+1), n(cols+1))
		case 12:
			csi(string("ABCD"[r.IntN(4)]), n(6))
		case 13:
			csi("J", r.IntN(3))
		case 14:
			csi("K", r.IntN(3))
		case 15, 16: // inside the region only, where all agree
			csi("H", top+r.IntN(bot-top+1), 1)
			csi(string("LM"[kind-15]), n(4))
		case 17:
			csi("@", n(5))
		case 18:
			csi("P", n(5))
		case 19:
			csi("X", n(9))
		case 20:
			csi("S", n(3))
		case 21:
			csi("T", n(3))
		case 22:
			top = n(rows - 1)
			bot = min(rows, top+n(rows))
			csi("r", top, bot)
			csi("H") // tmux goes to the screen's corner even in origin mode
		case 23:
			b = append(b, []string{"\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "\x1bH"}[r.IntN(6)]...)
		case 24:
			csi("m", []int{0, 1, 4, 7, 31, 42, 95, 104, 39, 49, 22, 24, 27}[r.IntN(13)])
		case 25:
			csi("m", 38, 5, r.IntN(256))
		case 26:
			csi("m", 48, 2, r.IntN(256), r.IntN(256), r.IntN(256))
		case 27:
			csi(string("Gd"[r.IntN(2)]), n(min(rows, cols)))
		case 28:
			csi("Z", n(3)) // tmux knows no CHT, and repeats ASCII only
			b = append(b, 'x')
			csi("b", n(3))
		case 29:
			b = append(b, []string{"\x1b[?7l", "\x1b[?7h", "\x1b[9G\x1b[4hins\x1b[4l", "\x1b[?6h", "\x1b[?6l", "\x1b(0lqk\x1b(B", "\x1b[3g"}[r.IntN(7)]...)
			if r.IntN(5) == 0 { // never out of a screen that was not entered: tmux restores an old cursor then
				alt, top, bot = !alt, 1, rows
				b = append(b, "\x1b[r\x1b[?6l"...) // tmux saves the cursor without its origin mode
				csi(fmt.Sprintf("?1049%c", onOff(alt)))
				b = append(b, "\x1b7"...) // tmux has one saved cursor, xterm and we one for each screen
			}
		}
	}
	return b
}

// cells are a screen's cells as one string each, for comparison.
func (s *Screen) testRow(y int) []string {
	l := s.g.at(y)
	out := make([]string, s.cols)
	for x := range out {
		var c cell
		if x < l.used {
			c = l.cells[x]
		}
		text := s.cellText(c)
		if c.attr&attrTail != 0 {
			text = ""
		}
		out[x] = fmt.Sprintf("%s/%x/%x/%x", text, c.fg, c.bg, c.attr&penMask)
		if text == " " {
			out[x] = fmt.Sprintf(" /%x/%x", c.bg, c.attr&(attrReverse|underMask))
		}
	}
	return out
}

// compare says where our screen differs from tmux's, or nothing.
func (x *tmux) compare(t *testing.T, stream []byte) string {
	t.Helper()
	rows, cursor := x.show(t, stream)
	s := NewScreen(x.cols, x.rows, ScreenOptions{})
	s.Feed(stream)
	var b strings.Builder
	if got := fmt.Sprintf("%d,%d", min(s.x, s.cols-1), s.y); got != cursor && !strings.HasPrefix(cursor, fmt.Sprint(x.cols)+",") {
		fmt.Fprintf(&b, "cursor: got %s, want %s\n", got, cursor)
	}
	style := NewScreen(x.cols+2, 1, ScreenOptions{})
	style.Feed([]byte("\x1b[?7l\x1b)0"))
	for y := range x.rows {
		row := ""
		if y < len(rows) {
			row = rows[y]
		}
		style.main.clearLine(style.main.at(0), 0)
		style.Feed([]byte("\r" + row)) // colours and character sets are carried from row to row
		got, want := s.testRow(y), style.testRow(0)[:x.cols]
		for c := range got { // tmux does not tell the colour of cells that were erased
			if c >= style.main.at(0).used || want[c][0] == ' ' {
				got[c], _, _ = strings.Cut(got[c], "/")
				want[c], _, _ = strings.Cut(want[c], "/")
			}
		}
		for c := range got {
			if got[c] != want[c] {
				fmt.Fprintf(&b, "row %d column %d: got %q, want %q\n  got  %q\n  want %q\n", y, c, got[c], want[c], s.Text(y), row)
				break
			}
		}
	}
	return b.String()
}

func TestScreenAgreesWithTmux(t *testing.T) {
	x := startTmux(t, 40, 12)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		stream := plausible(r, x.cols, x.rows, 60, seed%3 == 2)
		if d := x.compare(t, stream); d != "" {
			t.Fatalf("seed %d:\n%s\nstream %q", seed, d, x.shrink(t, stream))
		}
	}
}

// shrink takes pieces out of a stream as long as it still differs.
func (x *tmux) shrink(t *testing.T, stream []byte) []byte {
	parts := bytes.SplitAfter(bytes.ReplaceAll(stream, []byte{esc}, []byte{0, esc}), []byte{0})
	for i := range parts {
		parts[i] = bytes.TrimSuffix(parts[i], []byte{0})
	}
	for i := len(parts) - 1; i >= 0; i-- {
		rest := append(append([][]byte{}, parts[:i]...), parts[i+1:]...)
		if x.compare(t, bytes.Join(rest, nil)) != "" {
			parts = rest
		}
	}
	return bytes.Join(parts, nil)
}

// TestScreenAgreesWithTmuxOnRealPrograms records what programs write to us and
// shows it to tmux.
func TestScreenAgreesWithTmuxOnRealPrograms(t *testing.T) {
	x := startTmux(t, 60, 20)
	text := file(t, "a.txt", numbered(100)+"漢字 é 🙂 \ttab\n")
	for _, row := range []struct {
		name string
		argv []string
		see  string
		keys []string // each with what must be seen after it
	}{
		{
			"vim",
			[]string{"vim", "-u", "NONE", "-N", "-i", "NONE", "--cmd", "set ruler shortmess+=F", text},
			"line 1 of", // the ruler may come with the first key only, after vim's questions to the terminal
			[]string{"G", "101,1", "50G", "50,1", "5dd", "line 55", "Onew text\x1b", "new text", ":split\n", "50,8", "\x06", "line 60"},
		},
		{"less", []string{"less", text}, "line 1 ", []string{" ", "line 20", "G", "漢字", "b", "line 70", "g", "line 1 of", "/line 33\n", "line 33"}},
		{"bash", []string{"bash", "--norc", "--noprofile", "-c", "for i in 1 2 3; do echo -e \"\\e[3${i}mcolour $i\\e[0m\"; done; ls -C --color=always /usr; seq 1 30; read x"}, "30", nil},
		{"htop", []string{"htop", "-d", "100"}, "F1Help", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := start(t, x.cols, x.rows, Options{}, row.argv...)
			p.see(t, row.see)
			for i := 0; i < len(row.keys); i += 2 {
				p.typed(t, row.keys[i])
				p.see(t, row.keys[i+1])
			}
			for stable := p.Total(); ; stable = p.Total() { // until nothing comes for a while
				ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
				f, _ := p.Frame(0, 0)
				p.NextFrame(ctx, f.Gen, 0)
				cancel()
				if p.Total() == stable {
					break
				}
			}
			if d := x.compare(t, []byte(p.log.String())); d != "" {
				t.Errorf("%s\n%q", d, p.log.String())
			}
		})
	}
}
