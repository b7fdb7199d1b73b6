package kit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrappedLinesKeepTheirIndent(t *testing.T) {
	got := WrapLines("Head\n\n  key  one two three\n  short\n", 14)
	want := []string{"Head", "", "  key  one", "    two three", "  short"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for w := 1; w < 30; w++ {
		for _, l := range WrapLines("    "+strings.Repeat("x", 100), w) {
			if w >= 16 && Width(l) > w {
				t.Errorf("%d cells: got a line of %d", w, Width(l))
			}
		}
	}
}

func TestHungTextStandsBehindItsLead(t *testing.T) {
	got := Hang("12 B  ", "path/to/a file of some size", 20)
	want := []string{"12 B  path/to/a file", "      of some size"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
