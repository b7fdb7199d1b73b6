package term

import (
	"encoding/base64"
	"strings"
	"testing"
)

func osc52(text string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
}

func TestAWriteOfTheClipboardIsKeptCleanAndNumbered(t *testing.T) {
	long := strings.Repeat("é", maxClip/2)
	cases := []struct {
		name, mode, in, want string
		n                    int
	}{
		{"denied", "deny", osc52("x"), "", 0},
		{"not said", "", osc52("x"), "", 0},
		{"asked", "ask", osc52("hello\n\tyou"), "hello\n\tyou", 1},
		{"allowed", "allow", osc52("hello"), "hello", 1},
		{"by ST", "allow", "\x1b]52;c;aGVsbG8=\x1b\\", "hello", 1},
		{"the newest of several", "ask", osc52("a") + "text" + osc52("b"), "b", 2},
		{"a read", "allow", "\x1b]52;c;?\a", "", 0},
		{"a read of nothing named", "allow", "\x1b]52;;?\a", "", 0},
		{"bytes that are no base64", "allow", "\x1b]52;c;a$b\a", "", 0},
		{"nothing, which would clear it", "allow", "\x1b]52;c;\a", "", 0},
		{"control characters", "allow", osc52("a\x1b[201~rm\r\x00\x07\u009bb\u202ec"), "a[201~rmbc", 1},
		{"bytes that are no text", "allow", osc52("a\xff\xfeb"), "a\ufffd\ufffdb", 1},
		{"as much as is let through", "allow", osc52(long), long, 1},
		{"more than that", "allow", osc52(long + "!"), "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []int{len(c.in), 1, 7} {
				s := NewScreen(80, 24, ScreenOptions{Clipboard: c.mode})
				for in := c.in; in != ""; {
					n := min(cut, len(in))
					s.Feed([]byte(in[:n]))
					in = in[n:]
				}
				n, text := s.Clip()
				if n != c.n || text != c.want {
					t.Fatalf("got request %d, %q, want %d, %q", n, text, c.n, c.want)
				}
				if f, _ := s.Frame(0, 0); f.Clips != c.n || f.ClipBytes != len(c.want) {
					t.Fatalf("got %d requests of %d bytes in the picture, want %d of %d", f.Clips, f.ClipBytes, c.n, len(c.want))
				}
				if got := s.Replies(); len(got) > 0 {
					t.Fatalf("got the answer %q, want none", got)
				}
			}
		})
	}
}

// What reaches the user's terminal is of our own making, and nothing else.
func TestTheClipboardIsSetByOneWholeSequence(t *testing.T) {
	got := string(SetClipboard("a\x1b]52;c;eA==\ab\n"))
	if want := osc52("a]52;c;eA==b\n"); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}
