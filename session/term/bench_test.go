package term

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// plainLines is like `seq 1 1000000`.
func plainLines() []byte {
	var b bytes.Buffer
	for i := range 150_000 {
		fmt.Fprintf(&b, "%d\r\n", i+1_000_000)
	}
	return b.Bytes()
}

// colouredLines is like a build or a test run with colours.
func colouredLines() []byte {
	var b bytes.Buffer
	for i := range 12_000 {
		fmt.Fprintf(&b, "\x1b[32m✓\x1b[0m \x1b[1;34mpkg/store/file_%d.go\x1b[0m:%d \x1b[38;5;%dmok\x1b[0m some longer text that a build prints, %d ms\r\n", i, i%900, i%256, i%77)
	}
	return b.Bytes()
}

// screenfuls is like a full-screen program that redraws all.
func screenfuls() []byte {
	var b bytes.Buffer
	for i := range 200 {
		b.WriteString("\x1b[H")
		for y := range 40 {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[48;5;%dm%100d\x1b[K\x1b[38;2;1;%d;3m│ 漢字 │\x1b[0m", y+1, (i+y)%256, i*y, y)
		}
	}
	return b.Bytes()
}

func benchFeed(b *testing.B, stream []byte) {
	s := NewScreen(120, 40, ScreenOptions{})
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		for p := stream; len(p) > 0; {
			n := min(len(p), 4096)
			s.Feed(p[:n])
			p = p[n:]
		}
	}
}

func BenchmarkFeedPlainLines(b *testing.B)    { benchFeed(b, plainLines()) }
func BenchmarkFeedColouredLines(b *testing.B) { benchFeed(b, colouredLines()) }
func BenchmarkFeedScreenfuls(b *testing.B)    { benchFeed(b, screenfuls()) }

func BenchmarkFilterColouredLines(b *testing.B) {
	stream := colouredLines()
	f := NewFilter(io.Discard)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		for p := stream; len(p) > 0; {
			n := min(len(p), 4096)
			f.Write(p[:n])
			p = p[n:]
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	s := NewScreen(120, 40, ScreenOptions{})
	s.Feed(screenfuls())
	for b.Loop() {
		s.Frame(0, 0)
	}
}

func BenchmarkNewScreen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewScreen(120, 40, ScreenOptions{})
	}
}
