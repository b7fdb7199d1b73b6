package ui_test

import (
	"testing"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/uitest"
)

// A terminal sends escape and a key right behind it as that key with alt.
func TestEscapeAndAKeyBehindItAreTwoKeys(t *testing.T) {
	cases := []struct {
		name      string
		keys      []string
		see, gone string
	}{
		{"a sheet closes, then the place has the key", []string{"?", "alt+j"}, "▸ fix-ci", "keys: sessions"},
		{"a question takes its default, then the place has the key", []string{"D", "alt+j"}, "▸ fix-ci", "Remove claude-1?"},
		{"never its other answer", []string{"D", "alt+y"}, "▸ claude-1", "Remove claude-1?"},
		{"the page goes back, then the list has the key", []string{"n", "alt+G"}, "▸ nightly", "It will work on a copy"},
		{"a search ends, then the key means what it means", []string{"r", "/", "alt+?"}, "keys: review", "esc no search"},
		{"the frame's own key", []string{"n", "alt+5"}, "default deny", "It will work on a copy"},
		{"an arrow", []string{"?", "alt+down"}, "▸ fix-ci", "keys: sessions"},
		{"escape twice", []string{"?", "alt+esc"}, "▸ claude-1", "keys: sessions"},
		{"enter", []string{"?", "alt+enter"}, "Shall I run the migration?", "keys: sessions"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, b := open(t, 120, 40, nil)
			d.Press(c.keys...)
			d.See(c.see)
			d.NotSee(c.gone)
			if got := calls(b, "Remove"); len(got) != 0 {
				t.Fatalf("got %q, want nothing removed", got)
			}
		})
	}
}

func TestAltGoesInWithItsKey(t *testing.T) {
	d, b := inTerminal(t)
	d.Press("alt+b", "alt+F")
	if got, want := typed(b), "<2+98><3+102>"; got != want {
		t.Fatalf("got %q inside, want %q", got, want)
	}
	d.Press(`ctrl+\`, "alt+x") // the menu closes; the key behind goes in
	if got := typed(b); got != "x" {
		t.Fatalf("got %q inside, want x alone", got)
	}
}

func TestTheFirstStartOpensThePageThatMakesASession(t *testing.T) {
	none := func(b *uitest.Backend, _ *ui.Options) { b.Rows = nil }
	d, _ := open(t, 100, 30, none)
	d.See("› new session", "It will work on a copy of")
	d.Press("esc")
	d.See("No session of this repository yet.")
	d.Press("R")
	d.See("No session of this repository yet.") // once is enough

	d, _ = open(t, 100, 30, nil)
	d.See("▸ claude-1")
	d, b := open(t, 100, 30, func(b *uitest.Backend, o *ui.Options) { b.Rows, o.Session = nil, "gone" })
	d.NotSee("It will work on a copy of")
	b.With(func(b *uitest.Backend) {
		b.Rows = []session.Summary{{ID: "gone", Name: "late", State: session.StateRunning}}
	})
	d.Advance(2_000_000_000)
	d.See("▸ late")
}

// A key that is pressed before the list is there decides where to go.
func TestTheFirstStartDoesNotTakeOverWhereAPersonWent(t *testing.T) {
	d, b := open(t, 100, 30, func(b *uitest.Backend, _ *ui.Options) { b.Rows = nil; b.Hold("List") })
	d.Press("5")
	b.Release("List")
	d.Settle()
	d.See("as a new session would have it")
}

func TestProgressStandsAsLongAsTheWork(t *testing.T) {
	d, b := open(t, 100, 30, nil)
	b.Hold("Stop")
	d.Press("s", "y")
	d.Advance(20_000_000_000)
	d.See("stop claude-1…")
	b.Release("Stop")
	d.Settle()
	d.See("stop claude-1: done")
	d.NotSee("stop claude-1…")

	d.Press("r")
	b.Hold("ChangeSet")
	d.Press("R")
	d.Advance(20_000_000_000)
	d.See("taking a snapshot…")
	b.Release("ChangeSet")
	d.Settle()
	d.NotSee("taking a snapshot…")

	d.Press("tab", "enter", "}", "}", "space")
	b.Hold("PreviewApply")
	d.Press("A")
	d.Advance(20_000_000_000)
	d.See("comparing with your files…")
	b.Release("PreviewApply")
	d.Settle()
	d.See("Write this to your repository?")
	d.NotSee("comparing with your files…")
	d.Advance(1_000_000_000)
	b.Hold("Apply")
	d.Press("y")
	d.See("writing to your files…")
	b.Release("Apply")
	d.Settle()
	d.NotSee("writing to your files…")
}

func TestProgressComesBackBehindAMessage(t *testing.T) {
	d, b := open(t, 100, 30, nil)
	b.Hold("Stop")
	d.Press("s", "y", "T") // without colour: T only says so
	d.See("the theme stays mono")
	d.Advance(6_000_000_000)
	d.See("stop claude-1…")
	b.Release("Stop")
	d.Settle()
}
