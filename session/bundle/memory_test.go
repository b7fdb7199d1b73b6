package bundle

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestMoreThingsThanAnyReviewHasAreRefusedUnread: an empty text of five bytes takes
// several times as much once it is read.
func TestMoreThingsThanAnyReviewHasAreRefusedUnread(t *testing.T) {
	var list []string
	raw := append([]byte("["), bytes.Repeat([]byte("\"\","), maxItems+1)...)
	if err := decode("changes", append(raw, "\"\"]"...), &list); err == nil || errors.Is(err, ErrDamaged) || list != nil {
		t.Errorf("got %d texts and %v, want a refusal by number", len(list), err)
	}
	if n := sizeLimit(policyName); n > 1<<20 {
		t.Errorf("got a policy of up to %d bytes, want at most a mebibyte", n)
	}
}

// TestTheSumIsThatOfTheWholeFile: each byte of a file of decisions counts.
func TestTheSumIsThatOfTheWholeFile(t *testing.T) {
	s := savedDecided{Format: decidedFormat, Version: Version, By: "ada", Back: []savedUnit{}, CommentsBack: []string{}}
	raw, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if !s.holds(raw) {
		t.Error("the sum does not hold for the file that it was made of")
	}
	for _, other := range []string{
		strings.Replace(string(raw), "ada", "eve", 1), string(raw) + "\n", " " + string(raw),
		strings.Replace(string(raw), s.Sum, strings.ToUpper(s.Sum), 1), strings.Replace(string(raw), s.Sum, "", 1), "",
	} {
		if s.holds([]byte(other)) {
			t.Errorf("the sum holds for %q", other)
		}
	}
	cut := strings.Replace(string(raw), s.Sum, "", 1)
	if s.Sum = ""; s.holds([]byte(cut)) {
		t.Error("a file without a sum holds")
	}
}
