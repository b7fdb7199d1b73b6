package ui_test

import (
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/uitest"
)

func atStart(t *testing.T, set func(b *uitest.Backend)) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "start"
		if set != nil {
			set(b)
		}
	})
	d.See("new session")
	b.Called()
	return d, b
}

func TestEnterThreeTimesStarts(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("enter", "enter", "enter")
	same(t, calls(b, "Create"), `Create shell default "" []`)
	d.See("› new", "2 terminal")
}

// What it would bring in has to be on the screen before it is brought in.
func TestNothingStartsBeforeItsMeaningIsShown(t *testing.T) {
	d, b := atStart(t, nil)
	b.Hold("Preview")
	d.PressRapidly("right", "enter", "enter", "enter", "enter")
	d.See("reading the repository", "Not started yet", "Press it again once this is shown")
	if got := calls(b, "Create"); len(got) != 0 {
		t.Fatalf("got %q, want no start", got)
	}
	b.Release("Preview")
	d.Settle()
	if got := calls(b, "Create"); len(got) != 0 {
		t.Fatalf("got %q, want no start by itself", got)
	}
	d.See("this is what it would be: ctrl+s starts it")
	d.NotSee("Not started yet")
	d.PressRapidly("enter", "enter")
	same(t, calls(b, "Create"), `Create demo default "" []`)
}

func TestCtrlSStartsFromEveryQuestionAndTextTypedBeforeIsKept(t *testing.T) {
	d, b := atStart(t, nil)
	b.Hold("Preview")
	d.PressRapidly("right", "tab", "tab", "m", "y", "ctrl+s", "q")
	d.See("Not started yet", "myq")
	b.Release("Preview")
	d.Settle()
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create demo default "myq" []`)
}

func TestQDoesNotLeaveFromTheStartPage(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("q", "tab", "q")
	d.NotSee("q leave")
	if d.Quit {
		t.Fatal("got q to leave the workbench from the page of a new session, want it without effect")
	}
	d.See("new session", "esc back")
	d.Press("tab", "q", "enter") // in the text field it is a letter
	same(t, calls(b, "Create"), `Create shell default "q" []`)
	d, _ = atStart(t, nil)
	d.Press("esc")
	d.See("▸ claude-1", "q leave")
	d.Press("q")
	if !d.Quit {
		t.Fatal("got q without effect in the list, want it to leave")
	}
}

func TestAnOlderPreviewIsDropped(t *testing.T) {
	d, b := atStart(t, nil)
	b.Hold("Preview")
	d.Press("right")
	b.Release("Preview")
	b.With(func(b *uitest.Backend) { b.Look.Repo = "newer" })
	d.Settle()
	b.Hold("Preview")
	d.PressRapidly("right", "left")
	d.See("reading the repository")
	b.Release("Preview")
	d.Settle()
	d.See("newer")
}

func TestARefusedStartSaysWhyAndStartsNothing(t *testing.T) {
	d, b := atStart(t, func(b *uitest.Backend) { b.Look.Err = "policy: network.allow: the egress proxy is not built yet" })
	d.See("It can't start:", "the egress proxy is not built yet")
	d.Press("ctrl+s")
	if got := calls(b, "Create"); len(got) != 0 {
		t.Fatalf("got %q, want no start", got)
	}
	d.See("✗ not started: policy: network.allow")
}

// Of a repository that was not looked at nothing is said.
func TestWithoutACommandNothingIsSaidOfTheRepository(t *testing.T) {
	d, _ := atStart(t, func(b *uitest.Backend) { b.Look = session.Preview{Err: "no command given"} })
	d.See("It can't start:", "no command given")
	d.NotSee("not a git repository", "goes in", "stays out", "It will be able to")
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	d, b := atStart(t, func(b *uitest.Backend) {
		b.Fail = map[string]error{"Create": errors.New("landlock: create_ruleset: operation not supported")}
	})
	d.Press("ctrl+s")
	d.See("✗ not started: landlock: create_ruleset: operation not supported")
	b.With(func(b *uitest.Backend) { b.Fail = nil })
	d.Press("ctrl+s")
	d.See("› new")
}

func TestAStartShowsItsProgressAndCanBeCancelled(t *testing.T) {
	d, b := atStart(t, nil)
	b.Hold("Create")
	d.Press("ctrl+s")
	d.Advance(200_000_000)
	d.See("40 of 100 files, 4 MiB")
	d.Press("q", "1", "esc") // only escape means something now
	d.Settle()
	d.See("start cancelled", "It will work on a copy of")
	if d.Quit {
		t.Fatal("got the workbench to leave during a start")
	}
}

func TestAnotherCommandIsCutAtSpaces(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("left", "enter")
	d.Send(tea.PasteMsg{Content: `aider --message "fix the \x1b build" 'a b'` + "\n"})
	d.Press("tab", "tab", "m", "y", "1", "q", "enter")
	same(t, calls(b, "Create"), `Create command default "my1q" ["aider" "--message" "fix the \\x1b build" "a b"]`)
}

// A pipe is text unless a shell runs the command, and the page says which it is.
func TestAShellRunsAnotherCommandWhenAskedTo(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("left", "enter")
	d.See("no shell runs it: | > * $ are text here")
	d.Send(tea.PasteMsg{Content: `make 'a|b'`})
	d.NotSee("! no shell runs it")
	d.Send(tea.PasteMsg{Content: ` "c" | tee out`})
	d.See("! no shell runs it: | is text here", "ctrl+x runs it by sh -c")
	d.Press("ctrl+x")
	d.See("run by sh -c: | > * $ mean what they mean to a shell")
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create command default "" ["sh" "-c" "make 'a|b' \"c\" | tee out"]`)
	d, b = atStart(t, nil)
	d.Press("left", "enter", "a", "*", "ctrl+x", "ctrl+x", "ctrl+s")
	same(t, calls(b, "Create"), `Create command default "" ["a*"]`)
	d, _ = atStart(t, nil)
	d.Press("left", "enter", "space", "ctrl+x", "ctrl+s")
	d.See("no command: write the one to run")
}

func TestDependenciesAreOfferedAndBroughtIn(t *testing.T) {
	d, b := atStart(t, nil)
	d.See("i brings in node_modules/ 412 MiB")
	d.Press("i")
	same(t, calls(b, "Preview"), "Preview shell default with dependencies")
	d.See("i leaves out again what of dependencies git ignores; it goes in")
	d.NotSee("i brings in")
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create shell default "" [] with dependencies`)
	d, b = atStart(t, nil)
	d.Press("i", "i", "esc", "n", "ctrl+s")
	same(t, calls(b, "Create"), `Create shell default "" []`)
	d, b = atStart(t, nil)
	d.Press("i", "esc", "n", "ctrl+s") // the page begins anew
	same(t, calls(b, "Create"), `Create shell default "" []`)
	d, _ = atStart(t, func(b *uitest.Backend) { b.Look.Dependencies = nil })
	d.NotSee("i brings in")
	d.Press("i", "m")
	d.See("what stays out, and what is read", "read, and can't be changed", "~/.cargo/bin", "caches, read too", "~/.npm/_cacache")
	d.NotSee("i leaves out")
}

func TestACommandIsAskedForWhenThereIsNone(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("left", "ctrl+s")
	d.See("no command: write the one to run")
	if got := calls(b, "Create"); len(got) != 0 {
		t.Fatalf("got %q, want no start", got)
	}
}

func TestPoliciesOfTheBackendAreOffered(t *testing.T) {
	d, b := atStart(t, nil)
	d.Press("enter", "right")
	same(t, calls(b, "Preview"), "Preview shell tight")
	d.Press("p")
	d.See("policy tight", "refuses to run")
}
