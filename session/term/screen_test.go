package term

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// shown is the screen's text without blank rows at its end.
func (s *Screen) shownText() string {
	var rows []string
	for y := range s.rows {
		rows = append(rows, s.Text(y))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

func fed(cols, rows int, in string) *Screen {
	s := NewScreen(cols, rows, ScreenOptions{})
	s.Feed([]byte(in))
	return s
}

func TestScreenShows(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"wide characters end where they should", "漢字|\r\n🙂|\r\ne\u0301|", "漢字|\n🙂|\ne\u0301|"},
		{"a wide character does not fit in the last column", "123456789漢", "123456789\n漢"},
		{"half of a wide character overwritten", "漢字\x1b[1;2Hx", " x字"},
		{"a family is one sign", "👩\u200d👩\u200d👧|", "👩\u200d👩\u200d👧|"},
		{"a flag is one sign", "🇫🇷🇩🇪|", "🇫🇷🇩🇪|"},
		{"direction marks are left out", "a\u202eb\u2066c\u200bd", "abcd"},
		{"bytes one at a time", "é漢", "é漢"},
		{"bad bytes", "\xff\xc3\x28", "\ufffd\ufffd("},
		{"C1 is nothing", "a\u009b31mb\x9bc", "a31mbc"},
		{"a title with 9c in it", "\x1b]2;✳ idle\ax", "x"},
		{"an unknown string is swallowed", "a\x1b]66;w=2;xx\x1b\\b\x1b_Gi=1;AAAA\x1b\\c\x1bP+q544e\x1b\\d", "abcd"},
		{"line drawing", "\x1b(0lqk\x1b(Bq\x1b)0\x0ex\x0fx", "┌─┐q│x"},
		{"single shift", "\x1b*0\x1bNqq", "─q"},
		{"repeat", "ab\x1b[3b", "abbbb"},
		{"huge repeat ends", "a\x1b[99999999b\x1b[2J\x1b[Hok", "ok"},
		{"huge counts", "x\x1b[999999999I\x1b[999999999Z\x1b[999999999X\x1b[999999999@\x1b[999999999P\x1b[999999999Lok", "ok"},
		{"alternate screen comes and goes", "main\x1b[?1049h\x1b[Halt\x1b[?1049l!", "main!"},
		{"wrap off", "\x1b[?7l123456789012", "1234567892"},
		{"insert", "ac\x1b[1;2H\x1b[4hb\x1b[4l", "abc"},
		{"tab stops", "\tx\r\n\x1b[3g\x1b[5G\x1bH\r\ty", "        x\n    y"},
		{"screen alignment", "\x1b#8\x1b[2;1H\x1b[J", "EEEEEEEEEE"},
		{"origin mode", "\x1b[2;3r\x1b[?6h\x1b[1;1Ha\x1b[9;1Hb", "\na\nb"},
		{"combining at the last column", "123456789e\u0301x", "123456789e\u0301\nx"},
		{"combining without a base", "\u0301a", "a"},
		{"VS16 makes an emoji wide", "⚠\ufe0f|", "⚠\ufe0f|"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := fed(10, 4, row.in)
			if got := s.shownText(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			one := NewScreen(10, 4, ScreenOptions{})
			for i := range len(row.in) {
				one.Feed([]byte{row.in[i]})
			}
			if got := one.shownText(); got != row.want {
				t.Errorf("got %q byte by byte, want %q", got, row.want)
			}
		})
	}
}

func TestScreenAnswersQueries(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"cursor as of that byte", "\r\n\r\nabc\x1b[6nmore", "\x1b[3;4R"},
		{"cursor in origin mode", "\x1b[2;4r\x1b[?6h\x1b[2;2H\x1b[6n", "\x1b[2;2R"},
		{"status", "\x1b[5n", "\x1b[0n"},
		{"attributes", "\x1b[c\x1b[>c\x1b[=c", da1 + da2 + da3},
		{"version", "\x1b[>q", xtversion},
		{"mode", "\x1b[?2004h\x1b[?2004$p\x1b[?1004$p\x1b[?9999$p\x1b[4$p", "\x1b[?2004;1$y\x1b[?1004;2$y\x1b[?9999;0$y\x1b[4;2$y"},
		{"keyboard", "\x1b[?u\x1b[>7u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?0u\x1b[?1u\x1b[?0u"},
		{"modifyOtherKeys", "\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"},
		{"colours", "\x1b]10;?\a\x1b]11;?\x1b\\\x1b]12;?\a", "\x1b]10;rgb:cccc/cccc/cccc\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]12;rgb:cccc/cccc/cccc\x1b\\"},
		{"palette", "\x1b]4;1;?;196;?\a", "\x1b]4;1;rgb:cdcd/0000/0000\x1b\\\x1b]4;196;rgb:ffff/0000/0000\x1b\\"},
		{"sizes", "\x1b[14t\x1b[16t\x1b[18t", "\x1b[4;384;640t\x1b[6;16;8t\x1b[8;24;80t"},
		{"scheme", "\x1b[?996n", "\x1b[?997;1n"},
		{"the title is never typed", "\x1b]2;rm -rf ~\a\x1b[21t\x1b[20t", ""},
		{"the clipboard is never read", "\x1b]52;c;?\a", ""},
		{"setting", "\x1bP$qr\x1b\\", "\x1bP1$r1;24r\x1b\\"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := string(fed(80, 24, row.in).Replies()); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	s := fed(80, 24, strings.Repeat("\x1b[6n", 100_000))
	if n := len(s.Replies()); n > maxReplies || s.Dropped() == 0 {
		t.Errorf("got %d bytes of answers and %d dropped, want at most %d and some", n, s.Dropped(), maxReplies)
	}
}

func TestWhatTheInsideAsksForIsShownAndNotDone(t *testing.T) {
	s := fed(80, 24, "\x1b]52;c;aGVsbG8=\a\x1b]52;c;?\a\x1b]9;Claude \x1b\\\x1b]777;notify;T;b\u202ey\a")
	got, total := s.Requests()
	want := []string{
		"asked to set the clipboard: 5 bytes, refused", "asked to read the clipboard, refused",
		"notification: Claude", "notification: T: by",
	}
	if d := cmp.Diff(want, got); d != "" || total != 4 {
		t.Errorf("requests, %d in all, want 4 (-want +got):\n%s", total, d)
	}
	if n, text := s.Clip(); n != 0 || text != "" {
		t.Error("got a clipboard, want none without being allowed")
	}
	s = NewScreen(80, 24, ScreenOptions{Clipboard: "ask"})
	s.Feed([]byte("\x1b]52;c;aGVsbG8=\a"))
	if n, got := s.Clip(); got != "hello" || n != 1 {
		t.Errorf("got clipboard %q, %d times, want hello, once", got, n)
	}
	s.Feed([]byte("\x1b]52;c;" + strings.Repeat("A", 4<<20) + "\a"))
	if n, _ := s.Clip(); n != 1 {
		t.Error("got a clipboard of 3 MiB, want it refused")
	}
	for i := range 1000 {
		s.Feed(fmt.Appendf(nil, "\x1b]9;%d%s\a", i, strings.Repeat("x", 1000)))
	}
	if got, _ := s.Requests(); len(got) != maxRequests || len(got[0]) > maxRequest+3 {
		t.Errorf("got %d requests of %d bytes, want them bounded", len(got), len(got[0]))
	}
}

func TestTitleIsCleanedAndTellsTheAgentsState(t *testing.T) {
	s := fed(80, 24, "\x1b]0;a\u202eb\tc\u0085\u200bd"+strings.Repeat("x", 5000)+"\a")
	if got := s.Title(); !strings.HasPrefix(got, "ab cd") || len([]rune(got)) > maxTitle+1 {
		t.Errorf("got title %q, want it cleaned and cut", got)
	}
	for _, row := range []struct{ in, want string }{
		{"\x1b]0;⠂ Fixing\a", AgentWorking},
		{"\x1b]0;✳ Fixing\a", AgentWaiting},
		{"\x1b]7501;state=working:app=codex\x1b\\", AgentWorking},
		{"\x1b]7501;state=idle:app=codex\x1b\\", AgentWaiting},
		{"\x1b]7501;state=done:app=codex\x1b\\", AgentDone},
		{"\x1b]0;✦  Working… (dir)\a", AgentWorking},
		{"\x1b]0;◇  Ready (dir)\a", AgentWaiting},
		{"\x1b]9;4;1;50\a", AgentWaiting}, // progress says nothing
		{"\x1b]9;needs your permission\a", AgentWaiting},
	} {
		s.Feed([]byte(row.in))
		if got := s.Agent(); got != row.want {
			t.Errorf("after %q: got %q, want %q", row.in, got, row.want)
		}
	}
	s.Key(Key{Code: 'y', Text: "y"})
	if got := s.Agent(); got != AgentUnknown {
		t.Errorf("got %q after a key, want the waiting over", got)
	}
}

// frameLine is what a frame's line may consist of.
var frameLine = regexp.MustCompile(`^(?:[^\x00-\x1f\x7f-\x{9f}]|\x1b\[[0-9;:]*m)*$`)

func checkFrame(t testing.TB, s *Screen, offset int, in []byte) {
	t.Helper()
	f, ok := s.Frame(0, offset)
	if !ok || len(f.Lines) != f.Rows {
		t.Fatalf("got %v and %d lines, want a frame of %d", ok, len(f.Lines), f.Rows)
	}
	if f.CursorX < 0 || f.CursorX >= f.Cols || f.CursorY < 0 || f.CursorY >= f.Rows {
		t.Fatalf("got the cursor at %d,%d, want it inside; input %q", f.CursorX, f.CursorY, in)
	}
	for y, l := range f.Lines {
		if !frameLine.MatchString(l) {
			t.Fatalf("got line %q, want text and colours only; input %q", l, in)
		}
		want := s.drawnEnd(s.g.at(y - f.Offset))
		a, b := ansi.StringWidth(l), ansi.StringWidthWc(l)
		if a != want || b != want {
			t.Fatalf("got line %q of width %d or %d, want %d; input %q", l, a, b, want, in)
		}
		for _, r := range ansi.Strip(l) {
			if hidden(r) && r != zwj && r < 0xfe00 {
				t.Fatalf("got %U in line %q, want it left out", r, l)
			}
		}
	}
}

// checkScreen feeds hostile bytes and looks at everything that must hold.
func checkScreen(t testing.TB, in []byte, r *rand.Rand) {
	t.Helper()
	s := NewScreen(1+r.IntN(60), 1+r.IntN(20), ScreenOptions{})
	whole := NewScreen(s.cols, s.rows, ScreenOptions{})
	whole.Feed(in)
	for rest := in; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(9))
		s.Feed(rest[:n])
		rest = rest[n:]
	}
	if s.Faults()+whole.Faults() > 0 {
		t.Fatalf("got a fault inside, want none; input %q", in)
	}
	if d := differ(s, whole); d != "" {
		t.Fatalf("in pieces: %s; input %q", d, in)
	}
	checkFrame(t, s, 0, in)
	checkFrame(t, s, r.IntN(30), in)
	checkRepaint(t, whole, in, r)
	for range 4 {
		s.Resize(r.IntN(70)-2, r.IntN(30)-2)
		checkFrame(t, s, 0, in)
		s.Feed(noise(r, 5))
		if s.Faults() > 0 {
			t.Fatalf("got a fault after a change of size, want none; input %q", in)
		}
		checkFrame(t, s, 3, in)
	}
}

// differ says where two screens of one size show different things.
func differ(a, b *Screen) string {
	if a.x != b.x || a.y != b.y || a.wrapNext != b.wrapNext {
		return fmt.Sprintf("cursors differ: %d,%d,%v and %d,%d,%v", a.x, a.y, a.wrapNext, b.x, b.y, b.wrapNext)
	}
	for y := range a.rows {
		if d := cmp.Diff(a.testRow(y), b.testRow(y)); d != "" {
			return fmt.Sprintf("row %d differs: %s", y, d)
		}
	}
	return cmp.Diff(modelOf(a), modelOf(b), cmp.AllowUnexported(modes{}, charsets{}, pen{}, kittyStack{}))
}

// checkRepaint brings another screen into this one's state, through the filter,
// and looks whether both show the same, now and after more output.
func checkRepaint(t testing.TB, s *Screen, in []byte, r *rand.Rand) {
	t.Helper()
	paint := s.Repaint()
	var b bytes.Buffer
	f := NewFilter(&b)
	f.Write(paint)
	other := NewScreen(s.cols, s.rows, ScreenOptions{})
	other.Feed([]byte("\x1b[?1003h\x1b[31mold\x1b[?7l\x1b(0")) // whatever was there
	other.Feed(b.Bytes())
	frames := func() string {
		a, _ := s.Frame(0, 0)
		c, _ := other.Frame(0, 0)
		for y := range a.Lines { // an emoji cut to its first sign has a blank beside it
			a.Lines[y], c.Lines[y] = strings.TrimRight(a.Lines[y], " "), strings.TrimRight(c.Lines[y], " ")
		}
		if d := cmp.Diff(a.Lines, c.Lines); d != "" {
			return d
		}
		if a.CursorX != c.CursorX || a.CursorY != c.CursorY || a.CursorOn != c.CursorOn || a.Alt != c.Alt || a.CursorShape != c.CursorShape || s.wrapNext != other.wrapNext {
			return fmt.Sprintf("cursors: %+v and %+v", a, c)
		}
		if s.pen != other.pen || s.top != other.top || s.bot != other.bot || s.paste != other.paste || s.mouse != other.mouse || s.mouseCode != other.mouseCode || s.kitty().flags() != other.kitty().flags() || s.charsets.g != other.charsets.g {
			return fmt.Sprintf("state: %+v %+v and %+v %+v", s.modes, s.pen, other.modes, other.pen)
		}
		return ""
	}
	if s.cols < 2 || s.g.rows < 2 {
		return // a region needs two rows
	}
	if d := frames(); d != "" {
		t.Fatalf("after a repaint (-screen +repainted): %s; input %q", d, in)
	}
}

func TestScreenHoldsOnNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for range 800 {
		checkScreen(t, noise(r, 40), r)
	}
}

func FuzzScreen(f *testing.F) {
	r := rand.New(rand.NewPCG(12, 13))
	for range 20 {
		f.Add(noise(r, 30))
	}
	f.Fuzz(func(t *testing.T, in []byte) { checkScreen(t, in, rand.New(rand.NewPCG(uint64(len(in)), 2))) })
}

func TestResizeKeepsSavedCursorInside(t *testing.T) {
	s := fed(100, 30, "\x1b[1;95H\x1b7\x1b[25;29r")
	s.Resize(20, 10)
	s.Feed([]byte("\x1b8\x1bH\x1b[3L\x1b[3Mx"))
	if s.Faults() != 0 {
		t.Fatalf("got %d faults, want none", s.Faults())
	}
	for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 1}, {10, 3}, {500, 200}, {-5, 1 << 30}, {80, 24}} {
		c, r := s.Resize(size[0], size[1])
		if c < 1 || r < 1 || c > MaxCols || r > MaxRows {
			t.Fatalf("got size %dx%d, want it clamped", c, r)
		}
		s.Feed([]byte("漢字\r\n\x1b[99;99Hx\tyz"))
		checkFrame(t, s, 0, nil)
	}
}

func TestShrinkingKeepsTheCursorsRowAndGrowingBringsRowsBack(t *testing.T) {
	s := fed(20, 6, "1\r\n2\r\n3\r\n4\r\n5\r\n6")
	s.Resize(20, 3)
	if got := s.shownText(); got != "4\n5\n6" || s.y != 2 {
		t.Fatalf("got %q, cursor in row %d, want the last three", got, s.y)
	}
	s.Resize(20, 6)
	if got := s.shownText(); got != "1\n2\n3\n4\n5\n6" || s.y != 5 {
		t.Fatalf("got %q, cursor in row %d, want all six again", got, s.y)
	}
}

func TestScrollbackIsBounded(t *testing.T) {
	s := NewScreen(1000, 500, ScreenOptions{})
	for i := range 20000 {
		s.Feed(fmt.Appendf(nil, "line %d %s\r\n", i, strings.Repeat("x", 900)))
	}
	f, _ := s.Frame(0, 1<<30)
	if f.Scrollback > maxScrollback || f.Offset != f.Scrollback || f.Scrollback*1000*cellBytes > maxScrollbackBytes {
		t.Errorf("got %d lines kept, offset %d, want it bounded by bytes", f.Scrollback, f.Offset)
	}
	s = fed(10, 3, strings.Repeat("x\r\n", 5000))
	if f, _ = s.Frame(0, 0); f.Scrollback != maxScrollback {
		t.Errorf("got %d lines kept, want %d", f.Scrollback, maxScrollback)
	}
	s.Feed([]byte("\x1b[3J"))
	if f, _ = s.Frame(0, 5); f.Scrollback != 0 || f.Offset != 0 {
		t.Errorf("got %d lines kept after they were erased, want none", f.Scrollback)
	}
}

func TestFrameOnlyWhenSomethingChanged(t *testing.T) {
	s := fed(10, 3, "x")
	f, ok := s.Frame(0, 0)
	if !ok {
		t.Fatal("got no frame, want one")
	}
	if _, ok := s.Frame(f.Gen, 0); ok {
		t.Error("got a frame, want none without a change")
	}
	s.Feed([]byte("y"))
	if g, ok := s.Frame(f.Gen, 0); !ok || g.Gen <= f.Gen {
		t.Error("got no newer frame, want one")
	}
}

func TestSynchronisedUpdateIsSeenAtOnceOrAfterItsLimit(t *testing.T) {
	now := time.Unix(1, 0)
	s := NewScreen(10, 3, ScreenOptions{Now: func() time.Time { return now }})
	s.Feed([]byte("old"))
	before, _ := s.Frame(0, 0)
	s.Feed([]byte("\x1b[?2026h\x1b[2J\x1b[Hne"))
	during, _ := s.Frame(before.Gen, 0)
	if during.Lines[0] != "old" {
		t.Errorf("got %q, want the picture from before", during.Lines)
	}
	if f, ok := s.Frame(during.Gen, 0); ok {
		t.Errorf("got %q, want no further frame during the update", f.Lines)
	}
	s.Feed([]byte("w\x1b[?2026l"))
	if f, ok := s.Frame(during.Gen, 0); !ok || f.Lines[0] != "new" {
		t.Errorf("got %v %q, want the new picture", ok, f.Lines)
	}
	s.Feed([]byte("\x1b[?2026h\rstuck"))
	now = now.Add(syncLimit)
	if f, ok := s.Frame(0, 0); !ok || f.Lines[0] != "stuck" {
		t.Errorf("got %v %q, want an update without an end to show after its limit", ok, f.Lines)
	}
}

// paragraphs is the text of all rows with wrapped ones joined, and the text
// before the cursor in its own.
func (s *Screen) paragraphs() (list []string, before string) {
	now := ""
	for y := -s.g.hist; y < s.rows; y++ {
		l := s.g.at(y)
		for x := range s.cols {
			if y == s.y && x == s.x && !s.wrapNext {
				before = now
			}
			if x >= l.used {
				if !l.wrapped {
					break
				}
				continue
			}
			if c := l.cells[x]; c.attr&attrTail == 0 && (c.ch != 0 || x < s.cols-1 || !l.wrapped) {
				now += s.cellText(c)
			}
		}
		if y == s.y && s.wrapNext {
			before = now
		}
		if !l.wrapped {
			list = append(list, strings.TrimRight(now, " "))
			now = ""
		}
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list, strings.TrimRight(before, " ")
}

func TestResizeWrapsTextAnew(t *testing.T) {
	s := fed(10, 4, "one two three\r\n\x1b[31m漢字漢字漢字\x1b[m\r\n$ ")
	s.Resize(7, 4)
	if got := s.shownText(); got != " three\n漢字漢\n字漢字\n$" {
		t.Errorf("got %q at 7 columns", got)
	}
	s.Resize(40, 4)
	if got := s.shownText(); got != "one two three\n漢字漢字漢字\n$" || s.x != 2 || s.y != 2 {
		t.Errorf("got %q, cursor %d,%d at 40 columns", got, s.x, s.y)
	}
	r := rand.New(rand.NewPCG(14, 15))
	for range 500 {
		s := NewScreen(2+r.IntN(40), 2+r.IntN(20), ScreenOptions{})
		var in string
		for range r.IntN(30) {
			in += []string{"word ", "漢字", "e\u0301", "x", "\r\n", "\x1b[4mlong text that wraps\x1b[m"}[r.IntN(6)]
		}
		s.Feed([]byte(in + "$"))
		want, wantBefore := s.paragraphs()
		for range 6 {
			s.Resize(2+r.IntN(60), 1+r.IntN(30))
			checkFrame(t, s, 0, []byte(in))
			got, before := s.paragraphs()
			if squeeze := func(t string) string { return strings.ReplaceAll(t, " ", "") }; squeeze(before) != squeeze(wantBefore) {
				t.Fatalf("got %q before the cursor, want %q; input %q", before, wantBefore, in)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("text changed (-before +after):\n%s\ninput %q", d, in)
			}
		}
	}
}

func TestResizeKeepsWhatIsUnderAFullScreenProgram(t *testing.T) {
	s := fed(20, 5, "1\r\n2\r\nprompt$ vim\r\n\x1b[?1049h\x1b[Hfull\x1b[5;1Hscreen")
	s.Resize(10, 3)
	s.Resize(30, 8)
	s.Feed([]byte("\x1b[?1049lback"))
	if got := s.shownText(); got != "1\n2\nprompt$ vim\nback" {
		t.Errorf("got %q, want the main screen as it was", got)
	}
}
