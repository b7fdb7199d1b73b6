package prove

import (
	"bytes"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// toldOf is what is rightly told of a run, cut by the same code that cuts for a
// person.
func toldOf(stored string, gap int64, chars int) told {
	c := session.NewCutter(chars)
	half := len(stored) / 2
	_, _ = c.Write([]byte(stored[:half]))
	if gap > 0 {
		c.Gap(gap)
	}
	_, _ = c.Write([]byte(stored[half:]))
	code := 0
	return told{
		res:   &session.Result{Started: true, ExitCode: &code, Stdout: c.Text()},
		began: true, stored: []byte(stored), gap: gap, chars: chars, bytes: 1 << 20, word: "w", file: "w\n",
	}
}

func TestATamperedRecordIsNoticed(t *testing.T) {
	much := "first word\n" + strings.Repeat(probe.Much, 2000) + "last word\n"
	const gap = 3 << 20
	total := int64(len(much)) + gap
	last := string(append(bytes.Repeat([]byte("x"), 60<<10-len(probe.LastWord)), probe.LastWord...))
	whole := func() told { return toldOf(much, gap, 2000) }
	ended := func(code int, signal string) told {
		x := told{res: &session.Result{Started: true, Signal: signal}, began: true, code: code}
		if signal == "" {
			x.res.ExitCode = &code
		}
		return x
	}
	refused := func() told {
		return told{res: &session.Result{Error: "not found"}, code: 127}
	}
	listed := func() told {
		x := toldOf("", 0, 0)
		x.res.Files = []session.ResultFile{{Path: "written-w.txt", Status: diffreview.Added, Added: 1}}
		return x
	}
	one := 1
	for _, tt := range []struct {
		name  string
		judge func(told) outcome
		right func() told
		wrong map[string]func(*told)
	}{
		{"much", func(x told) outcome { return judgeMuch(x, total) }, whole, map[string]func(*told){
			"bytes not counted":         func(x *told) { x.gap-- },
			"amount of the cut":         func(x *told) { x.res.Stdout.Omitted++ },
			"cut not announced":         func(x *told) { x.res.Stdout.Text = strings.ReplaceAll(x.res.Stdout.Text, "left out here", "") },
			"gap not announced":         func(x *told) { x.res.Stdout.Text = strings.ReplaceAll(x.res.Stdout.Text, "no longer stored", "") },
			"last word missing":         func(x *told) { x.res.Stdout.Text = strings.TrimSuffix(x.res.Stdout.Text, "word\n") },
			"first word missing":        func(x *told) { x.res.Stdout.Text = strings.TrimPrefix(x.res.Stdout.Text, "first") },
			"an escape given back":      func(x *told) { x.res.Stdout.Text = strings.Replace(x.res.Stdout.Text, "line", "\x1b[2J", 1) },
			"a bidi control given back": func(x *told) { x.res.Stdout.Text = strings.Replace(x.res.Stdout.Text, "line", "\u202e", 1) },
			"more than the cap":         func(x *told) { x.res.Stdout.Omitted = 0 },
			"text longer than the cap": func(x *told) {
				x.res.Stdout.Text = "first word\n" + strings.Repeat("line", 9000) + x.res.Stdout.Text[11:]
			},
			"more stored than the cap":   func(x *told) { x.bytes = 100 },
			"nothing is cut by the caps": func(x *told) { x.res.Stdout = toldOf(much, gap, 0).res.Stdout },
		}},
		{"exit", func(x told) outcome { return judgeEndOf(x, 7, "") }, func() told { return ended(7, "") }, map[string]func(*told){
			"another status":      func(x *told) { x.res.ExitCode = &one },
			"no status":           func(x *told) { x.res.ExitCode = nil },
			"run's own status":    func(x *told) { x.code = 125 },
			"not started":         func(x *told) { x.res.Started = false },
			"a signal":            func(x *told) { x.res.Signal = "SIGTERM" },
			"a limit":             func(x *told) { x.res.Limit = &session.Limit{} },
			"an error of our own": func(x *told) { x.res.Error = "no" },
		}},
		{"crash", func(x told) outcome { return judgeEndOf(x, -1, "SIGABRT") }, func() told { return ended(0, "SIGABRT") }, map[string]func(*told){
			"another signal": func(x *told) { x.res.Signal = "SIGKILL" },
			"a status":       func(x *told) { x.res.ExitCode = &one },
		}},
		{"no such command", func(x told) outcome { return judgeNotBegun(x, 127) }, refused, map[string]func(*told){
			"started":   func(x *told) { x.res.Started = true },
			"begun":     func(x *told) { x.began = true },
			"a status":  func(x *told) { x.res.ExitCode = &one },
			"126":       func(x *told) { x.code = 126 },
			"no reason": func(x *told) { x.res.Error = "" },
		}},
		{"last words", judgeLast, func() told { return toldOf(last, 0, 2000) }, map[string]func(*told){
			"not all stored": func(x *told) { x.stored = x.stored[:len(x.stored)-1] },
			"not given back": func(x *told) { x.res.Stdout.Text = x.res.Stdout.Text[:len(x.res.Stdout.Text)-1] },
		}},
		{"file", judgeFile, listed, map[string]func(*told){
			"not listed":      func(x *told) { x.res.Files = nil },
			"another path":    func(x *told) { x.res.Files[0].Path = "b" },
			"another status":  func(x *told) { x.res.Files[0].Status = diffreview.Modified },
			"one more file":   func(x *told) { x.res.Files = append(x.res.Files, session.ResultFile{Path: "b"}) },
			"not on the host": func(x *told) { x.file = "" },
		}},
	} {
		if got := tt.judge(tt.right()); got.verdict != walls.Held {
			t.Errorf("%s: got %+v, want held", tt.name, got)
		}
		for name, tamper := range tt.wrong {
			x := tt.right()
			tamper(&x)
			if got := tt.judge(x); got.verdict == walls.Held {
				t.Errorf("%s: %s: got %+v, want it noticed", tt.name, name, got)
			}
		}
	}
}

func TestSmallCapsLeaveWhatFits(t *testing.T) {
	x := told{chars: 5}
	if got, want := x.head("first")+"|"+x.tail("last"), "fir|st"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (told{}).head("first")+(told{}).tail("last"), "firstlast"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
