package term

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// scan runs chunks through a scanner and writes what comes out as text:
// commands stand in brackets.
func scan(s *Scanner, chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		for _, e := range s.Scan([]byte(c)) {
			if e.Bytes != nil {
				b.Write(e.Bytes)
			} else {
				fmt.Fprintf(&b, "<%c>", e.Command)
			}
		}
	}
	return b.String()
}

func TestScannerFindsTheReservedKeyAndNothingElse(t *testing.T) {
	const bs = "\x1c"
	for _, row := range []struct {
		name, want string
		in         []string
	}{
		{"keys of the inside", "\x03\x1a\x04\x13\x11q\x1bOA\x1b[A\x00\xff", []string{"\x03\x1a\x04\x13\x11q\x1bOA\x1b[A\x00\xff"}},
		{"detach", "ab<d>c", []string{"ab" + bs + "dc"}},
		{"over two reads", "<d>", []string{bs, "d"}},
		{"twice sends itself", "a" + bs + "b", []string{"a" + bs + bs + "b"}},
		{"kitty", "<d>", []string{"\x1b[92;5ud"}},
		{"kitty twice", "\x1b[92;5u", []string{"\x1b[92;5u\x1b[92;5u"}},
		{"kitty with press and release", "<d>\x1b[100;1:3u", []string{"\x1b[92;5:1u\x1b[92;5:3u\x1b[100;1:1u\x1b[100;1:3u"}},
		{"kitty with locks on", "<d>", []string{"\x1b[92;197ud"}},
		{"kitty with alternates", "<d>", []string{"\x1b[92:124;5ud"}},
		{"the control key's own events go on", "\x1b[57442;5:3u<d>", []string{"\x1b[92;5u\x1b[57442;5:3ud"}},
		{"kitty, other key", "\x1b[93;5u\x1b[92;6u\x1b[92u", []string{"\x1b[93;5u\x1b[92;6u\x1b[92u"}},
		{"modifyOtherKeys", "<d>", []string{"\x1b[27;5;92~d"}},
		{"cut anywhere", "x<d>", []string{"x\x1b", "[9", "2;", "5", "u", "d"}},
		{"not in a paste", "\x1b[200~a" + bs + "d\x1b[201~<d>", []string{"\x1b[200~a" + bs + "d\x1b[201~" + bs + "d"}},
		{"paste cut anywhere", "\x1b[200~" + bs + "d\x1b[201~", []string{"\x1b[20", "0~" + bs, "d\x1b[2", "01~"}},
		{"mouse while open", "\x1b[<35;1;1M<d>", []string{bs + "\x1b[<35;1;1Md"}},
		{"arrow closes", "<\x1b>d", []string{bs + "\x1b[Ad"}},
		{"arrow in application mode closes", "<\x1b>d", []string{bs + "\x1bOAd"}},
		{"escape itself", "a\x1b\x1bb", []string{"a\x1b\x1bb"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := scan(&Scanner{}, row.in...); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestScannerHoldsAnEscapeUntilItIsFlushed(t *testing.T) {
	s := &Scanner{}
	if got := scan(s, "a\x1b"); got != "a" || !s.Pending() {
		t.Fatalf("got %q, pending %v, want the Escape held", got, s.Pending())
	}
	e := s.Flush()
	if len(e) != 1 || string(e[0].Bytes) != "\x1b" || s.Pending() {
		t.Fatalf("got %v, want the Escape", e)
	}
	scan(s, "\x1c\x1b")
	if e := s.Flush(); len(e) != 1 || e[0].Command != KeyEscape || s.Open() {
		t.Fatalf("got %v, want the command Escape", e)
	}
}

func TestScannerPassesEverythingElseByteForByte(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		in := noise(r, 10)
		in = bytes.ReplaceAll(in, []byte{ReservedKey}, nil)
		if bytes.Contains(in, []byte("[92")) || bytes.Contains(in, []byte(":92")) || bytes.Contains(in, []byte(";92")) {
			continue
		}
		s := &Scanner{}
		var out []byte
		for rest := in; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(6))
			for _, e := range s.Scan(rest[:n]) {
				out = append(out, e.Bytes...)
			}
			rest = rest[n:]
		}
		for _, e := range s.Flush() {
			out = append(out, e.Bytes...)
		}
		if !bytes.Equal(in, out) {
			t.Fatalf("got %q, want %q", out, in)
		}
	}
}
