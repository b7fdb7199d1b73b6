package diffreview

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// manyFiles are n edited, added and deleted files.
func manyFiles(n int) *memSource {
	old, new := tree{}, tree{}
	for i := range n {
		p := fmt.Sprintf("d%d/f%03d.txt", i%7, i)
		body := strings.Repeat(fmt.Sprintf("a line of %d\n", i), 20)
		if i%3 != 0 {
			old[p] = text(body)
		}
		if i%3 != 1 {
			new[p] = text(fmt.Sprintf("first of %d\n", i) + body + "last\n")
		}
	}
	return newSource(old, new)
}

// onProcessors runs f as on a machine with n processors.
func onProcessors(n int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	f()
}

func TestBuildIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	src := manyFiles(200)
	var one, many *ChangeSet
	onProcessors(1, func() { one = build(t, src) })
	onProcessors(8, func() { many = build(t, src) })
	if !reflect.DeepEqual(one, many) {
		t.Error("got another change set on 8 processors than on one")
	}
}

// faulty fails on some blobs.
type faulty struct {
	*memSource
	bad map[Blob]bool
	on  func()
}

func (s *faulty) Content(b Blob, limit int64) ([]byte, error) {
	if s.on != nil {
		s.on()
	}
	if s.bad[b] {
		return nil, errors.New("gone")
	}
	return s.memSource.Content(b, limit)
}

func TestBuildFailsWithTheFirstOfSeveralErrors(t *testing.T) {
	src := &faulty{memSource: manyFiles(200), bad: map[Blob]bool{}}
	changes := src.Changes()
	for _, i := range []int{70, 71, 150, 199} {
		src.bad[changes[i].New.Blob], src.bad[changes[i].Old.Blob] = true, true
	}
	delete(src.bad, "")
	want := fmt.Sprintf("read %q: gone", changes[70].Path)
	for range 50 {
		onProcessors(8, func() {
			if _, err := Build(context.Background(), src, Options{}); err == nil || err.Error() != want {
				t.Fatalf("got %v, want %s", err, want)
			}
		})
	}
}

func TestBuildEndsWithItsContextAndLeavesNothingRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asked atomic.Int64
	src := &faulty{memSource: manyFiles(200), on: func() {
		if asked.Add(1) == 20 {
			cancel()
		}
	}}
	onProcessors(8, func() {
		if _, err := Build(ctx, src, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
	if n := asked.Load(); n > 20+3*8 {
		t.Errorf("got %d blobs read, want no more than were under way after the 20th", n)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("got %d goroutines, want %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestBuildRefusesContentOfAnotherSize(t *testing.T) {
	src := manyFiles(3)
	changes := src.Changes()
	changes[2].New.Size++
	_, err := Build(context.Background(), fixed{src, changes}, Options{})
	if err == nil || !strings.Contains(err.Error(), changes[2].Path) {
		t.Errorf("got %v, want an error about %s", err, changes[2].Path)
	}
}

func TestAChangeSetDoesNotHoldWhatItDoesNotShow(t *testing.T) {
	body := strings.Repeat("a line of a long file\n", 10_000)
	src := newSource(tree{"a": text(body)}, tree{"a": text(body[:110_000] + "one more\n" + body[110_000:])})
	cs := build(t, src)
	whole := src.blobs[cs.Files[0].New.Blob]
	for _, l := range cs.Files[0].Hunks[0].Lines {
		for at := 0; at+len(l.Text) <= len(whole); at += 22 {
			if &whole[at] == &l.Text[0] {
				t.Fatalf("got line %d in the memory of the whole file, want it copied", l.New)
			}
		}
	}
}

func TestIDsHoldAllOfAHunk(t *testing.T) {
	ids := map[string]string{}
	note := func(what string, old, new string, path string) {
		cs := build(t, newSource(tree{path: text(old)}, tree{path: text(new)}))
		if len(cs.Files) != 1 || len(cs.Files[0].Hunks) != 1 {
			t.Fatalf("%s: got %d files, want one with one hunk", what, len(cs.Files))
		}
		id := cs.Files[0].Hunks[0].ID
		if len(id) != idLen {
			t.Errorf("%s: got an ID of %d digits, want %d", what, len(id), idLen)
		}
		if was, ok := ids[id]; ok {
			t.Errorf("%s has the ID of %s", what, was)
		}
		ids[id] = what
	}
	note("an added line", "a\nb\n", "a\nx\nb\n", "f")
	note("another one", "a\nb\n", "a\ny\nb\n", "f")
	note("one elsewhere", "a\nb\n", "a\nb\nx\n", "f")
	note("at another path", "a\nb\n", "a\nx\nb\n", "g")
	note("on another base", "a\nB\n", "a\nx\nB\n", "f")
	note("a removed line", "a\nb\n", "a\n", "f")
	note("the other one", "a\nb\n", "b\n", "f")
	note("without its end", "a\nb\n", "a\nx\nb", "f")
	note("a last line", "a\n", "a\nx\n", "f")
	note("one without its end", "a\n", "a\nx", "f")
	note("two lines", "a\nb\n", "a\nx\ny\nb\n", "f")
	note("two lines in one", "a\nb\n", "a\nxy\nb\n", "f")
	note("a base without its end", "a\nb", "a\nx\nb", "f")
	note("other line endings", "a\r\nb\r\nc\r\n", "a\nx\nb\nc\n", "f")
	note("the same ones", "a\r\nb\r\nc\r\n", "a\r\nx\r\nb\r\nc\r\n", "f")
}
