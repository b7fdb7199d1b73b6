package prove

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// What a test of another sandbox cannot see to fail proves nothing by holding.
func TestNoSandboxAtAllIsRed(t *testing.T) {
	for _, number := range []int{1, 2, 4, 6, 14} {
		res := runTest(t, number, "{}").Tests[0]
		if res.Verdict != walls.Failed {
			t.Errorf("test %d: got %s: %s, want failed", number, res.Verdict, res.Reason)
		}
		controls := map[string]bool{}
		for _, a := range res.Attempts {
			name, _, _ := strings.Cut(a.Control, ":")
			controls[name] = true
		}
		for _, a := range res.Attempts {
			permitted := controls[a.ID] || strings.HasPrefix(a.Expected, "work") || strings.HasPrefix(a.Expected, "comes out")
			switch {
			case a.Verdict == walls.Errored:
				t.Errorf("test %d: %s: got %s: %s, want a verdict", number, a.ID, a.Verdict, a.Observed)
			case a.Verdict == walls.Held && !permitted:
				t.Errorf("test %d: %s: held where no wall stands: %s", number, a.ID, a.Observed)
			}
		}
	}
}

// With a wall before it, a refusal counts that the account meets anyway only
// where the account itself would be let through.
func TestWhatTheAccountIsRefusedShowsNothingOfASandbox(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("got root, want an ordinary user, who may not make a folder in /etc")
	}
	for _, a := range runTest(t, 2, "{}").Tests[0].Attempts {
		if a.ID == "mkdir in /etc" {
			if a.Verdict != walls.NA {
				t.Errorf("%s: got %s, %s; want n.a.", a.ID, a.Verdict, a.Observed)
			}
			return
		}
	}
	t.Error("got no attempt to make a folder in /etc, want one")
}

func TestACommandThatStartsNoProbeHoldsNothing(t *testing.T) {
	for _, words := range [][]string{{"/bin/true", "{}"}, {"/bin/false", "{}"}, {"/no/such/sandbox", "{}"}, {"/bin/echo", "{}"}} {
		rec, err := Run(t.Context(), ownState(t), walls.Run{Only: []int{1, 2, 3, 4, 6, 9, 11, 12, 14, 16}, Against: words}, nil)
		if err != nil {
			t.Fatalf("%v: %v", words, err)
		}
		for _, res := range rec.Tests {
			if res.Verdict != walls.Errored && res.Verdict != walls.NA {
				t.Errorf("%v: test %d: got %s: %s, want error", words, res.Number, res.Verdict, res.Reason)
			}
			if i := slices.IndexFunc(res.Attempts, func(a walls.Attempt) bool { return a.Verdict == walls.Held }); i >= 0 {
				t.Errorf("%v: test %d: %s is held: %s", words, res.Number, res.Attempts[i].ID, res.Attempts[i].Observed)
			}
		}
	}
}

func TestACommandWithoutAPlaceForTheProbeIsRefused(t *testing.T) {
	h := ownState(t)
	_, err := Run(t.Context(), h, walls.Run{Only: []int{1}, Against: []string{"bwrap", "--ro-bind", "/", "/"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "{}") {
		t.Errorf("got %v, want an error that names {}", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(string(h.Root)), "walls", "run-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("got %v, %v; want no folder of a run that could not begin", left, err)
	}
}

func TestWordsOfACommandAreFilledIn(t *testing.T) {
	e := &env{repo: "/copy"}
	h := ownState(t)
	e.host = h
	c := &command{e: e, words: []string{"box", "--bind", "{workspace}", "--run={}", "{}"}, path: "/bin/probe"}
	got := c.launch(t.Context()).Args[2:]
	if want := []string{"box", "--bind", "/copy", "--run=/bin/probe", "/bin/probe"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sandbox may forbid tracing. What only the tracer can tell is not known
// then; what the host's own witness tells is.
func TestWhatCannotBeTracedIsJudgedByTheHostAlone(t *testing.T) {
	byHost := func(v walls.Verdict) func(*seen) outcome {
		return func(*seen) outcome { return outcome{v, "the host's look", walls.Filesystem, "listing"} }
	}
	rows := []row{
		{id: "kernel only", judge: refused("openat")},
		{id: "careless", judge: byHost(walls.Held)},
		{id: "host held", host: true, judge: byHost(walls.Held)},
		{id: "host failed", host: true, judge: byHost(walls.Failed)},
		{id: "seen to fail", judge: byHost(walls.Failed)},
	}
	no := call("openat", -int64(unix.EACCES), true)
	blind := func(job probe.Job) *ran {
		r := kernel(map[int]*trace.Call{0: &no, 1: &no, 2: &no, 3: &no, 4: &no})(job)
		r.log, r.blind = nil, "the probe could not be traced: operation not permitted"
		return r
	}
	got, err := quiet().rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{blind}}, rows)
	if want := "kernel only error, careless error, host held held, host failed failed, seen to fail failed"; err != nil || verdicts(got) != want {
		t.Errorf("got %s, %v; want %s, in one pass", verdicts(got), err, want)
	}
	for _, a := range got {
		if a.Traced {
			t.Errorf("%s: got an attempt that says it was traced, want none", a.ID)
		}
	}
}

// A sandbox that forbids what the control asks for as well is stricter, not
// untested; fumehood's own controls have to work.
func TestAControlThatTheSandboxRefusesIsNoError(t *testing.T) {
	rows := []row{{id: "control", judge: works("socket")}, {id: "wall", control: "control", judge: refused("socket")}}
	no, odd := call("socket", -int64(unix.EPERM), true), call("socket", -int64(unix.ENFILE), true)
	for _, tt := range []struct {
		name   string
		target target
		first  trace.Call
		want   string
	}{
		{"another's", &command{}, no, "control n.a., wall held"},
		{"another's, for want of something else", &command{}, odd, "control error, wall error"},
		{"fumehood's", &sessions{}, no, "control error, wall error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := quiet()
			e.target, e.strict = tt.target, map[string]bool{}
			got, err := e.rows(t.Context(), &scripted{runs: []func(probe.Job) *ran{kernel(map[int]*trace.Call{0: &tt.first, 1: &no})}}, rows)
			if err != nil || verdicts(got) != tt.want {
				t.Errorf("got %s, %v; want %s", verdicts(got), err, tt.want)
			}
		})
	}
}
