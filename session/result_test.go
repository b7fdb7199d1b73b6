package session

import (
	"strings"
	"testing"
)

func TestCutterKeepsHeadAndTailAndSaysWhatIsMissing(t *testing.T) {
	tests := []struct {
		name    string
		limit   int
		in      []string
		want    string
		omitted int
		chars   int
	}{
		{name: "short", limit: 10, in: []string{"abc"}, want: "abc", chars: 3},
		{name: "exact", limit: 4, in: []string{"ab", "cd"}, want: "abcd", chars: 4},
		{name: "cut", limit: 4, in: []string{"abcdefgh"}, want: "ab\n[fumehood: 4 characters left out here]\ngh", chars: 8, omitted: 4},
		{name: "no limit", limit: 0, in: []string{strings.Repeat("x", 100)}, want: strings.Repeat("x", 100), chars: 100},
		{name: "one character", limit: 1, in: []string{"xyz"}, want: "x\n[fumehood: 2 characters left out here]\n", chars: 3, omitted: 2},
		{name: "split character", limit: 10, in: []string{"\xc3", "\xa9!"}, want: "é!", chars: 2},
		{name: "control characters show", limit: 40, in: []string{"a\x1b[2J\x07\x7f\u202eb\r\nc\rd"}, want: "a␛[2J␇␡<U+202E>b\nc␍d", chars: 14},
		{name: "broken utf-8 at the end", limit: 9, in: []string{"a\xe2\x82"}, want: "a\ufffd\ufffd", chars: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewCutter(tt.limit)
			for _, s := range tt.in {
				if _, err := c.Write([]byte(s)); err != nil {
					t.Fatal(err)
				}
			}
			got := c.Text()
			if got.Text != tt.want || got.Omitted != tt.omitted || got.Chars != tt.chars {
				t.Errorf("got %q, %d omitted of %d, want %q, %d of %d", got.Text, got.Omitted, got.Chars, tt.want, tt.omitted, tt.chars)
			}
		})
	}
}
