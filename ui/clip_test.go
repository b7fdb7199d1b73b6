package ui_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"fumehood/ui"
	"fumehood/ui/uitest"
)

// wants has the inside want something in the clipboard, n-th time.
func wants(d *uitest.Driver, b *uitest.Backend, n int, text string, allow bool) {
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen++
		f.Clips, f.ClipBytes, f.ClipAllow = n, len(text), allow
		b.Screens["a1"], b.Clip = f, text
	})
	d.Advance(time.Second)
}

func withClipboard(t *testing.T) (*uitest.Driver, *uitest.Backend, *copied) {
	t.Helper()
	d, b := open(t, 80, 24, nil)
	d.Press("enter")
	c := &copied{Model: d.Model}
	d.Model = c
	calls(b, "ClipText")
	return d, b, c
}

func TestTheClipboardIsWrittenWhenThePersonSaysSo(t *testing.T) {
	d, b, c := withClipboard(t)
	wants(d, b, 1, "hello", false)
	d.See("the inside wants to write your clipboard (5 B)")
	d.Advance(time.Minute)
	d.See("the inside wants to write your clipboard (5 B)")
	d.Press("c", "x", "enter") // these go in
	if len(c.text) > 0 || len(calls(b, "ClipText")) > 0 {
		t.Fatalf("got %q written without the menu, want nothing", c.text)
	}
	d.Press(`ctrl+\`, "c")
	if len(c.text) != 1 || c.text[0] != "hello" {
		t.Fatalf("got %q written, want hello, once", c.text)
	}
	d.See("the inside wrote 5 B to your clipboard: hello")
	d.Advance(time.Minute)
	d.NotSee("wants to write")
	d.Press(`ctrl+\`, "c")
	d.See("it wants nothing in your clipboard")
	d.Advance(time.Minute)
	wants(d, b, 2, "again", false)
	d.See("the inside wants to write your clipboard (5 B)")
	d.Press(`ctrl+\`, "x")
	d.See("your clipboard was not written")
	d.Advance(time.Minute)
	d.NotSee("wants to write")
	if len(c.text) != 1 {
		t.Fatalf("got %q written, want nothing more", c.text)
	}
}

// What comes while the menu is open is not what the person read.
func TestTheRequestIsTheOneThatWasRead(t *testing.T) {
	d, b, c := withClipboard(t)
	wants(d, b, 1, "read", false)
	d.Press(`ctrl+\`)
	wants(d, b, 2, "evil", false)
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"ClipText": errors.New("the inside asks for something else in the clipboard by now")}
	})
	d.Press("c")
	if got := calls(b, "ClipText"); len(got) != 1 || got[0] != "ClipText a1 1" {
		t.Fatalf("got %q asked for, want the first request", got)
	}
	if len(c.text) > 0 {
		t.Fatalf("got %q written, want nothing", c.text)
	}
	d.See("your clipboard was not written: the inside asks for")
	d.Press(`ctrl+\`, "esc")
	d.Advance(time.Minute)
	d.See("the inside wants to write your clipboard (4 B)")
}

func TestAnAllowedWriteIsDoneWhileItIsLookedAt(t *testing.T) {
	d, b, c := withClipboard(t)
	wants(d, b, 1, "a\x1b[201~\x07b\n", true)
	if len(c.text) != 1 || c.text[0] != "a[201~b\n" {
		t.Fatalf("got %q written, want it once and clean", c.text)
	}
	d.See("the inside wrote 8 B to your clipboard: a[201~b")
	d.Press(`ctrl+\`, "d")
	wants(d, b, 2, "unseen", true)
	d.Press("enter")
	d.Advance(time.Second)
	if len(c.text) != 1 {
		t.Fatalf("got %q written, want nothing of what happened unseen", c.text)
	}
	wants(d, b, 3, "seen", true)
	if len(c.text) != 2 || c.text[1] != "seen" {
		t.Fatalf("got %q written, want what came while it was looked at", c.text)
	}
}

func TestTheClipboardsQuestionAsItWas(t *testing.T) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%dx%d", s[0], s[1]), func(t *testing.T) {
			d, _ := open(t, s[0], s[1], func(b *uitest.Backend, _ *ui.Options) {
				f := b.Screens["a1"]
				f.Clips, f.ClipBytes = 1, 412
				b.Screens["a1"] = f
			})
			d.Press("enter")
			d.Golden(filepath.Join("..", "testdata", "screens", "terminal", fmt.Sprintf("clipboard_%dx%d.golden", s[0], s[1])))
		})
	}
}
