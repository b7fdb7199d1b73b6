package session

import (
	"os"
	"reflect"
	"testing"
	"time"

	"fumehood/diffreview"
	"fumehood/session/store"
)

func TestWhatAReviewShowedIsKnownToTheNext(t *testing.T) {
	d, err := store.Root(t.TempDir()).Create()
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
	of := func(at time.Time, ids ...string) *diffreview.ChangeSet {
		cs := &diffreview.ChangeSet{SnapshotAt: at}
		for _, id := range ids {
			cs.Files = append(cs.Files, diffreview.File{Path: id, Whole: id})
		}
		return cs
	}
	note := func(cs *diffreview.ChangeSet) {
		t.Helper()
		if err := noteShown(d, cs); err != nil {
			t.Fatal(err)
		}
	}
	want := func(at time.Time, want map[string]bool) {
		t.Helper()
		if got := before(d, at); !reflect.DeepEqual(got, want) {
			t.Errorf("before the review of %v: got %v, want %v", at, got, want)
		}
	}
	second, third := first.Add(time.Nanosecond), first.Add(time.Hour)
	want(first, nil)
	note(of(first, "a", "b"))
	want(first, nil)
	want(second, map[string]bool{"a": true, "b": true})
	note(of(second, "b", "c"))
	note(of(second, "not shown anew"))
	want(second, map[string]bool{"a": true, "b": true})
	note(of(third))
	want(third, map[string]bool{"b": true, "c": true})
	want(third.Add(1), map[string]bool{})
	for _, damaged := range []string{"", "fumehood shown 1\n", "fumehood shown 1\nyesterday\na\n", "fumehood shown 2\n2026-11-30T12:00:00Z\na\n"} {
		if err := os.WriteFile(shownPath(d), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		want(second, nil)
	}
	note(of(first, "x"))
	want(second, map[string]bool{"x": true})
}
