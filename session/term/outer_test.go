package term

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allowed is written from the list of what may pass, apart from the filter's
// own tables: the whole output must be a chain of these.
var allowed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`[\x20-\x7e]`, `[\x{a0}-\x{10ffff}]`, `[\x07-\x0f]`,
		`\x1b[78DEMH=>]`, `\x1b[()*+][0AB]`, `\x1b#8`,
		`\x1b\[[0-9]*[@A-GILMPSTXZ` + "`" + `abde]`,
		`\x1b\[[0-9]*;?[0-9]*[Hfr]`,
		`\x1b\[\??[0-2]?[JK]`, `\x1b\[[03]?g`, `\x1b\[[su]`,
		`\x1b\[[0-9:;]*m`,
		`\x1b\[(?:4|20)[hl]`,
		`\x1b\[\?(?:1|5|6|7|9|12|25|45|47|66|1000|1002|1003|1004|1005|1006|1007|1015|1016|1047|1048|1049|2004|2026)[hl]`,
		`\x1b\[\?5W`, `\x1b\[[0-6] q`, `\x1b\[[0-9]+ [@A]`,
		`\x1b\[>[0-9]{1,2}u`, `\x1b\[<[0-9]u`, `\x1b\[=[0-9]{1,2};[1-3]u`,
		`\x1b\[>4(?:;[0-2])?m`,
	}, "|") + `)*$`)
})

func filtered(t testing.TB, chunks ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	f := NewFilter(&b)
	for _, c := range chunks {
		if n, err := f.Write(c); n != len(c) || err != nil {
			t.Fatalf("got %d, %v, want %d and no error", n, err, len(c))
		}
	}
	return b.Bytes()
}

func TestFilterDropsWhatReachesBeyondThePicture(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"clipboard", "a\x1b]52;c;aGk=\ab", "ab"},
		{"clipboard by ST", "a\x1b]52;c;?\x1b\\b", "ab"},
		{"title", "\x1b]0;x\ay", "y"},
		{"title in UTF-8 with a 9c byte", "\x1b]2;✳ x\ay", "y"},
		{"title stack", "\x1b[22;0ty\x1b[23t", "y"},
		{"hyperlink", "\x1b]8;;http://x.test/\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"notification", "\x1b]9;x\a\x1b]777;notify;a;b\ay", "y"},
		{"colours of the terminal", "\x1b]11;#ffffff\a\x1b]4;1;?\a\x1b]104\ay", "y"},
		{"attributes", "\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1b[>q\x1bZy", "y"},
		{"status", "\x1b[5n\x1b[6n\x1b[?6n\x1b[?996ny", "y"},
		{"mode query", "\x1b[?2026$p\x1b[4$py", "y"},
		{"keyboard query", "\x1b[?u\x1b[?4my", "y"},
		{"setting query", "\x1bP$qm\x1b\\\x1bP+q544e\x1b\\y", "y"},
		{"sixel, tmux, kitty graphics", "\x1bPq#0~\x1b\\\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\\x1b_Ga=q\x1b\\y", "y"},
		{"privacy message and start of string", "\x1b^x\x1b\\\x1bXx\x1b\\y", "y"},
		{"window operations", "\x1b[3;0;0t\x1b[8;5;5t\x1b[14t\x1b[21ty", "y"},
		{"media copy", "\x1b[i\x1b[5i\x1b[?5iy", "y"},
		{"enquiry, nul and delete", "\x05\x00\x7fy", "y"},
		{"checksum and rectangles", "\x1b[1;1;1;1;1;1*y\x1b[1;1;5;5$z\x1b[65;1;1;5;5$xy", "y"},
		{"margins", "\x1b[?69h\x1b[5;10sy", "y"},
		{"132 columns", "\x1b[?3hy", "y"},
		{"highlight tracking", "\x1b[?1001h\x1b[1;1;1;1;5Ty", "y"},
		{"user's scrollback", "\x1b[3J\x1b[2Jy", "\x1b[2Jy"},
		{"save and restore of modes", "\x1b[?1049s\x1b[?1049ry", "y"},
		{"leds", "\x1b[1qy", "y"},
		{"character set of the whole terminal", "\x1b%@y\x1b%G", "y"},
		{"locking shifts to GR", "\x1b~\x1b}\x1b|y", "y"},
		{"C1 as bytes", "\x9b31my\x9d52;c;eA==\x9c\x90", "31my52;c;eA=="},
		{"C1 as characters", "\u009b31my\u0090", "31my"},
		{"bad bytes", "\xff\xc3\x28", "\ufffd\ufffd("},
		{"a sequence with bytes of text in it", "\x1b[3é1my", "é1my"},
		{"a broken sequence", "\x1b[3?1my\x1b[1$2my", "yy"},
		{"aborted", "\x1b[31\x18y\x1b]0;t\x1ay", "yy"},
		{"full reset", "\x1b[31m\x1bcy", "\x1b[31m\x1b[0m\x1b[H\x1b[2Jy"},
		{"only ours of the keyboard's stack", "\x1b[<5u\x1b[>1u\x1b[<9uy", "\x1b[>1u\x1b[<1uy"},
		{"flags without an entry", "\x1b[=1;1u\x1b[<u", "\x1b[>1u\x1b[<1u"},
		{"kept", "é\x1b[1;31m\x1b[38:2::1:2:3mx\x1b[2;3H\x1b[K\x1b[?1049h\x1b[5 q", "é\x1b[1;31m\x1b[38:2::1:2:3mx\x1b[2;3H\x1b[K\x1b[?1049h\x1b[5 q"},
		{"several modes at once", "\x1b[?1000;1006;69h", "\x1b[?1000h\x1b[?1006h"},
		{"huge numbers", "\x1b[99999999999999999999C", "\x1b[65535C"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(filtered(t, []byte(row.in))); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// noise is a stream of sequences, text and broken pieces, of things that exist
// and things that do not.
func noise(r *rand.Rand, pieces int) []byte {
	var b []byte
	for range pieces {
		switch r.IntN(14) {
		case 0:
			b = append(b, byte(r.IntN(256)))
		case 1:
			b = append(b, "plain text, long enough to wrap somewhere "[:r.IntN(42)]...)
		case 2:
			odd := []rune("é漢🙂\u0301\u200d🇫🇷👩\ufe0f⚠─\u202e\u00ad\u009b")
			b = append(b, string(odd[r.IntN(len(odd))])...)
		case 3:
			b = append(b, esc, byte(0x20+r.IntN(0x5f)))
		case 4:
			b = append(b, esc, "]P_^X"[r.IntN(5)])
			b = append(b, "52;c;aGVsbG8="[:r.IntN(13)]...)
			b = append(b, []string{"\a", "\x1b\\", "", "\x18"}[r.IntN(4)]...)
		case 5:
			b = append(b, "\r\n\t\b\x0e\x0f\v"[r.IntN(7)])
		case 6:
			m := outerModes[r.IntN(len(outerModes))].n
			b = append(appendInt(append(b, "\x1b[?"...), m), onOff(r.IntN(2) == 0))
		case 7:
			m := []int{47, 1047, 1048, 1049, 3, 69, 2031}[r.IntN(7)]
			b = append(appendInt(append(b, "\x1b[?"...), m), onOff(r.IntN(2) == 0))
		case 8:
			b = append(b, []string{"\x1b(0", "\x1b)0", "\x1b(B", "\x1b7", "\x1b8", "\x1b[>1u", "\x1b[<u", "\x1b[=3;2u", "\x1b[>4;2m", "\x1b[4 q", "\x1b=", "\x1bH", "\x1b[4h", "\x1b[!p", "\x1bc", "\x1b[5;9r"}[r.IntN(16)]...)
		default:
			b = append(b, esc, '[')
			if r.IntN(5) == 0 {
				b = append(b, "?<=>"[r.IntN(4)])
			}
			for range r.IntN(4) {
				b = appendInt(b, r.IntN([]int{3, 12, 130, 1 << 20}[r.IntN(4)]))
				b = append(b, ";;:"[r.IntN(3)])
			}
			if r.IntN(9) == 0 {
				b = append(b, " !\"$'*"[r.IntN(6)])
			}
			b = append(b, byte(0x40+r.IntN(0x3f)))
		}
	}
	return b
}

func checkFilter(t testing.TB, in []byte, r *rand.Rand) {
	t.Helper()
	out := filtered(t, in)
	if !allowed().Match(out) {
		rest := out
		for len(rest) > 0 && !allowed().Match(rest[:len(rest)-1]) {
			rest = rest[:len(rest)-1]
		}
		t.Fatalf("got %q in the output, want only what is allowed; input %q", rest[max(0, len(rest)-40):], in)
	}
	if again := filtered(t, out); !bytes.Equal(again, out) {
		t.Fatalf("got %q when filtered again, want the same %q; input %q", again, out, in)
	}
	var chunks [][]byte
	for rest := in; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(7))
		chunks = append(chunks, rest[:n])
		rest = rest[n:]
	}
	if cut := filtered(t, chunks...); !bytes.Equal(cut, out) {
		t.Fatalf("got %q in pieces, want %q as in one; input %q", cut, out, in)
	}
}

func TestFilterHoldsOnNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		checkFilter(t, noise(r, 12), r)
	}
}

func FuzzFilter(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(noise(r, 20))
	}
	f.Fuzz(func(t *testing.T, in []byte) { checkFilter(t, in, rand.New(rand.NewPCG(uint64(len(in)), 1))) })
}

// outerModel is what of a terminal must be as before.
type outerModel struct {
	Modes    modes
	Charsets charsets
	Pen      pen
	Top, Bot int
	Alt      bool
}

func modelOf(s *Screen) outerModel {
	m := outerModel{s.modes, s.charsets, s.pen, s.top, s.bot, s.Alt()}
	m.Modes.keys[0].stack = append([]int{}, s.keys[0].stack...)
	m.Modes.keys[1].stack = nil // of no effect on the main screen
	m.Modes.mouse = 0
	if s.mouse != 0 {
		m.Modes.mouse = 1
	}
	m.Charsets.once = 0
	return m
}

func TestRestoreUndoesWhatWasChanged(t *testing.T) {
	opts := cmp.AllowUnexported(modes{}, charsets{}, pen{}, kittyStack{})
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 4000 {
		in := noise(r, 14)
		if i == 0 {
			in = []byte("\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b[>1u\x1b[?25l\x1b[31m\x1b(0\x1b=\x1b[2;5r\x1b[3 q\x1b[>4;2m")
		}
		user := NewScreen(40, 12, ScreenOptions{})
		user.Feed([]byte("\x1b[>5u")) // the user's shell has an entry of its own
		want := modelOf(user)
		var b bytes.Buffer
		f := NewFilter(&b)
		f.Write(in)
		user.Feed(b.Bytes())
		undo := f.Restore()
		user.Feed(undo)
		got := modelOf(user)
		got.Modes.blink, got.Modes.altScroll = want.Modes.blink, want.Modes.altScroll
		if d := cmp.Diff(want, got, opts); d != "" {
			t.Fatalf("after %q and %q the terminal differs (-before +after):\n%s", in, undo, d)
		}
		if again := f.Restore(); len(again) != 0 {
			t.Fatalf("got %q from a second Restore, want nothing", again)
		}
	}
}

func TestRestoreLeavesAnUntouchedTerminalAlone(t *testing.T) {
	var b bytes.Buffer
	f := NewFilter(&b)
	f.Write([]byte("plain\r\n\x1b[31mred\x1b[0m\r\n\x1b]0;title\a\x1b[?1000l\x1b[?25h"))
	if got := f.Restore(); len(got) != 0 {
		t.Errorf("got %q, want nothing to undo", got)
	}
}
