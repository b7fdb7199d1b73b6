package ui_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// withTraffic is a session that tried to reach things.
func withTraffic(b *uitest.Backend, o *ui.Options) {
	b.Traffic = map[string]session.Traffic{"a1": uitest.SampleTraffic(o.Clock.Now())}
	b.Drafts = uitest.SampleDrafts()
	b.Rows[0].Requests, b.Rows[0].Refusals = 2, 17
}

func atEgress(t *testing.T, w, h int, change func(b *uitest.Backend, o *ui.Options)) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, w, h, func(b *uitest.Backend, o *ui.Options) {
		withTraffic(b, o)
		if change != nil {
			change(b, o)
		}
	})
	d.Press("4")
	return d, b
}

func TestTheEgressScreensAreAsTheyWere(t *testing.T) {
	cases := []struct {
		name string
		keys []string
		wait time.Duration
		set  func(b *uitest.Backend, o *ui.Options)
	}{
		{name: "live"},
		{name: "attempt", keys: []string{"tab", "k", "k", "k", "k", "i"}},
		{name: "filter", keys: []string{"f", "f", "i", "l", "e", "s"}},
		{name: "draft", keys: []string{"enter"}, wait: time.Second},
		{name: "draft_account", keys: []string{"j", "enter"}, wait: time.Second},
		{name: "no_draft", keys: []string{"j", "j", "enter"}, wait: time.Second},
		{name: "nothing_yet", set: func(b *uitest.Backend, _ *ui.Options) {
			t := b.Traffic["a1"]
			b.Traffic["a1"] = session.Traffic{Policy: t.Policy, Entries: t.Entries, Live: true}
		}},
		{name: "damaged", set: func(b *uitest.Backend, _ *ui.Options) {
			t := b.Traffic["a1"]
			t.Damaged = 3
			b.Traffic["a1"] = t
		}},
		{name: "help", keys: []string{"?"}},
	}
	for _, c := range cases {
		for _, s := range sizes {
			t.Run(fmt.Sprintf("%s_%dx%d", c.name, s[0], s[1]), func(t *testing.T) {
				d, _ := atEgress(t, s[0], s[1], c.set)
				d.Press(c.keys...)
				d.Advance(c.wait)
				d.Golden(filepath.Join("..", "testdata", "screens", "egress", fmt.Sprintf("%s_%dx%d.golden", c.name, s[0], s[1])))
			})
		}
	}
}

func TestRefusalsSinceTheLastLookAreABadge(t *testing.T) {
	d, b := open(t, 100, 30, withTraffic)
	d.See("4 egress ✗17")
	d.Press("4")
	d.NotSee("egress ✗")
	d.Press("1")
	d.NotSee("egress ✗")
	b.With(func(b *uitest.Backend) { b.Rows[0].Refusals = 19 })
	d.Advance(3 * time.Second)
	d.See("4 egress ✗2")
}

func TestAnEntryIsAddedOnlyByAPersonsOwnKey(t *testing.T) {
	const text = `[[network.allow]]\ndestination = \"files.example.test:443\"\noperations = [\"GET /**\", \"HEAD /**\"]\n`
	cases := []struct {
		name string
		keys []string
		want string
	}{
		{"no is what enter does", []string{"enter"}, ""},
		{"and escape", []string{"esc"}, ""},
		{"this session", []string{"s"}, `AllowEntry a1 mine=false "` + text + `"`},
		{"my policy", []string{"p"}, `AllowEntry a1 mine=true "` + text + `"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, b := atEgress(t, 80, 24, nil)
			d.Press("enter")
			d.See("Let this out?")
			d.Advance(time.Second)
			d.Press(c.keys...)
			d.NotSee("Let this out?")
			if got := strings.Join(calls(b, "AllowEntry"), "\n"); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Keys that were on their way when the question came were meant for the list.
func TestAKeyFromBeforeTheQuestionAddsNothing(t *testing.T) {
	d, b := atEgress(t, 80, 24, nil)
	d.PressRapidly("enter", "s", "s", "enter", "s")
	d.Press("s", "p", "s", "p", "enter")
	d.See("Let this out?")
	if got := calls(b, "AllowEntry"); len(got) > 0 {
		t.Fatalf("got %q by keys from before the question, want nothing added", got)
	}
	d.Advance(time.Second)
	d.Press("n")
	if got := calls(b, "AllowEntry"); len(got) > 0 {
		t.Fatalf("got %q after no, want nothing added", got)
	}

	b.Hold("DraftEntry")
	d.Press("enter", "1") // and a person who has gone elsewhere is not asked
	b.Release("DraftEntry")
	d.Settle()
	d.NotSee("Let this out?")
}

// In a window too low for the question its grave answers wait until all of it
// was on the screen.
func TestTheWholeEntryIsSeenBeforeItIsAdded(t *testing.T) {
	d, b := atEgress(t, 60, 15, nil)
	d.Press("enter")
	d.Advance(time.Second)
	d.Press("s")
	if got := calls(b, "AllowEntry"); len(got) > 0 {
		t.Fatalf("got %q with lines unread, want nothing", got)
	}
	d.See("more line")
	d.Press("G", "s")
	if got := calls(b, "AllowEntry"); len(got) != 1 {
		t.Fatalf("got %q after the end was seen, want one entry", got)
	}
}

func TestASessionThatHasEndedIsOfferedTheLastingPlaceOnly(t *testing.T) {
	d, b := atEgress(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
		x := b.Drafts["files.example.test:443"]
		x.Live = false
		b.Drafts["files.example.test:443"] = x
	})
	d.Press("enter")
	d.Advance(time.Second)
	d.See("The session is not running")
	d.NotSee("s this session")
	d.Press("s")
	if got := calls(b, "AllowEntry"); len(got) > 0 {
		t.Fatalf("got %q, want no entry for a session that has ended", got)
	}
}

func TestAnEntryThatIsRefusedIsAnError(t *testing.T) {
	d, b := atEgress(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
		b.Fail = map[string]error{"AllowEntry": errors.New("the entry is refused: destination: \"x\x1b[2J\"")}
	})
	b.Hold("AllowEntry")
	d.Press("enter")
	d.Advance(time.Second)
	d.Press("s")
	d.See("adding the entry…")
	b.Release("AllowEntry")
	d.Settle()
	d.See("add the entry: the entry is refused")
}

// What comes does not move what is under the cursor.
func TestTheCursorStaysOnItsAttempt(t *testing.T) {
	d, b := atEgress(t, 80, 24, nil)
	d.Press("tab", "k", "k", "k")
	at := cursorLine(t, d)
	if !strings.Contains(at, "files.example.test") {
		t.Fatalf("got the cursor on %q, want the third from the end", at)
	}
	for range 30 {
		b.With(func(b *uitest.Backend) {
			x := b.Traffic["a1"]
			more := x.Attempts[3]
			more.Path = "/later"
			x.Attempts = append(append([]session.Attempt{}, x.Attempts...), more)
			x.Allowed++
			b.Traffic["a1"] = x
		})
		d.Advance(1100 * time.Millisecond)
		if now := cursorLine(t, d); now != at {
			t.Fatalf("got the cursor on %q, want it to stay on %q", now, at)
		}
	}
	d.NotSee("follows")
	d.Press("G")
	d.See("/later", "follows")
	// The oldest are given up while one of them is under the cursor.
	d.Press("g")
	b.With(func(b *uitest.Backend) {
		x := b.Traffic["a1"]
		x.Attempts, x.First = x.Attempts[5:], 5
		b.Traffic["a1"] = x
	})
	d.Advance(1100 * time.Millisecond)
	calls(b, "DraftEntry")
	d.Press("enter")
	if got := calls(b, "DraftEntry"); len(got) > 0 {
		t.Fatalf("got %q drafted for an attempt that is not there any more, want nothing", got)
	}
}

func cursorLine(t *testing.T, d *uitest.Driver) string {
	t.Helper()
	for _, l := range strings.Split(d.Screen(), "\n") {
		if strings.HasPrefix(l, " ▸ ") {
			return l
		}
	}
	t.Fatalf("got no cursor, want one:\n%s", d.Screen())
	return ""
}

func TestTheEgressFilterAndTheMouse(t *testing.T) {
	d, _ := atEgress(t, 120, 40, nil)
	d.Press("f")
	d.Send(tea.PasteMsg{Content: "ANTHROPIC-key"})
	d.Press("enter")
	d.See("/v1/messages", "filter:")
	d.NotSee("files.example.test", "refused, grouped")
	d.Press("esc")
	d.See("refused, grouped")
	d.Press("f", "z", "z", "q")
	d.See(`No attempt has "zzq" in it.`)
	d.Press("esc")
	d.ClickOn("operation not allowed")
	if at := cursorLine(t, d); !strings.Contains(at, "/v1/files") {
		t.Fatalf("got %q under the cursor, want what was clicked", at)
	}
	d.ClickOn("×14")
	if at := cursorLine(t, d); !strings.Contains(at, "×14") {
		t.Fatalf("got %q under the cursor, want the group that was clicked", at)
	}
	d.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp, X: 5, Y: 8})
	if at := cursorLine(t, d); !strings.Contains(at, "12:4") {
		t.Fatalf("got %q under the cursor, want the list under the wheel", at)
	}
}

// copied keeps what was given to the terminal's clipboard.
type copied struct {
	tea.Model
	text []string
}

func (c *copied) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m, ok := msg.(kit.SetClipboardMsg); ok {
		c.text = append(c.text, m.Text)
	}
	_, cmd := c.Model.Update(msg)
	return c, cmd
}

func TestALineIsCopiedWithoutWhatActsOnATerminal(t *testing.T) {
	d, _ := atEgress(t, 120, 40, nil)
	c := &copied{Model: d.Model}
	d.Model = c
	d.Press("G", "y")
	if len(c.text) != 1 || !strings.Contains(c.text[0], "xn--pypal-4ve.test:80/") || strings.ContainsAny(c.text[0], "\x1b\u202e\n") {
		t.Fatalf("got %q copied, want the last line, cleaned", c.text)
	}
	d.See("given to your terminal's clipboard: 12:41:02  ✗  GET")
	if v := d.Model.View().Content; strings.ContainsAny(strings.ReplaceAll(v, "\x1b[", ""), "\x1b\u202e") {
		t.Fatalf("got control characters of the inside on the screen: %q", v)
	}
}

func TestTheEgressScreenFitsEveryWindow(t *testing.T) {
	for _, keys := range [][]string{nil, {"enter"}, {"tab", "k", "i"}, {"f", "x"}, {"?"}} {
		d, _ := atEgress(t, 120, 40, nil)
		d.Press(keys...)
		for w := 200; w >= 10; w -= 19 {
			for h := 60; h >= 3; h -= 3 {
				d.Resize(w, h)
				d.Fits()
			}
		}
	}
}

func TestTheEgressScreenInEveryTheme(t *testing.T) {
	for _, theme := range []string{"dark", "light", "high-contrast", "colour-blind", "mono"} {
		d, _ := atEgress(t, 100, 30, func(_ *uitest.Backend, o *ui.Options) { o.Theme, o.NoColor = theme, false })
		d.See("files.example.test", "✗", "✓", "refused, grouped")
		if got := strings.Contains(d.Model.View().Content, "\x1b["); got != true && theme != "mono" {
			t.Errorf("%s: got no attribute on the screen, want some", theme)
		}
	}
	d, _ := atEgress(t, 100, 30, func(_ *uitest.Backend, o *ui.Options) { o.ASCII = true })
	for _, r := range d.Screen() {
		if r > 0x7e {
			t.Fatalf("got %q on a screen without UTF-8:\n%s", r, d.Screen())
		}
	}
}
