package diffreview

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fumehood/diffreview/linediff"
)

func TestSinceFollowsALine(t *testing.T) {
	base := numbered(30, nil)
	for _, c := range []struct {
		name     string
		was, now string
		line     int
		changed  bool
		hunks    int
		at       int
	}{
		{"the same file", base, base, 7, false, 0, 7},
		{"the same file, no such line", base, base, 31, false, 0, 0},
		{"lines added far above", base, "a\nb\n" + base, 20, false, 0, 22},
		{"lines added near above", base, numbered(30, map[int]string{18: "x\ny\nline 18\n"}), 20, true, 1, 22},
		{"replaced", base, numbered(30, map[int]string{20: "other\n"}), 20, true, 1, 0},
		{"deleted", base, numbered(30, map[int]string{20: ""}), 20, true, 1, 0},
		{"changed 3 lines below", base, numbered(30, map[int]string{23: "other\n"}), 20, true, 1, 20},
		{"changed 4 lines below", base, numbered(30, map[int]string{24: "other\n"}), 20, false, 0, 20},
		{"changed 3 lines above", base, numbered(30, map[int]string{17: ""}), 20, true, 1, 19},
		{"in a hunk with others, but not near", base, numbered(30, map[int]string{2: "x\n", 8: "x\n", 14: "x\n", 25: ""}), 20, false, 0, 20},
		{"the file as a whole", base, numbered(30, map[int]string{2: "x\n", 20: "y\n"}), 0, true, 2, 0},
		{"the whole of the same", base, base, 0, false, 0, 0},
		{"emptied", base, "", 3, true, 1, 0},
		{"from nothing", "", base, 0, true, 1, 0},
		{"no such line", "a\n", "b\n", 2, true, 0, 0},
		{"below 0", "a\n", "b\n", -1, true, 0, 0},
		{"final newline", "a\nb", "a\nb\n", 2, true, 1, 0},
		{"became binary", base, "\x00" + base, 3, true, 0, 0},
		{"the same binary", "\x00\n\n", "\x00\n\n", 2, false, 0, 2},
	} {
		changed, hunks, at := Since([]byte(c.was), []byte(c.now), c.line)
		if changed != c.changed || len(hunks) != c.hunks || at != c.at {
			t.Errorf("%s: got %v, %d hunks, line %d, want %v, %d, %d", c.name, changed, len(hunks), at, c.changed, c.hunks, c.at)
		}
	}
}

// TestSinceNeverPointsAtAnotherLine: wherever a line is said to be, the same bytes
// stand.
func TestSinceNeverPointsAtAnotherLine(t *testing.T) {
	s := seq(31)
	followed := 0
	for range 2000 {
		was := randomText(&s)
		now := editText(&s, was)
		a, b := linediff.Split([]byte(was)), linediff.Split([]byte(now))
		if len(a) == 0 {
			continue
		}
		line := 1 + s.next(len(a))
		changed, hunks, at := Since([]byte(was), []byte(now), line)
		if changed != (len(hunks) > 0) && was != now && line <= len(a) {
			t.Fatalf("got changed %v with %d hunks", changed, len(hunks))
		}
		if at == 0 {
			if !changed {
				t.Fatalf("%q -> %q: line %d is gone and nothing changed", was, now, line)
			}
			continue
		}
		followed++
		if at > len(b) || !bytes.Equal(a[line-1], b[at-1]) {
			t.Fatalf("%q -> %q: line %d is said to be at %d", was, now, line, at)
		}
	}
	if followed < 1000 {
		t.Errorf("got %d lines followed, want most", followed)
	}
}

func TestSinceIsBounded(t *testing.T) {
	var was, now strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&was, "%d\n", i%7)
		fmt.Fprintf(&now, "%d\n", i%5)
	}
	if changed, _, _ := Since([]byte(was.String()), []byte(now.String()), 200_000); !changed {
		t.Error("got unchanged, want a change")
	}
	if changed, hunks, _ := Since([]byte(was.String()+"x\n"), []byte(now.String()), 5); !changed || hunks != nil {
		t.Errorf("got %v and %d hunks for what is too large, want changed and none", changed, len(hunks))
	}
}
