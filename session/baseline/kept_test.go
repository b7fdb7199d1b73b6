package baseline

import (
	"os"
	"strings"
	"testing"
)

// The old side of a changed file is fetched from the baseline's git objects once,
// not at every snapshot. Here they are gone, so a second fetch would fail.
func TestASnapshotTakesOldSidesFromTheOneBefore(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "as it was\n", "b": "not changed before\n"})
	s.write("a", "changed\n")
	first := s.want(Options{}, `"a" 100644>100644`)
	for i := range s.m.Entries {
		e := &s.m.Entries[i]
		e.Ref = Ref{Kind: RefSHA1}
		copy(e.Ref.Sum[:], BlobName([]byte(map[string]string{"a": "as it was\n", "b": "not changed before\n"}[e.Path]), 20))
	}
	ok(t, Record(s.d, s.m))
	s.write("a", "changed again\n")
	s.write("b", "changed too\n")
	second := s.want(Options{}, `"a" 100644>100644`)
	if got, want := second.Changes()[0].Old, first.Changes()[0].Old; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	wantLeft(t, second, "b", "can't be reviewed")
	old := NewBlobs(s.d.BlobsDir()).Path(first.Changes()[0].Old.Blob)
	ok(t, os.Truncate(old, 3))
	third := s.take(Options{})
	if got := lines(third); strings.Contains(got, `"a"`) {
		t.Errorf("got %s, want no change against bytes that are gone", got)
	}
}
