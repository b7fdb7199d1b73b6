package kit

import (
	"strings"
	"testing"
)

func TestWhatGoesIntoTheClipboardActsOnNothing(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"lines and tabs", "a\n\tb\n", "a\n\tb\n"},
		{"carriage returns", "a\r\nb\r", "a\nb"},
		{"the end of a bracketed paste", "a\x1b[201~rm -rf x\n", "a[201~rm -rf x\n"},
		{"one of eight bits", "a\u009b201~b", "a201~b"},
		{"a string's end", "a\x07b\x1b\\c\x9c", "ab\\c\ufffd"},
		{"reordered text", "a\u202eb\u2066c\ufeff", "abc"},
		{"joined emoji", "👩\u200d💻", "👩\u200d💻"},
		{"bytes that are no text", "a\xff\xfeb", "a\ufffd\ufffdb"},
	}
	for _, c := range cases {
		if got := ClipText(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := ClipText(strings.Repeat("é", maxClip)); len(got) > maxClip || len(got) < maxClip-4 {
		t.Errorf("got %d bytes, want at most %d", len(got), maxClip)
	}
}
