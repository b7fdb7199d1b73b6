package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/layer"
	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// everywhere sets what is proven, for every session and policy.
func everywhere(b *uitest.Backend, st walls.Standing, why string) {
	for id, d := range b.Details {
		d.Walls, d.WallsErr = st, why
		b.Details[id] = d
	}
	for id, a := range b.About {
		a.Standing, a.Err = st, why
		b.About[id] = a
	}
	b.Look.Walls, b.Look.WallsErr = st, why
}

func failedWall(b *uitest.Backend, _ *ui.Options) {
	r := uitest.SampleRecord(uitest.NewClock().Now().Add(-2 * time.Hour))
	uitest.Fail(r, 6, 3, "the listener took a connection with nonce 7f3a000000000603")
	everywhere(b, walls.Stand(r, r.Shape), "")
}

func staleWalls(b *uitest.Backend, _ *ui.Options) {
	r := uitest.SampleRecord(uitest.NewClock().Now().Add(-72 * time.Hour))
	now := r.Shape
	now.Kernel = "6.19.0 #2 SMP"
	everywhere(b, walls.Stand(r, now), "")
}

func TestTheStripSaysWhatIsProvenAndNeverMore(t *testing.T) {
	proven := "fs✓ net✓ cred✓ lim✓ life✓ out✓ box✓ │ proven 2h"
	d, b := open(t, 120, 40, nil)
	for _, k := range []string{"5", "4", "3", "2", `ctrl+\`, "1", "n"} { // on every screen
		d.See(proven)
		d.Press(k)
	}
	d.Press("esc", "G") // one that has ended, with the same policy
	d.See("› nightly", proven)
	d.Press("k") // and one with another
	d.See("› spike", "fs? net? cred? lim? life? out? box? │ not proven")

	layers := func(change func(f *layer.Fact)) {
		t.Helper()
		b.With(func(b *uitest.Backend) {
			x := b.Details["a1"]
			x.Layers = append([]layer.Fact{}, x.Layers...)
			for i := range x.Layers {
				change(&x.Layers[i])
			}
			b.Details["a1"] = x
		})
		d.Advance(2 * time.Second)
	}
	d.Press("g")
	layers(func(f *layer.Fact) { f.OK = f.Layer != layer.Seccomp })
	d.See("fs✓ net✗ cred✓ lim✓ life✓ out✓ box✗ │ " + kit.Down)
	layers(func(f *layer.Fact) { f.OK, f.Layer = true, layer.Limits }) // the others were not read
	d.See("fs? net? cred? lim✓ life? out? box? │ proven 2h")
	b.With(func(b *uitest.Backend) {
		x := b.Details["a1"]
		x.Layers = nil
		b.Details["a1"] = x
	})
	d.Advance(2 * time.Second)
	d.See("fs? net? cred? lim? life? out? box? │ not read yet")
}

func TestTheStripTellsStaleFailedAndUnreadable(t *testing.T) {
	for _, c := range []struct {
		set  func(b *uitest.Backend, o *ui.Options)
		want string
	}{
		{staleWalls, "fs~ net~ cred~ lim~ life~ out~ box~ │ stale 3d"},
		{failedWall, "fs✓ net✗ cred✓ lim✓ life✓ out✓ box✓ │ FAILED 2h"},
		{func(b *uitest.Backend, _ *ui.Options) {
			everywhere(b, walls.Standing{}, "wall-test record x is damaged, and proves nothing")
		}, "fs? net? cred? lim? life? out? box? │ no readable proof"},
	} {
		d, _ := open(t, 120, 40, c.set)
		d.See(c.want)
		d.Resize(80, 24)
		letters := c.want
		for _, name := range [][2]string{{"fs", "F"}, {"net", "N"}, {"cred", "C"}, {"lim", "L"}, {"life", "T"}, {"out", "O"}, {"box", "B"}} {
			letters = strings.Replace(letters, name[0], name[1], 1)
		}
		d.See(letters)
	}
}

// A bundle's session is of another machine: its proof and its limits are told
// there, and a policy that can't be read lets nobody say that nothing got out.
func TestTheStripOfABundleSaysWhereTheProofIs(t *testing.T) {
	d, b := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) {
		for id, x := range b.Details {
			x.Walls, x.Elsewhere, x.Limits, x.ReachErr = walls.Standing{}, true, nil, "policy.toml:1:1: unknown key"
			b.Details[id] = x
		}
	})
	d.Press(`ctrl+\`, "1")
	d.See("fs? net? cred? lim? life? out? box? │ proof elsewhere", "(proof elsewhere)", "can reach  not known: policy.toml:1:1: unknown key")
	d.NotSee("limits", "answers 403")
	b.With(func(b *uitest.Backend) {
		for id, x := range b.Details {
			x.ReachErr, x.Reach = "", []string{"packages.test:443: GET /**"}
			b.Details[id] = x
		}
	})
	d.Advance(2 * time.Second)
	d.See("can reach  packages.test:443: GET /**   nothing else")
}

func TestWithoutASessionTheStripIsOfTheNextOne(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) { b.Rows = nil })
	d.Press("esc")
	d.See("› no session", "box✓ │ proven 2h")
}

func TestWithoutUTF8TheMarksAreNoLettersOfTheNames(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) { o.ASCII = true; failedWall(b, o) })
	d.See("fs+ net! cred+ lim+ life+ out+ box+ | FAILED 2h")
}

// atWalls is the fifth place, with a run that has told some of what it found
// and waits for the test.
func runningWalls(t *testing.T, w, h int, key string) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, w, h, func(b *uitest.Backend, _ *ui.Options) { b.Told = uitest.Told(b.Outcome, 6, 2) })
	d.Press("5")
	b.Called()
	b.Hold("Prove")
	d.Press(key)
	d.Advance(200 * time.Millisecond)
	return d, b
}

func TestARunIsSeenWhileItRunsAndIsRecorded(t *testing.T) {
	d, b := runningWalls(t, 120, 40, "R")
	same(t, calls(b, "Prove"), `Prove "/home/ada/.local/state/fumehood/sessions/a1/policy.toml" []`)
	before := d.Screen()
	d.See("5 of 16 tests", "now 6 default deny", "at work", "2…", "✓ held", "  waits", "esc cancel the run")
	d.NotSee("enter run one")
	d.Advance(100 * time.Millisecond)
	rows := func(s string) (out []string) {
		for _, l := range strings.Split(s, "\n")[4:20] {
			out = append(out, l[:strings.Index(l, " ")+12])
		}
		return out
	}
	same(t, rows(d.Screen()), rows(before)...) // nothing jumps
	if d.Screen() == before {
		t.Error("got the same screen a moment later, want a mark that turns")
	}
	d.Press("1")
	d.See("wall tests of default: 6 default deny") // wherever one looks
	d.Press("5", "R", "M", "enter")                // and no second run
	same(t, calls(b, "Prove"))
	b.Release("Prove")
	d.Settle()
	d.See("16 wall tests held or not applicable, 11.4 s", "enter run one")
}

// More is told at once than is drawn in a moment: the counts are of all of it.
func TestNoAttemptIsLostInAFlood(t *testing.T) {
	const many = 9000
	d, b := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) {
		b.Told = []walls.Event{{Test: 8, Begins: true}}
		for i := range many {
			b.Told = append(b.Told, walls.Event{Test: 8, Attempt: &walls.Attempt{ID: fmt.Sprint(i), Tried: "hog", Verdict: walls.Held}})
		}
	})
	d.Press("5")
	b.Hold("Prove")
	// The one that tells waits for the screen, so nothing settles in between.
	d.PressUnsettled("R")
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(d.Screen(), fmt.Sprintf("%d…", many)) {
		if time.Now().After(deadline) {
			t.Fatalf("got a screen without %d attempts:\n%s", many, d.Screen())
		}
		d.Turn(100 * time.Millisecond)
	}
	b.Release("Prove")
	d.Settle()
}

func TestOneTestIsRunAlone(t *testing.T) {
	d, b := runningWalls(t, 120, 40, "enter")
	same(t, calls(b, "Prove"), `Prove "/home/ada/.local/state/fumehood/sessions/a1/policy.toml" [1]`)
	b.With(func(b *uitest.Backend) {
		part := *b.Outcome
		part.Tests = part.Tests[:1]
		uitest.Fail(&part, 1, 0, "the canary was read")
		b.Outcome = &part
	})
	b.Release("Prove")
	d.Settle()
	d.See("1 wall test of 1 did not hold", "✗ FAILED", "What runs inside can read files of yours", "do          Do not start agents")
	d.Press("j")
	d.See("✗ did not hold: 1 read outside", "! goes there")
	d.Press("!")
	d.See("▸ fs    1 read outside")
	d.Advance(10 * time.Second) // reading again what is recorded does not hide it
	d.See("✗ FAILED")
}

// That a test could not be made is no word on the wall.
func TestATestThatCouldNotBeMadeIsNotTakenForAFailure(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		r := uitest.SampleRecord(uitest.NewClock().Now())
		r.Tests[0].Verdict, r.Tests[0].Reason = walls.Errored, "the probe did not start"
		everywhere(b, walls.Stand(r, r.Shape), "")
	})
	d.Press("5")
	d.See("fs✗ net✓", "✗ error", "came out as error: the probe did not start", "nothing is known of this wall", "Run it again")
	d.NotSee("can read files of yours")
}

func TestACancelledRunRecordsNothing(t *testing.T) {
	d, b := runningWalls(t, 120, 40, "R")
	d.Press("esc")
	d.Settle()
	d.See("wall tests cancelled: nothing was recorded", "enter run one", "› claude-1")
	if got := calls(b, "SaveRecord"); len(got) != 0 {
		t.Fatalf("got %q, want nothing saved", got)
	}
}

func TestLeavingEndsTheTestsFirst(t *testing.T) {
	d, _ := runningWalls(t, 120, 40, "R")
	d.Press("q")
	d.Settle()
	if !d.Quit {
		t.Fatalf("got the workbench still there:\n%s", d.Screen())
	}
}

func TestARunThatCannotBeMadeSaysWhy(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) {
		b.Fail = map[string]error{"Prove": errors.New("landlock: create_ruleset: operation not supported")}
		b.Outcome = nil
	})
	d.Press("5", "R")
	d.See("✗ wall tests: landlock: create_ruleset", "enter run one")
}

func TestAnAttemptIsShownInFull(t *testing.T) {
	d, _ := open(t, 120, 40, nil)
	d.Press("5", "j", "j", "j", "j", "tab", "j", "j")
	d.See("attempt 3 of 5", "tried        sendto(MSG_FASTOPEN) 198.51.100.7:443", "policy says  nothing arrives", "observed     EPERM",
		"control      sendto to loopback inside: works", "witness      kernel; traced", `evidence     sendto(5, "", 0, MSG_FASTOPEN`, "nonce        7f3a000000000602")
	d.Press("j")
	d.See("witness      listener; made without the tracer")
	d.Press("esc")
	d.See("tries to    loopback of the host")
	d.Press("esc")
	d.See("▸ claude-1")
}

func TestTheLayersAreStillThere(t *testing.T) {
	d, _ := open(t, 120, 40, nil)
	d.Press("5", "i")
	d.See("LAYER", "write outside", "EACCES", "LIMIT", "by the supervisor's clock")
}

func TestTheRecordIsSavedWhereOneSays(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.Press("5", "s")
	d.See("save record as walls-default-2026-11-30.json")
	d.Press("ctrl+u", "q", "1", ".", "j", "enter") // letters are letters
	same(t, calls(b, "SaveRecord"), "SaveRecord q1.j 16 tests")
	d.See("record saved as /home/ada/src/api-server/q1.j")
	d.Press("s", "esc")
	same(t, calls(b, "SaveRecord"))
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"SaveRecord": errors.New("save the record as x: it exists")}
	})
	d.Press("s", "enter")
	d.See("✗ save the record as x: it exists")
}

func TestAPartThatNoTestNoticesIsAFinding(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	d.Press("5")
	b.Hold("Mutate")
	d.Press("M")
	d.Advance(200 * time.Millisecond)
	d.See("leaving out one part at a time: without landlock files")
	b.Release("Mutate")
	d.Settle()
	d.Advance(time.Second)
	d.See("4 parts noticed by a test, 1 by none, 1 can't be left out", "! identity   no_new_privs", "no test noticed that it was gone", "this kernel's Landlock has ABI 5", "■")
	d.Press("esc", "M") // what is known is shown again
	d.See("1 by none")
	same(t, calls(b, "Mutate"), `Mutate "/home/ada/.local/state/fumehood/sessions/a1/policy.toml"`)
	d.Press("M")
	d.Settle()
	same(t, calls(b, "Mutate"), `Mutate "/home/ada/.local/state/fumehood/sessions/a1/policy.toml"`)
}

// A policy that starts only what is proven leads to the tests, and from there
// back to the start.
func TestAStartThatNeedsAProofLeadsToTheTests(t *testing.T) {
	d, b := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) {
		b.Look.Walls = walls.Standing{}
		b.Look.Unproven, b.Look.Err = true, `policy "tight" starts only what is proven: the wall tests were not run with this policy`
		b.About["policy tight"] = session.Walls{Policy: "tight", Source: "tight", Hash: b.Outcome.PolicyHash}
	})
	d.Press("n", "tab", "right")
	d.See("It can't start:", "starts only what is proven", "w prove walls first", "│ not proven")
	d.Press("ctrl+s")
	d.See("✗ not started:", "w runs the wall tests")
	if got := calls(b, "Create"); len(got) != 0 {
		t.Fatalf("got %q, want no start", got)
	}
	d.Press("w")
	same(t, calls(b, "Prove"), `Prove "tight" []`)
	d.See("› policy tight", "16 wall tests held or not applicable")
	b.With(func(b *uitest.Backend) {
		b.Look.Unproven, b.Look.Err, b.Look.Walls = false, "", walls.Stand(b.Outcome, b.Outcome.Shape)
	})
	d.Press("esc")
	d.See("new session", "It will work on a copy of", "│ proven 0s", "proven on this machine as it is now")
}

func TestHostileEvidenceDoesNotReachTheTerminal(t *testing.T) {
	evil := "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1bP+q\x1b\\\u202e\u009b31m\xff\r\nname\x1b[31m"
	d, b := open(t, 120, 40, func(b *uitest.Backend, _ *ui.Options) {
		r := b.Outcome
		r.By, r.Policy, r.Left = evil, evil, []string{evil}
		for i := range r.Tests {
			r.Tests[i].Reason, r.Tests[i].Verdict = evil, walls.Verdict(evil)
			for j := range r.Tests[i].Attempts {
				a := &r.Tests[i].Attempts[j]
				*a = walls.Attempt{ID: evil, Nonce: evil, Tried: evil, Expected: evil, Observed: evil, Witness: walls.Witness(evil), Evidence: evil, Control: evil, Verdict: walls.Verdict(evil)}
			}
		}
		st := walls.Stand(r, r.Shape)
		st.Stale = []string{evil}
		everywhere(b, st, "")
		for id, a := range b.About {
			a.Policy, a.Block = evil, evil
			b.About[id] = a
		}
		for i := range b.Matrix.Parts {
			p := &b.Matrix.Parts[i]
			p.Name, p.Layer, p.Attempts = evil, evil, []string{evil}
		}
		b.Matrix.Parts[3].Cannot = evil
		b.Told = append(uitest.Told(r, 6, 1), walls.Event{Note: evil})
	})
	check := func(keys ...string) {
		t.Helper()
		d.Press(keys...)
		for _, w := range []int{80, 120, 200} {
			d.Resize(w, 40)
			v := d.Model.View()
			if bad := notSGR(v.Content + v.WindowTitle); bad != "" {
				t.Fatalf("%v: got %q on the way to the terminal", keys, bad)
			}
			d.Fits()
		}
	}
	check("n")
	check("esc", "5")
	check("l", "j")
	check("h", "!", "l")
	check("p")
	check("esc", "esc", "i")
	check("esc", "M")
	check("esc", "s")
	check("esc")
	b.Hold("Prove")
	d.Press("R")
	d.Advance(200 * time.Millisecond)
	check("j")
	d.Press("esc")
	d.Settle()
	check()
}
