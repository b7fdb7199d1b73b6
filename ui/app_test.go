package ui_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/isolate/layer"
	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

func open(t *testing.T, w, h int, change func(b *uitest.Backend, o *ui.Options)) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	clock := uitest.NewClock()
	b := uitest.Sample(clock.Now())
	o := ui.Options{Repo: "/home/ada/src/api-server", Clock: clock, NoColor: true}
	if change != nil {
		change(b, &o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	d := uitest.Drive(t, ui.NewApp(ctx, b, o), clock, b.Blocked, w, h)
	d.Settle()
	return d, b
}

// calls gives those of one method among those recorded.
func calls(b *uitest.Backend, method string) []string {
	var out []string
	for _, c := range b.Called() {
		if strings.HasPrefix(c, method+" ") {
			out = append(out, c)
		}
	}
	return out
}

var sizes = [][2]int{{80, 24}, {100, 30}, {120, 40}, {200, 60}}

func TestScreensAreAsTheyWere(t *testing.T) {
	cases := []struct {
		name string
		keys []string
		set  func(b *uitest.Backend, o *ui.Options)
	}{
		{name: "sessions/list"},
		{name: "sessions/empty", keys: []string{"esc"}, set: func(b *uitest.Backend, _ *ui.Options) { b.Rows = nil }},
		{name: "sessions/killed", set: func(b *uitest.Backend, o *ui.Options) {
			o.Session = "b2"
			b.Rows[1].Live, b.Rows[1].State = false, session.StateStopped
			b.Rows[1].Error = "the supervisor ended without a word: it was killed, or the machine went down; the workspace is kept"
		}},
		{name: "sessions/unreadable", set: func(b *uitest.Backend, _ *ui.Options) {
			b.Fail = map[string]error{"List": errors.New("read sessions: permission denied")}
		}},
		{name: "sessions/quick_look", keys: []string{"space"}},
		{name: "sessions/remove", keys: []string{"D"}},
		{name: "sessions/help", keys: []string{"?"}},
		{name: "sessions/limit", keys: []string{"G", "k"}},
		{name: "start/new", keys: []string{"n"}},
		{name: "start/refused", keys: []string{"n"}, set: func(b *uitest.Backend, _ *ui.Options) {
			b.Look.Err = "landlock: this kernel has Landlock off; see fumehood doctor"
		}},
		{name: "start/trust", keys: []string{"n"}, set: func(b *uitest.Backend, _ *ui.Options) { b.Look.Repository = wider(6) }},
		{name: "start/trust_question", keys: []string{"n", "t"}, set: func(b *uitest.Backend, _ *ui.Options) { b.Look.Repository = wider(2) }},
		{name: "start/command", keys: []string{"n", "left", "enter", "v", "i", "m"}},
		{name: "terminal/waits", keys: []string{"enter"}},
		{name: "terminal/menu", keys: []string{"enter", `ctrl+\`}},
		{name: "terminal/ended", keys: []string{"G", "enter"}},
		{name: "terminal/scrolled", keys: []string{"enter", `ctrl+\`, "[", "pgup"}},
		{name: "terminal/full", keys: []string{"enter", `ctrl+\`, "f"}},
		{name: "review/first", keys: []string{"r"}},
		{name: "review/diff", keys: []string{"r", "tab", "tab", "enter", "}", "}", "W"}},
		{name: "review/hidden_characters", keys: []string{"r", "enter", "}", "}", "}", "}"}},
		{name: "review/binary", keys: []string{"r", "enter", "}", "}", "}", "}", "}", "}"}},
		{name: "review/nothing", keys: []string{"G", "r"}},
		{name: "review/left_out", keys: []string{"r", "h"}},
		{name: "egress/none", keys: []string{"4"}},
		{name: "walls/live", keys: []string{"5"}},
		{name: "walls/ended", keys: []string{"G", "5"}},
		{name: "walls/unproven", keys: []string{"G", "k", "5"}},
		{name: "walls/no_session", keys: []string{"esc", "5", "j", "j", "j"}, set: func(b *uitest.Backend, _ *ui.Options) { b.Rows = nil }},
		{name: "walls/attempts", keys: []string{"5", "j", "j", "j", "j", "l", "j", "j"}},
		{name: "walls/failed", keys: []string{"5"}, set: failedWall},
		{name: "walls/failed_attempt", keys: []string{"5", "!", "l"}, set: failedWall},
		{name: "walls/stale", keys: []string{"5"}, set: staleWalls},
		{name: "walls/layers", keys: []string{"5", "i"}},
		{name: "walls/save", keys: []string{"5", "s"}},
		{name: "walls/matrix", keys: []string{"5", "M"}},
		{name: "start/unproven", keys: []string{"n"}, set: func(b *uitest.Backend, _ *ui.Options) {
			b.Look.Walls = walls.Standing{}
			b.Look.Unproven, b.Look.Err = true, "policy \"strict\" starts only what is proven: the wall tests were not run with this policy"
		}},
	}
	for _, c := range cases {
		for _, s := range sizes {
			t.Run(fmt.Sprintf("%s_%dx%d", c.name, s[0], s[1]), func(t *testing.T) {
				d, _ := open(t, s[0], s[1], c.set)
				d.Press(c.keys...)
				d.Golden(filepath.Join("..", "testdata", "screens", fmt.Sprintf("%s_%dx%d.golden", c.name, s[0], s[1])))
			})
		}
	}
}

func TestEveryWindowSizeFits(t *testing.T) {
	for _, keys := range [][]string{nil, {"n"}, {"enter"}, {"r"}, {"4"}, {"5"}, {"D"}, {"?"}, {"space"}, {"r", "enter", "W"}, {"enter", `ctrl+\`}, {"r", "/"}} {
		d, _ := open(t, 120, 40, nil)
		d.Press(keys...)
		for w := 200; w >= 10; w -= 19 {
			for h := 60; h >= 3; h -= 3 {
				d.Resize(w, h)
				d.Fits()
			}
		}
		d.Resize(10, 3)
		d.Fits()
		d.Resize(1, 1)
		d.Fits()
		d.Resize(120, 40)
		d.Fits()
	}
}

func TestASmallWindowSaysItsSizeAndTheTerminalStillWorks(t *testing.T) {
	d, b := open(t, 40, 10, nil)
	d.See("fumehood needs 60x15, this is 40x10")
	d.Press("enter")
	d.See("Shall I run the migration?")
	calls(b, "Keys")
	d.Press("y")
	if got := calls(b, "Keys"); len(got) != 1 || got[0] != "Keys a1 y" {
		t.Fatalf("got %q, want the key to go in", got)
	}
	d.Press(`ctrl+\`)
	d.See("d sessions")
}

func TestTheListDoesNotMoveUnderTheCursor(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.Press("G") // nightly, the last
	b.With(func(b *uitest.Backend) {
		for i := range b.Rows {
			if b.Rows[i].ID == "c3" {
				b.Rows[i].State, b.Rows[i].Live = session.StateWaiting, true
			}
		}
		b.Rows = append([]session.Summary{{ID: "e5", Name: "newcomer", State: session.StateRunning, Live: true, ChangedFiles: -1}}, b.Rows...)
	})
	d.Advance(2 * time.Second)
	rows := strings.Split(d.Screen(), "\n")
	if got := rows[7]; !strings.Contains(got, "▸ nightly") {
		t.Fatalf("got %q in the fourth row, want the cursor still on nightly there", got)
	}
	d.Press("R")
	if got := strings.Split(d.Screen(), "\n")[5]; !strings.Contains(got, "▸ nightly") {
		t.Fatalf("got %q in the second row, want nightly sorted up as it waits, the cursor on it:\n%s", got, d.Screen())
	}
}

func TestRemoveAsksOnceAndKeepsByDefault(t *testing.T) {
	for _, k := range []string{"enter", "esc", "k", "q", "n", "D", "space"} {
		d, b := open(t, 120, 40, nil)
		d.Press("D")
		d.See("Remove claude-1?", "9 files undecided in its newest snapshot.", "approved but not applied", "can't be undone any more")
		d.Press(k)
		if got := calls(b, "Remove"); len(got) != 0 {
			t.Errorf("%s: got %q, want nothing removed", k, got)
		}
	}
	d, b := open(t, 120, 40, nil)
	d.Press("G", "D", "y") // nothing in it is undecided
	same(t, calls(b, "Remove"), "Remove c3 force=false")
	d.See("remove nightly: done")
}

// What a removal would lose is counted at the time: it is asked for with that
// number, and not by a key that was typed ahead.
func TestRemovingWhatIsNotAppliedAsksAgainWithTheCount(t *testing.T) {
	counted := func() (*uitest.Driver, *uitest.Backend) {
		d, b := open(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
			b.Rows[0].Undecided = 2
			b.Fail = map[string]error{"Remove": fmt.Errorf("remove: %w", &session.UndecidedError{ID: "a1", Files: 11})}
		})
		d.PressRapidly("D", "y", "y", "y")
		d.See("Throw away what claude-1 holds?", "11 files that it changed are undecided, or approved but not applied", "can't be undone any more")
		same(t, calls(b, "Remove"), "Remove a1 force=false")
		d.Advance(kit.Grace)
		b.With(func(b *uitest.Backend) { b.Fail = nil })
		return d, b
	}
	for _, k := range []string{"enter", "esc", "k", "q", "D", "space"} {
		d, b := counted()
		d.Press(k)
		if got := calls(b, "Remove"); len(got) != 0 {
			t.Errorf("%s: got %q, want it kept", k, got)
		}
	}
	d, b := counted()
	d.PressRapidly("y", "y")
	same(t, calls(b, "Remove"), "Remove a1 force=true")
	d.See("remove claude-1: done")
	d.NotSee("▸ claude-1")
}

// A workspace that can't be read any more would else stay for ever.
func TestWhatCannotBeCountedCanBeRemovedAllTheSame(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
		b.Fail = map[string]error{"Remove": errors.New("see what is undecided: manifest: unexpected end")}
	})
	d.Press("D", "y")
	d.See("It was not removed: see what is undecided: manifest: unexpected end.", "whatever it holds is lost")
	d.Advance(kit.Grace)
	b.With(func(b *uitest.Backend) { b.Fail = nil })
	d.Press("y")
	same(t, calls(b, "Remove"), "Remove a1 force=false", "Remove a1 force=true")
}

var moreRows = regexp.MustCompile(`^   … (?:(\d+) more above)?(?:, )?(?:(\d+) more below)?\s*$`)

func TestALongListSaysHowManyAreNotOnTheScreen(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
		for i := range 40 {
			b.Rows = append(b.Rows, session.Summary{ID: fmt.Sprintf("z%d", i), Name: fmt.Sprintf("old-%d.", i), State: session.StateExited, Created: b.Rows[3].Created.Add(-time.Hour * time.Duration(i+1)), ChangedFiles: -1})
		}
	})
	check := func() {
		t.Helper()
		shown, above, below := 0, 0, 0
		for _, l := range strings.Split(d.Screen(), "\n")[4:] {
			if m := moreRows.FindStringSubmatch(l); m != nil {
				above, _ = strconv.Atoi(m[1]) // none is 0
				below, _ = strconv.Atoi(m[2])
				break
			}
			shown++
		}
		if shown == 0 || shown+above+below != 44 {
			t.Fatalf("got %d rows, %d above and %d below, want 44 together:\n%s", shown, above, below, d.Screen())
		}
	}
	d.See("more below")
	d.NotSee("more above")
	check()
	for range 20 {
		d.Press("j")
	}
	d.See("more above", "more below", "▸ old-16.")
	check()
	d.Press("G")
	d.See("more above", "▸ old-39.")
	d.NotSee("more below")
	check()
	b.Called()
	d.ClickOn("more above") // no row
	d.See("▸ old-39.", "1 sessions")
}

func TestThePolicyTextIsWrapped(t *testing.T) {
	long := "Network\n  reach       one.example.test two.example.test three.example.test four.example.test five.example.test the-end\n"
	for _, keys := range [][]string{{"p"}, {"n", "p"}, {"5", "p"}} {
		d, _ := open(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
			x := b.Details["a1"]
			x.Block = long
			b.Details["a1"] = x
			b.About["a1"] = session.Walls{Policy: "default", Block: long}
			b.Look.Block = long
		})
		d.Press(keys...)
		d.See("policy default", "reach       one.example.test", "the-end")
		d.Fits()
	}
}

// A quick second key must meet the question about the session that was under
// the cursor, and not remove another.
func TestRapidRemoveIsForTheSessionThatWasNamed(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.PressRapidly("D", "D", "j", "y", "y")
	if got := calls(b, "Remove"); len(got) != 1 || got[0] != "Remove a1 force=false" {
		t.Fatalf("got %q, want a1 removed, once", got)
	}
	d, b = open(t, 120, 40, nil)
	d.PressRapidly("s", "enter", "s", "y", "y")
	if got := calls(b, "Stop"); len(got) != 1 || got[0] != "Stop a1" {
		t.Fatalf("got %q, want a1 stopped, once", got)
	}
}

// "enter" opens the terminal at once: what is typed behind it goes in and
// never to the list, where it would stop or remove.
func TestKeysBehindEnterGoIn(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.PressRapidly("enter", "s", "D", "y", "q")
	var got string
	for _, c := range b.Called() {
		if strings.HasPrefix(c, "Stop") || strings.HasPrefix(c, "Remove") {
			t.Fatalf("got %q, want it to go into the terminal", c)
		}
		if strings.HasPrefix(c, "Keys a1 ") {
			got += strings.TrimPrefix(c, "Keys a1 ")
		}
	}
	if got != "sDyq" {
		t.Fatalf("got %q inside, want sDyq", got)
	}
	if d.Quit {
		t.Fatal("got the workbench to leave on a key that was for the agent")
	}
}

func TestAFailedListStaysUntilAKeyAndInTheLog(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	b.With(func(b *uitest.Backend) { b.Fail = map[string]error{"List": errors.New("disk \x1b]0;x\x07gone")} })
	d.Advance(2 * time.Second)
	d.See("✗ list sessions: disk")
	d.Advance(time.Minute)
	d.See("✗ list sessions: disk")
	d.Press("j")
	d.NotSee("✗ list sessions: disk")
	d.Press("L")
	d.See("list sessions: disk")
	if c := d.Model.View().Content; strings.Contains(c, "\x1b]") || strings.Contains(c, "\x07") {
		t.Fatalf("got an escape of an error on the screen: %q", c)
	}
}

func TestAMessageGoesAfterFiveSeconds(t *testing.T) {
	d, _ := open(t, 120, 40, nil)
	d.Press("s", "y")
	d.See("stop claude-1: done")
	d.Advance(6 * time.Second)
	d.NotSee("stop claude-1: done")
}

func TestMouseReachesWhatLooksClickable(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.ClickOn("5 walls")
	d.See("default deny", "13 of 16 held")
	d.ClickOn("11 nothing outlives the run")
	d.See("▸ life 11 nothing outlives the run")
	d.ClickOn("1 sessions")
	d.ClickOn("fix-ci")
	d.See("▸ fix-ci")
	d.ClickOn("new")
	d.See("It will work on a copy of")
	d.ClickOn("demo agent")
	if got := calls(b, "Preview"); len(got) == 0 || got[len(got)-1] != "Preview demo default" {
		t.Fatalf("got %q, want the demo agent chosen by the click", got)
	}
	d.Press("esc")
	d.ClickOn("s stop")
	d.See("Stop fix-ci?")
	d.ClickOn("stop it")
	if got := calls(b, "Stop"); len(got) != 1 || got[0] != "Stop b2" {
		t.Fatalf("got %q, want b2 stopped by clicks", got)
	}
}

func TestBehindADialogNothingIsClicked(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.Press("D")
	d.ClickOn("3 review")
	d.ClickOn("fix-ci")
	d.See("Remove claude-1?")
	if got := b.Called(); len(got) != 0 {
		t.Fatalf("got %q, want no call", got)
	}
}

func TestWithoutUTF8NothingButASCII(t *testing.T) {
	for _, keys := range [][]string{nil, {"n"}, {"enter"}, {"r"}, {"r", "enter", "}", "}", "}", "}"}, {"4"}, {"5"}, {"?"}, {"D"}} {
		d, _ := open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.ASCII = true })
		d.Press(keys...)
		for _, r := range d.Model.View().Content {
			if r > 0x7e {
				t.Fatalf("%v: got %q on the screen, want ASCII alone:\n%s", keys, r, d.Screen())
			}
		}
		d.Fits()
	}
}

func TestWithoutColourNoColour(t *testing.T) {
	for _, keys := range [][]string{nil, {"n"}, {"r"}, {"r", "enter"}, {"5"}, {"D"}} {
		d, _ := open(t, 120, 40, nil)
		d.Press(keys...)
		for _, sgr := range strings.Split(d.Model.View().Content, "\x1b[")[1:] {
			p := sgr[:strings.IndexByte(sgr, 'm')]
			if strings.Contains(p, "38") || strings.Contains(p, "48") || len(p) == 2 && p >= "30" && p <= "49" {
				t.Fatalf("%v: got the colour %q, want none", keys, p)
			}
		}
	}
}

func TestThemesAreChosenAndTurned(t *testing.T) {
	d, _ := open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.NoColor = false })
	dark := d.Model.View().Content
	d.Send(tea.BackgroundColorMsg{Color: ansi.RGBColor{R: 255, G: 255, B: 255}})
	if d.Model.View().Content == dark {
		t.Fatal("got the same colours on a light background")
	}
	d.Press("T")
	d.See("theme ")
	d, _ = open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.NoColor, o.Theme = false, "nosuch" })
	d.See("nosuch")
}

// Whatever a session, a file or an error says, only SGR sequences reach the
// terminal.
func TestHostileTextDoesNotReachTheTerminal(t *testing.T) {
	evil := "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1bP+q\x1b\\\u202e\u009b31m\xff\r\nname\x1b[31m"
	d, b := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		for i := range b.Rows {
			b.Rows[i].Name, b.Rows[i].LastLine, b.Rows[i].Agent, b.Rows[i].Policy, b.Rows[i].Error = evil, evil, evil, evil, evil
			b.Rows[i].Command, b.Rows[i].Repo = []string{evil}, evil
		}
		x := b.Details["a1"]
		x.Block, x.Limits = evil, []session.LimitLine{{Name: evil, Value: evil, How: evil}}
		x.Layers = []layer.Fact{{Layer: layer.Name(evil), What: evil, Value: evil, Source: evil}}
		b.Details["a1"] = x
		f := b.Screens["a1"]
		f.Lines, f.Title, f.Requests = []string{evil, "\x1b[38;2;1;2;3mok\x1b[?1049h\x1b[5n"}, evil, []string{evil}
		b.Screens["a1"] = f
		b.Names = []string{evil, "default"}
		b.Look = session.Preview{
			Repo: evil, Branch: evil, Git: true, Write: []string{evil}, Reach: []string{evil}, Use: []string{evil}, Warnings: []string{evil}, Err: evil, Block: evil,
			LeftOut: []diffreview.LeftOut{{Path: evil, Reason: evil}},
		}
		set := b.Sets["a1"]
		for i := range set.Files {
			fl := &set.Files[i]
			fl.Path += evil
			fl.Unshown = evil
			fl.New.Kind, fl.New.Target = diffreview.KindSymlink, evil
			fl.Findings = append(fl.Findings, diffreview.Finding{Rule: evil, Why: evil, Severity: diffreview.Severity(evil), Line: 1})
			for h := range fl.Hunks {
				for l := range fl.Hunks[h].Lines {
					fl.Hunks[h].Lines[l].Text = []byte(evil)
				}
			}
		}
		set.LeftOut = []diffreview.LeftOut{{Path: evil, Reason: evil}}
		b.Would = []string{evil}
		b.Check = session.Applied{Conflicts: []session.PathWhy{{Path: evil, Why: evil}}, Skipped: []session.PathWhy{{Path: evil, Why: evil}}}
		o.Repo = evil
	})
	check := func(keys []string) {
		t.Helper()
		d.Press(keys...)
		v := d.Model.View()
		for _, c := range []string{v.Content, v.WindowTitle} {
			if bad := notSGR(c); bad != "" {
				t.Fatalf("%v: got %q on the way to the terminal", keys, bad)
			}
		}
		d.Fits()
	}
	check(nil)
	for _, keys := range [][]string{
		{"p"},
		{"esc", "space"},
		{"space", "D"},
		{"k", "n"},
		{"p"},
		{"esc", "m"},
		{"esc", "esc", "enter"},
		{`ctrl+\`, "r"},
		{"enter"},
		{"W"},
		{"}"},
		{"}"},
		{"h"},
		{"esc", "space"},
		{"A"},
		{"n", "4"},
		{"5"},
		{"p"},
		{"esc", "L"},
	} {
		check(keys)
	}
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"Decide": errors.New(evil), "Detail": errors.New(evil)}
	})
	check([]string{"esc", "3", "x"})
}

// notSGR gives the first control or format character that is no part of an SGR
// sequence.
func notSGR(s string) string {
	for i, r := range s {
		switch {
		case r == '\n':
		case r == 0x1b:
			j := i + 2
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == ';' || s[j] == ':') {
				j++
			}
			if j >= len(s) || s[i+1] != '[' || s[j] != 'm' {
				return s[i:min(len(s), i+12)]
			}
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x202e, r == 0xfffd && !strings.HasPrefix(s[i:], "\ufffd"):
			return string(r)
		}
	}
	return ""
}

func TestQuitLeavesSessionsAlone(t *testing.T) {
	for _, k := range []string{"q", "ctrl+c"} {
		d, b := open(t, 120, 40, nil)
		d.Press(k)
		if !d.Quit {
			t.Fatalf("%s: got no end, want one", k)
		}
		if got := b.Called(); len(got) != 0 {
			t.Fatalf("%s: got %q, want no call", k, got)
		}
	}
}

func TestBeginsWhereItWasAskedTo(t *testing.T) {
	d, _ := open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.Place, o.Session = "terminal", "nightly" })
	d.See("› nightly", "■ exit 0.  Its last screen stays")
	d, _ = open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.Place = "review" })
	d.See("› claude-1", "0/10 decided")
	d, _ = open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) { o.Place, b.Rows = "start", nil })
	d.See("It will work on a copy of")
}

func TestHelpHasEveryKeyOfThePlace(t *testing.T) {
	d, _ := open(t, 200, 60, nil)
	d.Press("r", "?")
	d.See("approve file", "next risky", "take the newest apply back", "mark changed words", "everywhere", "leave")
}
