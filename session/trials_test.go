package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/session/wire"
)

func TestWhatATryComesTo(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  wire.End
		err  error
		want diffreview.TrialOutcome
		code int
		text string
	}{
		{"status 0", wire.End{State: wire.StateExited, Began: true}, nil, diffreview.TrialPassed, 0, "passed"},
		{"status 3", wire.End{State: wire.StateExited, Began: true, Code: 3}, nil, diffreview.TrialFailed, 3, "failed with status 3"},
		{"a signal", wire.End{State: wire.StateExited, Began: true, Signal: 9}, nil, diffreview.TrialFailed, 137, "failed by SIGKILL"},
		{"a limit", wire.End{State: wire.StateLimit, Began: true, Limit: &wire.Limit{Name: "memory"}}, nil, diffreview.TrialFailed, 124, "failed at limit memory"},
		{"not found", wire.End{State: wire.StateExited, Code: 127, Error: "no"}, nil, diffreview.TrialNone, 127, "not run to an end"},
		{"refused", wire.End{State: wire.StateFailed, Began: true}, nil, diffreview.TrialNone, 0, "not run to an end"},
		{"stopped", wire.End{State: wire.StateStopped, Began: true}, nil, diffreview.TrialNone, 0, "not run to an end"},
		{"nobody saw its end", wire.End{}, errTryLeft, diffreview.TrialNone, 0, "not run to an end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := trialOf(&Tried{Code: tt.end.Code, Signal: tt.end.Signal, End: tt.end}, "x", []string{"c"}, tt.err)
			if got.Outcome != tt.want || got.Code != tt.code || TrialText(got) != tt.text {
				t.Errorf("got %s, status %d, %q; want %s, %d, %q", got.Outcome, got.Code, TrialText(got), tt.want, tt.code, tt.text)
			}
		})
	}
}

// A record of trials that can't be read shows none, and takes the next one.
func TestADamagedRecordOfTrialsProvesNothing(t *testing.T) {
	h, d := sendDir(t)
	if err := os.WriteFile(d.Trials(), []byte(`{"version": 1, "trials": [{"approved"`), 0o600); err != nil {
		t.Fatal(err)
	}
	set := &diffreview.ChangeSet{}
	markTried(d, set)
	if len(set.Trials) != 0 {
		t.Errorf("got %v, want none", set.Trials)
	}
	if err := h.recordTrial(d, &Tried{Trial: diffreview.Trial{Approved: "x", Outcome: diffreview.TrialPassed}}); err != nil {
		t.Fatal(err)
	}
	if markTried(d, set); len(set.Trials) != 1 || set.Trials[0].Approved != "x" {
		t.Errorf("got %v, want the one that was recorded", set.Trials)
	}
}

// One event is one line of at most a megabyte, whatever was tried.
func TestAnEventOfATryIsBounded(t *testing.T) {
	h, d := sendDir(t)
	var many []diffreview.Outcome
	for i := range 5000 {
		many = append(many, diffreview.Outcome{
			Path: fmt.Sprintf("%04d", i) + strings.Repeat("/\x1b", 1000), Want: diffreview.Entry{Kind: diffreview.KindFile}, Content: []byte("x"),
		})
	}
	argv := []string{"sh", "-c", strings.Repeat("\x01", 2<<20)}
	tried := &Tried{changed: many[:1]}
	if tried.Trial = trialOf(tried, "x", []string{"true"}, nil); tried.Trial.Command[0] != "true" {
		t.Errorf("got %q", tried.Trial.Command)
	}
	if err := h.recordTrial(d, tried); err != nil {
		t.Fatal(err)
	}
	tried = &Tried{changed: many}
	tried.Trial = trialOf(tried, "x", argv, nil)
	if err := h.recordTrial(d, tried); err != nil {
		t.Fatal(err)
	}
	events, broken, err := d.ReadEvents()
	if err != nil || broken != 0 || len(events) != 2 {
		t.Fatalf("got %d events, broken at %d (%v); want both", len(events), broken, err)
	}
	one, _ := events[0].Fields["changed"].([]any)
	if len(one) != 1 || one[0].(map[string]any)["sha256"] != "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" {
		t.Errorf("got %v, want the hash of what was tried", one)
	}
}
