package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fumehood/isolate/policy"
	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// wider is a repository whose own policy asks for n things that can be trusted
// and one that never can.
func wider(n int) *session.RepositoryPolicy {
	r := &session.RepositoryPolicy{
		Repo: "/home/ada/src/api-server", SHA256: strings.Repeat("ab", 32), User: &policy.Policy{Name: "default"},
		Widenings: []policy.Widening{{Key: "credentials", Have: "none", Want: "env:TOKEN", Why: "a credential is yours to give"}},
	}
	for i := range n {
		r.Widenings = append(r.Widenings, policy.Widening{
			Key: fmt.Sprintf("network.allow %d", i+1), Have: "nothing", Want: fmt.Sprintf("files%d.example.test:443 GET /**\x1b[2J", i+1), Why: "downloads from that host", Trustable: true,
		})
	}
	return r
}

func asksTrust(t *testing.T, w, h, n int) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, w, h, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "start"
		b.Look.Repository = wider(n)
	})
	b.Called()
	return d, b
}

func TestARepositorysPolicyIsTrustedOnScreen(t *testing.T) {
	d, b := asksTrust(t, 120, 40, 2)
	d.See("asks for more than yours gives: not in force", "network.allow 1: it wants files1.example.test:443 GET /**", "you give nothing", "t shows what each would mean")
	d.NotSee("env:TOKEN")
	d.Press("t")
	d.See("trust the repository's own policy?", "+ network.allow 2", "it means   downloads from that host", "1 thing that it asks for can't be trusted", "sha256 "+strings.Repeat("ab", 32))
	d.Advance(kit.Grace)
	d.Press("y")
	same(t, b.Called(), "TrustPolicy "+strings.Repeat("ab", 32), "Preview shell default")
	d.See("trusted: sessions that start from now on have it")
	d.NotSee("asks for more", "t trust")
	d.Press("t")
	d.NotSee("trust the repository's own policy?")
}

// Enter and escape are no, and so is whatever was typed before the question was
// read: y does nothing for a moment, nor before the last line was on the screen.
func TestTrustIsNeverGivenByAccident(t *testing.T) {
	for _, keys := range [][]string{{"t", "y"}, {"t", "enter"}, {"t", "esc"}, {"t", "n"}, {"t", "space", "y"}, {"y"}} {
		d, b := asksTrust(t, 120, 40, 2)
		d.PressRapidly(keys...)
		d.Settle()
		if got := b.Called(); len(calls(b, "TrustPolicy")) > 0 || strings.Contains(strings.Join(got, " "), "TrustPolicy") {
			t.Errorf("%q: got %q, want nothing trusted", keys, got)
		}
	}
	d, b := asksTrust(t, 80, 24, 30)
	d.See("and 28 more")
	d.Press("t")
	d.Advance(2 * kit.Grace)
	d.Press("y", "enter")
	if got := calls(b, "TrustPolicy"); len(got) > 0 {
		t.Fatalf("got %q before all of it was on the screen", got)
	}
	d.NotSee("trust the repository's own policy?")
	d.Press("t")
	d.Advance(kit.Grace)
	d.Press("G", "y", "end", "y", "g", "space", "G", "y")
	if got := calls(b, "TrustPolicy"); len(got) > 0 {
		t.Fatalf("got %q with most of it skipped", got)
	}
	d.See("scroll through it: then y")
	d.Press("g")
	for range 40 {
		d.Press("space")
	}
	d.Press("y")
	if got := calls(b, "TrustPolicy"); len(got) != 1 {
		t.Fatalf("got %q after all of it was on the screen, want it trusted", got)
	}
}

// A start asked for while trust is being recorded has to be asked for again: what
// it would be is another thing then.
func TestNothingStartsWhileTrustIsRecorded(t *testing.T) {
	d, b := asksTrust(t, 120, 40, 1)
	b.Hold("TrustPolicy")
	d.Press("t")
	d.Advance(kit.Grace)
	d.Press("y", "ctrl+s")
	b.Release("TrustPolicy")
	d.Settle()
	if got := calls(b, "Create"); len(got) > 0 {
		t.Fatalf("got %q, want no start", got)
	}
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create shell default "" []`)
}

func TestTrustThatCantBeRecordedSaysWhy(t *testing.T) {
	d, b := asksTrust(t, 120, 40, 1)
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"TrustPolicy": errors.New("the state folder is full")}
	})
	d.Press("t")
	d.Advance(kit.Grace)
	d.Press("y")
	d.See("nothing was trusted: the state folder is full", "asks for more than yours gives")
}
