package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/uitest"
)

func inTerminal(t *testing.T) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, 80, 24, func(_ *uitest.Backend, o *ui.Options) { o.Place = "terminal" })
	d.See("Shall I run the migration?")
	b.Called()
	return d, b
}

// typed is what went in, in order.
func typed(b *uitest.Backend) string {
	var s string
	for _, c := range calls(b, "Keys") {
		s += strings.TrimPrefix(c, "Keys a1 ")
	}
	return s
}

func TestTypingGoesInInOrder(t *testing.T) {
	d, b := inTerminal(t)
	text := "printf 'the quick brown fox' | tr a-z A-Z"
	b.Hold("Keys")
	for _, r := range text {
		k := string(r)
		if k == " " {
			k = "space"
		}
		d.PressRapidly(k)
	}
	b.Release("Keys")
	d.Settle()
	if got := typed(b); got != text {
		t.Fatalf("got %q inside, want %q", got, text)
	}
}

func TestEveryKeyButTheReservedOneGoesIn(t *testing.T) {
	d, b := inTerminal(t)
	d.Press("q", "?", "1", "L", "T", "ctrl+c", "ctrl+z", "ctrl+l", "esc", "enter", "tab", "up")
	want := fmt.Sprintf("q?1LT<%d+%d><%d+%d><%d+%d>", tea.ModCtrl, 'c', tea.ModCtrl, 'z', tea.ModCtrl, 'l') +
		fmt.Sprintf("<0+%d><0+%d><0+%d><0+%d>", tea.KeyEscape, tea.KeyEnter, tea.KeyTab, tea.KeyUp)
	if got := typed(b); got != want {
		t.Fatalf("got %q inside, want %q", got, want)
	}
	if d.Quit {
		t.Fatal("got the workbench to leave on ctrl+c, want it to go in")
	}
}

func TestTheReservedKeyTwiceSendsItself(t *testing.T) {
	d, b := inTerminal(t)
	d.PressRapidly(`ctrl+\`, `ctrl+\`, "a")
	if got, want := typed(b), fmt.Sprintf(`<%d+92>a`, tea.ModCtrl); got != want {
		t.Fatalf("got %q inside, want %q", got, want)
	}
	d.PressRapidly(`ctrl+\`, "z", "b") // no such entry: the menu closes, nothing else
	if got := typed(b); got != "b" {
		t.Fatalf("got %q inside, want b", got)
	}
	d.Press(`ctrl+\`, "d")
	d.See("NAME", "▸ claude-1")
	d.Press("enter", `ctrl+\`, "5")
	d.See("default deny")
}

func TestPasteGoesInAsAPaste(t *testing.T) {
	d, b := inTerminal(t)
	d.Send(tea.PasteMsg{Content: "rm -rf x\nq"})
	same(t, calls(b, "Paste"), `Paste a1 "rm -rf x\nq"`)
	d.Press(`ctrl+\`, "1")
	b.Called()
	d.Send(tea.PasteMsg{Content: "sDy"})
	if got := b.Called(); len(got) != 0 || d.Quit {
		t.Fatalf("got %q of a paste into the list, want nothing", got)
	}
	d.NotSee("Stop", "Remove claude-1?")
}

// A terminal that sends its clipboard unasked must not type into the session.
func TestAClipboardThatWasNotAskedForIsDropped(t *testing.T) {
	d, b := inTerminal(t)
	d.Send(tea.ClipboardMsg{Content: "evil"})
	if got := calls(b, "Paste"); len(got) != 0 {
		t.Fatalf("got %q, want nothing pasted", got)
	}
	d.Press(`ctrl+\`, "p")
	d.Send(tea.ClipboardMsg{Content: "good"})
	same(t, calls(b, "Paste"), `Paste a1 "good"`)
	d.Send(tea.ClipboardMsg{Content: "again"})
	if got := calls(b, "Paste"); len(got) != 0 {
		t.Fatalf("got %q, want one answer to one question", got)
	}
}

func TestTheMouseGoesInOnlyWhereItIsWanted(t *testing.T) {
	d, b := inTerminal(t)
	d.Click(4, 10)
	if got := calls(b, "Mouse"); len(got) != 0 {
		t.Fatalf("got %q, want no event for a program that wants none", got)
	}
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen, f.Mouse = f.Gen+1, true
		b.Screens["a1"] = f
	})
	d.Settle()
	d.Click(4, 10)
	same(t, calls(b, "Mouse"), "Mouse a1 click 4,7 1")
}

func TestTheLastSizeIsTheOneThatStays(t *testing.T) {
	d, b := inTerminal(t)
	b.Hold("Resize")
	for w := 81; w <= 130; w++ {
		d.Resize(w, 30)
	}
	b.Release("Resize")
	d.Settle()
	got := calls(b, "Resize")
	if len(got) == 0 || got[len(got)-1] != "Resize a1 130x25" {
		t.Fatalf("got %q, want 130x25 last", got)
	}
	if len(got) > 3 {
		t.Fatalf("got %d sizes sent, want those in between left out", len(got))
	}
}

func TestOneRequestForAPictureAtATime(t *testing.T) {
	d, b := inTerminal(t)
	for i := range 50 {
		b.With(func(b *uitest.Backend) {
			f := b.Screens["a1"]
			f.Gen++
			f.Lines = []string{fmt.Sprint("line ", i)}
			b.Screens["a1"] = f
		})
		d.Advance(40 * time.Millisecond)
	}
	d.See("line 49")
	if n := b.Blocked(); n != 1 {
		t.Fatalf("got %d requests under way, want 1", n)
	}
	d.Press(`ctrl+\`, "1")
	d.Settle()
	if n := b.Blocked(); n != 0 {
		t.Fatalf("got %d requests while the pane is not shown, want none", n)
	}
}

// A flood makes a picture of every moment new: without a bound the workbench
// would do nothing but draw them.
func TestAFloodIsDrawnAtMostThirtyTimesASecond(t *testing.T) {
	d, b := inTerminal(t)
	seen := map[string]bool{}
	for i := range 1000 { // one a millisecond
		b.With(func(b *uitest.Backend) {
			f := b.Screens["a1"]
			f.Gen++
			f.Lines = []string{fmt.Sprintf("line %d.", i)}
			b.Screens["a1"] = f
		})
		d.Advance(time.Millisecond)
		seen[strings.Split(d.Screen(), "\n")[3]] = true
	}
	if n := len(seen); n < 25 || n > 40 {
		t.Fatalf("got %d pictures in a second of flood, want some 30", n)
	}
	d.Advance(40 * time.Millisecond)
	d.See("line 999.")
}

// What the picture says of the state is in the line of places at once.
func TestAStateThatThePictureTellsIsReadAtOnce(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		b.Rows[0].State = session.StateRunning
		f := b.Screens["a1"]
		f.Gen, f.State = f.Gen+1, session.StateRunning
		b.Screens["a1"] = f
	})
	d.Settle()
	d.See("▶ running")
	d.NotSee("2 terminal ●")
}

func TestAPictureOfAnotherSessionIsDropped(t *testing.T) {
	d, b := open(t, 80, 24, nil)
	b.Hold("Frame")
	d.Press("enter", `ctrl+\`, "1", "j", "enter")
	b.Release("Frame")
	d.Settle()
	d.See("› fix-ci", "$ go test ./...")
	d.NotSee("migration")
}

func TestAnEndedSessionKeepsItsScreenAndRunsAgain(t *testing.T) {
	d, b := open(t, 80, 24, func(_ *uitest.Backend, o *ui.Options) { o.Place, o.Session = "terminal", "c3" })
	d.See("$ make nightly", "■ exit 0.  Its last screen stays")
	b.Called()
	d.Press("x")
	if got := calls(b, "Keys"); len(got) != 0 {
		t.Fatalf("got %q, want no key to go to what has ended", got)
	}
	d.PressRapidly("R", "R")
	same(t, calls(b, "Resume"), `Resume c3 [] 80x19`)
	d.Press("r")
	d.See("Nothing has changed.")
}

func TestASessionThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "terminal"
		b.Fail = map[string]error{"Frame": errors.New("supervisor: connection refused")}
	})
	d.See("Its terminal can't be shown.", "supervisor: connection refused")
	b.With(func(b *uitest.Backend) { b.Fail = nil })
	d.Advance(2_000_000_000)
	d.See("Shall I run the migration?")
}

func TestRequestsOfTheInsideAreToldAndNotDone(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen++
		f.Requests = []string{"set the clipboard: 40 bytes"}
		b.Screens["a1"] = f
	})
	d.Settle()
	d.See("the inside asked, and was not given: set the clipboard: 40 bytes")
}

func TestScrollingBackStandsStillAndSearches(t *testing.T) {
	d, b := inTerminal(t)
	d.Press(`ctrl+\`, "[", "k", "k", "k")
	d.See("scrolled back 3 of 120 lines")
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen++
		f.Lines = []string{"new output"}
		b.Screens["a1"] = f
	})
	d.Settle()
	d.NotSee("new output")
	d.Press("/", "O", "U", "T", "enter")
	d.See("new output")
	d.Press("/", "n", "o", "n", "e", "enter")
	d.See("no line above has OUTnone")
	d.Press("q")
	d.See("new output")
	d.NotSee("scrolled back")
	if got := typed(b); got != "" {
		t.Fatalf("got %q inside, want none of the scrolling keys", got)
	}
}

func TestAFullPaneHasAllButOneLine(t *testing.T) {
	d, b := inTerminal(t)
	d.Press(`ctrl+\`, "f")
	d.See("✻ Welcome to the agent")
	d.NotSee("1 sessions")
	same(t, calls(b, "Resize"), "Resize a1 80x23")
	d.Press(`ctrl+\`, "f")
	d.See("1 sessions")
}

func TestTheCursorIsTheAgents(t *testing.T) {
	d, b := inTerminal(t)
	if c := d.Model.View().Cursor; c == nil || c.X != 4 || c.Y != 15 {
		t.Fatalf("got cursor %v, want it at 4,15", c)
	}
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen, f.CursorOn = f.Gen+1, false
		b.Screens["a1"] = f
	})
	d.Settle()
	if c := d.Model.View().Cursor; c != nil {
		t.Fatalf("got cursor %v, want none", c)
	}
}

func TestASessionThatEndsLetsTheFrameHaveItsKeys(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		for i := range b.Rows {
			if b.Rows[i].ID == "a1" {
				b.Rows[i].Live, b.Rows[i].State = false, session.StateLimit
				b.Rows[i].Limit = &session.Limit{Name: "session time", Value: "8 h", Used: "8 h"}
			}
		}
		b.Fail = map[string]error{"Frame": errors.New("the session is not running")}
	})
	d.Settle()
	d.See("Shall I run the migration?", "! session time 8 h (used 8 h).  Its last screen stays")
	d.NotSee("does not answer")
	d.Press("5")
	d.See("default deny")
}

func TestASessionThatHasNoScreenAnyMoreSaysSo(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) {
		o.Place, o.Session = "terminal", "c3"
		b.Fail = map[string]error{"Frame": errors.New("the session is not running")}
	})
	d.See("Nothing runs in this session now.", "■ exit 0", "R run again")
	d.Advance(10_000_000_000)
	d.See("Nothing runs in this session now.")
	d.Press("R")
	same(t, calls(b, "Resume"), `Resume c3 [] 80x19`)
}

// The line under the last screen takes a line of it: of those that are empty.
func TestTheLastScreenKeepsItsFirstLine(t *testing.T) {
	blank := func(first string) []string {
		out := make([]string, 19)
		out[0] = first
		return out
	}
	d, b := open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) {
		o.Place, o.Session = "terminal", "c3"
		b.Screens["c3"] = session.Frame{Gen: 2, Cols: 80, Rows: 19, Lines: blank("$ kill -SEGV $$"), CursorY: 1, Ended: true, State: session.StateExited}
		for i := range b.Rows {
			if b.Rows[i].ID == "c3" {
				b.Rows[i].ExitCode, b.Rows[i].Signal = nil, "SIGSEGV"
			}
		}
	})
	d.See("$ kill -SEGV $$", "■ SIGSEGV.  Its last screen stays")
	b.With(func(b *uitest.Backend) {
		f := b.Screens["c3"]
		f.Lines[18] = "the very last line"
		b.Screens["c3"] = f
	})
	d.Press("esc", "enter")
	d.See("the very last line")
	d.NotSee("$ kill -SEGV $$")
}

// How it ended is known a moment after the last picture.
func TestAnEndIsReadAgainUntilItIsWrittenDown(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen, f.Ended, f.State = f.Gen+1, true, session.StateLimit
		b.Screens["a1"] = f
	})
	d.Settle()
	d.See("It has ended; how, is being written down.", "Shall I run the migration?")
	b.With(func(b *uitest.Backend) {
		b.Rows[0].Live, b.Rows[0].State = false, session.StateLimit
		b.Rows[0].Limit = &session.Limit{Name: "memory", Value: "4GiB", Used: "4.1GiB"}
	})
	d.Advance(200_000_000)
	d.See("! memory 4GiB (used 4.1GiB).  Its last screen stays", "Shall I run the migration?")
}

func TestTheOldestLineAndAHitAreNeverBehindTheFoot(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		f := b.Screens["a1"]
		f.Gen++
		f.Lines = nil
		for i := range 19 {
			f.Lines = append(f.Lines, fmt.Sprintf("row %d.", i))
		}
		f.CursorY = 18
		b.Screens["a1"] = f
	})
	d.Settle()
	d.Press(`ctrl+\`, "[")
	d.See("row 18.", "scrolled back 0 of 120")
	d.NotSee("row 0.")
	d.Press("g")
	d.See("row 0.")
	d.Press("G", "/", "r", "o", "w", "space", "0", ".", "enter")
	d.See("row 0.")
}

func TestAKilledSupervisorIsSaidInFull(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		b.Rows[0].Live, b.Rows[0].State = false, session.StateStopped
		b.Rows[0].Error = "the supervisor ended without a word: it was killed, or the machine went down; the workspace is kept"
		b.Fail = map[string]error{"Frame": errors.New("the session is not running")}
	})
	d.Settle()
	d.See("Shall I run the migration?", "■ stopped: the supervisor ended without a word", "the workspace is kept.", "R run again")
	d.Fits()
}

// Held pictures are for floods: the echo of a key is never among those.
func TestAnEchoIsNotHeldBackInAFlood(t *testing.T) {
	d, b := inTerminal(t)
	for i := range 100 {
		d.Press("x")
		b.With(func(b *uitest.Backend) {
			f := b.Screens["a1"]
			f.Gen++
			f.Lines = []string{fmt.Sprintf("echo %d.", i)}
			b.Screens["a1"] = f
		})
		d.Settle() // the clock stands still
		d.See(fmt.Sprintf("echo %d.", i))
	}
}

// ended opens the terminal of a session that has ended, with lines above its
// last screen.
func ended(t *testing.T) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	return open(t, 100, 24, func(b *uitest.Backend, o *ui.Options) {
		o.Place, o.Session = "terminal", "c3"
		f := b.Screens["c3"]
		f.Lines = nil
		for i := range 19 {
			f.Lines = append(f.Lines, fmt.Sprintf("last %d.", i))
		}
		f.CursorY = 18
		b.Screens["c3"] = f
		b.Above = map[string][]string{"c3": nil}
		for i := range 100 {
			b.Above["c3"] = append(b.Above["c3"], fmt.Sprintf("line %d.", i))
		}
	})
}

func TestAnEndedSessionScrollsAndSearchesAsALiveOne(t *testing.T) {
	d, _ := ended(t)
	d.See("last 18.", "■ exit 0.  Its last screen stays", "[ scroll", "/ search")
	d.Press("[", "k", "k", "k")
	d.See("scrolled back 3 of 100 lines", "last 15.")
	d.NotSee("last 16.")
	d.Press("g")
	d.See("scrolled back 100 of 100 lines", "line 0.")
	d.Press("G")
	d.See("scrolled back 0 of 100 lines", "last 18.")
	d.Press("/", "l", "i", "n", "e", "space", "4", "2", ".", "enter")
	d.See("line 42.")
	d.Press("/", "z", "enter")
	d.See("no line above has line 42.z")
	d.Press("q")
	d.See("last 18.", "■ exit 0.")
	d.NotSee("scrolled back")
	d.Press("pgup")
	d.See("scrolled back 18 of 100 lines")
	d.Press("pgdown", "esc", "/", "l", "i", "n", "e", "space", "7", ".", "enter")
	d.See("line 7.")
	d.Press("q", "5")
	d.See("default deny") // the frame has its keys again
}

func TestTheWheelScrollsAnEndedSession(t *testing.T) {
	d, _ := ended(t)
	d.Send(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelUp})
	d.Settle()
	d.See("scrolled back 3 of 100 lines", "last 15.")
	d.Send(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelDown})
	d.Settle()
	d.See("scrolled back 0 of 100 lines", "last 18.")
}

// Of some sessions nothing but the picture that is on the screen is left.
func TestScrollingAnEndedSessionThatKeptNothingSaysSo(t *testing.T) {
	d, b := inTerminal(t)
	b.With(func(b *uitest.Backend) {
		b.Rows[0].Live, b.Rows[0].State = false, session.StateStopped
		b.Fail = map[string]error{"Frame": errors.New("the session is not running")}
	})
	d.Settle()
	d.Press("[", "pgup")
	d.See("scroll back: the session is not running", "scrolled back 0 of 120", "Shall I run the migration?")
	d.Press("q")
	d.See("■ stopped", "Shall I run the migration?")
}
