package session

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fumehood/diffreview"
	"fumehood/session/store"
)

// sendDir is a session's folder as far as messages need one.
func sendDir(t *testing.T) (*Host, store.Dir) {
	t.Helper()
	h := &Host{Root: store.Root(t.TempDir()), User: "ada", TTY: "/dev/pts/7"}
	d, err := h.Root.Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Tenant(), []byte("ada"), 0o600); err != nil {
		t.Fatal(err)
	}
	return h, d
}

func comment(t *testing.T, h *Host, d store.Dir, c diffreview.Comment) string {
	t.Helper()
	kept, err := h.Comment(d, c)
	if err != nil {
		t.Fatal(err)
	}
	if kept.By != h.User || kept.Body != c.Body {
		t.Errorf("got %+v, want the comment as it is recorded, with who made it", kept)
	}
	return kept.ID
}

func TestAMessageIsPlainText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text stays", "a\nb ü 漢", "a\nb ü 漢"},
		{"the end of a paste", "a\x1b[201~rm -rf .\r", "a[201~rm -rf ."},
		{"its eight-bit form", "a\u009b201~b", "a201~b"},
		{"enter and ctrl+c", "a\rb\x03c", "a\nbc"},
		{"line ends", "a\r\nb\u2028c", "a\nb\nc"},
		{"a tab would complete", "a\tb", "a    b"},
		{"what reorders or hides", "a\u202eb\u200bc\U000e0041d\ufeff", "abcd"},
		{"no UTF-8", "a\xffb", "a?b"},
		{"delete", "a\x7fb", "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := plainText(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzPlainText(f *testing.F) {
	f.Add("a\x1b[201~\r\n\u009b\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := plainText(s)
		for _, r := range got {
			if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0) {
				t.Errorf("got %q of %q, want no control character", got, s)
			}
		}
		if again := plainText(got); again != got {
			t.Errorf("got %q, and of that %q; want the same", got, again)
		}
	})
}

func TestAMessageNamesPlaces(t *testing.T) {
	h, d := sendDir(t)
	comment(t, h, d, diffreview.Comment{Path: "b", Line: 7, Quote: "x := 1", Body: "why?"})
	comment(t, h, d, diffreview.Comment{Path: "a\x1b[2J", OldLine: 3, Body: "keep it"})
	comment(t, h, d, diffreview.Comment{Body: "in all: good"})
	m, err := h.keepMessage(d, "one more thing")
	if err != nil {
		t.Fatal(err)
	}
	want := "Review of your changes: 3 comments.\n\nThe whole change\nin all: good\n\n" +
		"\"a\\x1b[2J\" (line 3 of the old file, which you removed)\nkeep it\n\nb:7\n> x := 1\nwhy?\n\none more thing"
	if m.Text != want {
		t.Errorf("got %q, want %q", m.Text, want)
	}
}

// A comment is sent when its text was, not when a person asked for it.
func TestACommentCountsAsSentOnceItWasTyped(t *testing.T) {
	h, d := sendDir(t)
	one := comment(t, h, d, diffreview.Comment{Path: "a", Body: "one"})
	two := comment(t, h, d, diffreview.Comment{Path: "a", Body: "two"})
	if _, err := h.keepMessage(d, ""); err != nil {
		t.Fatal(err)
	}
	unsent := func() (out []string) {
		all, err := h.Comments(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if c.Sent.IsZero() {
				out = append(out, c.Body)
			}
		}
		return out
	}
	if got := fmt.Sprint(unsent()); got != "[one two]" {
		t.Errorf("kept: got %s unsent, want both", got)
	}
	m, err := PendingMessage(d)
	if err != nil || m == nil {
		t.Fatalf("got %v (%v), want what is kept", m, err)
	}
	// While it is typed one is written anew, and another one is asked for.
	comment(t, h, d, diffreview.Comment{ID: two, Path: "a", Body: "two, better"})
	comment(t, h, d, diffreview.Comment{Path: "a", Body: "three"})
	if _, err := h.keepMessage(d, "and more"); err != nil {
		t.Fatal(err)
	}
	if err := MessageSent(d, m, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(unsent()); got != "[two, better three]" {
		t.Errorf("got %s unsent, want what was not in the message", got)
	}
	m, err = PendingMessage(d)
	if err != nil || m == nil || len(m.Comments) != 2 || !strings.HasSuffix(m.Text, "and more") || strings.Contains(m.Text, "one") {
		t.Fatalf("got %+v (%v), want the other two and the text beside them", m, err)
	}
	if err := MessageSent(d, m, time.Now()); err != nil {
		t.Fatal(err)
	}
	if m, err := PendingMessage(d); m != nil || err != nil {
		t.Errorf("got %+v (%v), want nothing kept", m, err)
	}
	if _, err := h.keepMessage(d, ""); !errors.Is(err, ErrNothingToSend) {
		t.Errorf("got %v, want nothing to send", err)
	}
	// Taken back before it went: nothing goes.
	if _, err := h.keepMessage(d, ""); err == nil {
		t.Error("got a message, want none")
	}
	three := comment(t, h, d, diffreview.Comment{ID: one, Path: "a", Body: "one again"})
	if _, err := h.keepMessage(d, ""); err != nil {
		t.Fatal(err)
	}
	comment(t, h, d, diffreview.Comment{ID: three, Path: "a"})
	if m, err := PendingMessage(d); m != nil || err != nil {
		t.Errorf("taken back: got %+v (%v), want nothing", m, err)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	h, d := sendDir(t)
	for i := range 40 {
		comment(t, h, d, diffreview.Comment{Path: fmt.Sprintf("f%02d", i), Body: strings.Repeat("é", 900)})
	}
	comment(t, h, d, diffreview.Comment{Path: "a", Body: strings.Repeat("é", 30_000), Quote: strings.Repeat("q", 5000)})
	if _, err := h.keepMessage(d, ""); err != nil {
		t.Fatal(err)
	}
	total, messages := 0, 0
	for {
		m, err := PendingMessage(d)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			break
		}
		messages++
		total += len(m.Comments)
		if len(m.Text) > maxMessage+100 {
			t.Errorf("got a message of %d bytes, want at most some %d", len(m.Text), maxMessage)
		}
		if err := MessageSent(d, m, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if total != 41 || messages < 2 || messages > 5 {
		t.Errorf("got %d comments in %d messages, want all 41 in some", total, messages)
	}
	if _, err := h.keepMessage(d, strings.Repeat("x", maxBody+1)); err == nil {
		t.Error("a text beside them that is too long: got no error, want one")
	}
}
