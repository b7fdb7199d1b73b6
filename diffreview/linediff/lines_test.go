package linediff

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"
)

// seq is a small deterministic source of numbers: the tests that use it must
// give the same result on each run.
type seq uint64

func (s *seq) next(n int) int {
	*s = *s*6364136223846793005 + 1442695040888963407
	hi, _ := bits.Mul64(uint64(*s), uint64(n))
	return int(hi)
}

func randomLines(s *seq, n, alphabet int) []byte {
	var b bytes.Buffer
	for range n {
		fmt.Fprintf(&b, "%d\n", s.next(alphabet))
	}
	return b.Bytes()
}

// mutate changes about k places of lines.
func mutate(s *seq, lines [][]byte, k, alphabet int) []byte {
	out := append([][]byte(nil), lines...)
	for range k {
		at := s.next(len(out) + 1)
		fresh := []byte(fmt.Sprintf("%d\n", s.next(alphabet)))
		switch s.next(3) {
		case 0:
			out = append(out[:at:at], append([][]byte{fresh}, out[at:]...)...)
		case 1:
			if at < len(out) {
				out = append(out[:at:at], out[at+1:]...)
			}
		default:
			if at < len(out) {
				out[at] = fresh
			}
		}
	}
	return bytes.Join(out, nil)
}

// checkRuns fails unless the runs rebuild b from a and everything outside them
// is equal.
func checkRuns(t *testing.T, a, b [][]byte, runs []Run) {
	t.Helper()
	x, y := 0, 0
	for i, r := range append(runs, Run{len(a), len(a), len(b), len(b)}) {
		if i < len(runs) && r.A0 == r.A1 && r.B0 == r.B1 {
			t.Fatalf("got empty run %v", r)
		}
		if i > 0 && i < len(runs) && r.A0 == x && r.B0 == y {
			t.Fatalf("got run %v touching the one before", r)
		}
		if r.A0-x != r.B0-y || r.A0 < x || r.A1 < r.A0 || r.B1 < r.B0 {
			t.Fatalf("got run %v after old %d new %d, want equal lines between", r, x, y)
		}
		for x < r.A0 {
			if !bytes.Equal(a[x], b[y]) {
				t.Fatalf("got old line %d as equal to new %d: %q, %q", x, y, a[x], b[y])
			}
			x, y = x+1, y+1
		}
		x, y = r.A1, r.B1
	}
}

func TestDiffRebuildsNewFromOld(t *testing.T) {
	s := seq(1)
	for i := range 4000 {
		alphabet := []int{2, 5, 40, 100000}[i%4]
		a := Split(randomLines(&s, s.next(60), alphabet))
		var raw []byte
		if i%3 == 0 {
			raw = randomLines(&s, s.next(60), alphabet)
		} else {
			raw = mutate(&s, a, s.next(12), alphabet)
		}
		if i%5 == 0 {
			raw = bytes.TrimSuffix(raw, nl)
		}
		b := Split(raw)
		checkRuns(t, a, b, Diff(a, b))
	}
}

// lcs is the plain quadratic length of the longest common subsequence.
func lcs(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diag := 0
		for j, y := range b {
			up := row[j+1]
			if bytes.Equal(x, y) {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diag = up
		}
	}
	return row[len(b)]
}

func TestDiffIsNearlyShortestWhereNothingIsUnique(t *testing.T) {
	s := seq(7)
	for range 500 {
		a := Split(randomLines(&s, 30+s.next(20), 3))
		b := Split(mutate(&s, a, s.next(10), 3))
		kept := len(a)
		for _, r := range Diff(a, b) {
			kept -= r.A1 - r.A0
		}
		// Lines that become unique inside a gap may cost a few.
		if want := lcs(a, b) * 8 / 10; kept < want {
			t.Fatalf("got %d lines kept, want at least %d", kept, want)
		}
	}
}

func TestDiffKeepsCarriageReturnAndFinalNewline(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []Run
	}{
		{"CR is part of the line", "a\r\nb\n", "a\nb\n", []Run{{0, 1, 0, 1}}},
		{"missing newline at the end", "a\nb", "a\nb\n", []Run{{1, 2, 1, 2}}},
		{"equal", "a\nb", "a\nb", nil},
		{"from nothing", "", "a\n", []Run{{0, 0, 0, 1}}},
		{"to nothing", "a\nb\n", "", []Run{{0, 2, 0, 0}}},
		{"an added function shows whole", "f {\n}\n\nh {\n}\n", "f {\n}\n\ng {\n}\n\nh {\n}\n", []Run{{3, 3, 3, 6}}},
		{"a deletion slides down", "x\n}\ny\n}\nz\n", "x\n}\nz\n", []Run{{2, 4, 2, 2}}},
	} {
		got := Diff(Split([]byte(c.a)), Split([]byte(c.b)))
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSplitJoinsBack(t *testing.T) {
	for _, in := range []string{"", "\n", "a", "a\n", "\n\na", "a\r\n\x00b\n\n"} {
		if got := string(bytes.Join(Split([]byte(in)), nil)); got != in {
			t.Errorf("got %q, want %q", got, in)
		}
	}
}

// TestDiffIsBoundedOnHostileInput holds shapes that drive quadratic methods
// into minutes. The deadline is generous: the point is the order of magnitude.
func TestDiffIsBoundedOnHostileInput(t *testing.T) {
	const n = 200_000
	s := seq(3)
	shapes := map[string][2][]byte{
		"two letters, unrelated":   {randomLines(&s, n, 2), randomLines(&s, n, 2)},
		"many letters, unrelated":  {randomLines(&s, n, 5000), randomLines(&s, n, 5000)},
		"one line repeated":        {bytes.Repeat([]byte("a\n"), n), bytes.Repeat([]byte("a\n"), n/2)},
		"reversed":                 {numbered(n, false), numbered(n, true)},
		"alternating against pair": {bytes.Repeat([]byte("a\nb\n"), n/2), bytes.Repeat([]byte("a\na\nb\n"), n/3)},
	}
	for name, c := range shapes {
		a, b := Split(c[0]), Split(c[1])
		begin := time.Now()
		runs := Diff(a, b)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: got %v, want under 10s", name, took)
		}
		checkRuns(t, a, b, runs)
	}
}

func numbered(n int, down bool) []byte {
	var b bytes.Buffer
	for i := range n {
		if down {
			i = n - i
		}
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.Bytes()
}

func TestBinaryAsGitHasIt(t *testing.T) {
	long := func(head string, n int) []byte { return append([]byte(strings.Repeat("x", n)), head...) }
	for _, c := range []struct {
		name string
		in   []byte
		want bool
	}{
		{"empty", nil, false},
		{"NUL first", []byte{0}, true},
		{"NUL at 7999", long("\x00", 7999), true},
		{"NUL at 8000", long("\x00", 8000), false},
		{"latin-1 prose", []byte("caf\xe9 cr\xe8me\n"), false},
		{"long and undecodable", bytes.Repeat([]byte{0xff, 0xfe, 'a'}, 1<<20), true},
		{"long latin-1", bytes.Repeat([]byte("caf\xe9 au lait, s'il vous pla\xeet\n"), 1<<16), false},
	} {
		if got := Binary(c.in); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWordsMarksWhatChanged(t *testing.T) {
	mark := func(s string, rs []Range) string {
		out, at := "", 0
		for _, r := range rs {
			out += s[at:r.Start] + "[" + s[r.Start:r.End] + "]"
			at = r.End
		}
		return out + s[at:]
	}
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"return foo(x, y)", "return bar(x, y)", "return [foo](x, y)", "return [bar](x, y)"},
		{"func open(p)", "func reopen(p)", "func [open](p)", "func [reopen](p)"},
		{"a b c", "a c", "a [b ]c", "a c"},
		{"same", "same", "same", "same"},
		{"entirely one thing", "other words here now", "entirely one thing", "other words here now"},
		{"name = \"größe\"", "name = \"größer\"", "name = \"[größe]\"", "name = \"[größer]\""},
	} {
		ra, rb := Words([]byte(c.a), []byte(c.b))
		if a, b := mark(c.a, ra), mark(c.b, rb); a != c.wantA || b != c.wantB {
			t.Errorf("got %s | %s, want %s | %s", a, b, c.wantA, c.wantB)
		}
	}
	long := bytes.Repeat([]byte("var a=1;"), 600_000)
	other := append([]byte(nil), long...)
	other[len(other)/2] = '#'
	if a, b := Words(long, other); len(a) != 1 || len(b) != 1 || b[0].End-b[0].Start > 16 {
		t.Errorf("got %v %v on a 4.8 MB line, want one short range each", a, b)
	}
}

func checkRanges(t *testing.T, line []byte, rs []Range) {
	t.Helper()
	at := 0
	for _, r := range rs {
		if r.Start < at || r.End <= r.Start || r.End > len(line) {
			t.Fatalf("got range %v after %d in a line of %d", r, at, len(line))
		}
		at = r.End
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte("a\nb\nc"), []byte("a\nc\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		la, lb := Split(a), Split(b)
		checkRuns(t, la, lb, Diff(la, lb))
		ra, rb := Words(a, b)
		checkRanges(t, a, ra)
		checkRanges(t, b, rb)
	})
}

func BenchmarkDiffTwentyEditsInTenThousandLines(b *testing.B) {
	s := seq(5)
	old := Split(randomLines(&s, 10_000, 4000))
	new := Split(mutate(&s, old, 20, 4000))
	b.ReportAllocs()
	for b.Loop() {
		Diff(old, new)
	}
}
