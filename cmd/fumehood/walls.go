package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/session/prove"
)

func wallsCommand() *cobra.Command {
	var o struct {
		policy, only, against     string
		asJSON, mutate, every, ls bool
	}
	c := &cobra.Command{
		Use:   "walls",
		Short: "Run the sixteen wall tests, from inside a sandbox, judged from outside",
		Long: "Each test makes harmless attempts from inside a session with this policy, and reads from outside what\n" +
			"came of them: the kernel's return values, files and processes of this machine, listeners. The record of a\n" +
			"whole run is kept, and \"fumehood policy show\" names it.\n\n" +
			"--against runs the same tests in another sandbox: its command, in which {} stands for the program to run\n" +
			"and {workspace} for the folder it may write; '{}' alone is no sandbox. Limits to hold come from the policy.\n" +
			"--mutate leaves out one part of the walls after the other, and shows which tests notice.\n\n" +
			"Exit status 0: all held or not applicable. 1: a wall failed or a test could not be carried out. 125: nothing ran.",
		Example: "  fumehood walls\n  fumehood walls --only 2,6 --attempts\n  fumehood walls --against 'bwrap --ro-bind / / --bind {workspace} {workspace} {}'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			if o.ls {
				return listWalls(w, o.asJSON)
			}
			only, err := numbers(o.only)
			if err != nil {
				return err
			}
			if o.mutate && (o.against != "" || len(only) > 0) {
				return errors.New("--mutate runs every test that it can against fumehood's own walls; it takes neither --only nor --against")
			}
			h, err := host()
			if err != nil {
				return err
			}
			// Ctrl-C ends the run, which then cleans up.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
			defer stop()
			if o.mutate {
				return mutate(ctx, w, h, o.policy, o.asJSON)
			}
			run := walls.Run{Policy: o.policy, Only: only, Against: strings.Fields(o.against)}
			tell := func(walls.Event) {}
			if !o.asJSON {
				tell = inOrder(only, func(e walls.Event) {
					if ctx.Err() == nil { // what is cut short is not told as a test in error
						printWallEvent(w, e, o.every, len(run.Against) > 0)
					}
				})
			}
			rec, err := prove.Run(ctx, h, run, tell)
			if ctx.Err() != nil { // a run that was ended says nothing of the walls
				ended := errors.New("ended before all tests were run; nothing was recorded")
				if err != nil {
					ended = fmt.Errorf("%w: %w", ended, err)
				}
				return &exitError{code: exitConflict, err: ended}
			}
			if err != nil {
				return err
			}
			if len(run.Against) == 0 {
				if err := h.SaveProof(rec); err != nil {
					return fmt.Errorf("keep the record: %w", err)
				}
			}
			if o.asJSON {
				if err := printJSON(w, rec); err != nil {
					return err
				}
			} else {
				printWallEnd(w, rec)
			}
			if !rec.Clean() {
				return &exitError{code: exitConflict}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVarP(&o.policy, "policy", "p", "", "the policy to test, a name or file")
	f.StringVar(&o.only, "only", "", "numbers of the tests to run, such as 2,6")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	f.BoolVar(&o.every, "attempts", false, "print every attempt, not only those that did not hold")
	f.BoolVar(&o.mutate, "mutate", false, "leave out one part of the walls after the other, in throw-away sandboxes")
	f.StringVar(&o.against, "against", "", "test another sandbox: its command, with {} for the program to run")
	f.BoolVar(&o.ls, "list", false, "say what each test tries, expects and reads, and run nothing")
	return c
}

// numbers reads "2,6" or "2-4,6".
func numbers(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for _, part := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 1 || b > len(walls.Tests()) || a > b {
			return nil, fmt.Errorf("--only %q: want numbers from 1 to %d, such as 2,6 or 1-4", s, len(walls.Tests()))
		}
		for n := a; n <= b; n++ {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

func listWalls(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, walls.Tests())
	}
	for _, t := range walls.Tests() {
		fmt.Fprintf(w, "%2d  %s (%s)\n    tries     %s\n    expects   %s\n    reads     %s\n    n.a.      %s\n", t.Number, t.Name, t.Wall, t.Action, t.Expected, t.Evidence, t.NA)
		against := t.Against
		if against == "" {
			against = "not applicable: it judges fumehood's own record or start, or needs its proxy"
		}
		fmt.Fprintf(w, "    --against %s\n", against)
	}
	return nil
}

// inOrder passes on what belongs to a test when it is at its end, in the order
// of the tests: some run beside each other.
func inOrder(only []int, show func(walls.Event)) func(walls.Event) {
	var waiting []int
	for _, t := range walls.Tests() {
		if len(only) == 0 || slices.Contains(only, t.Number) {
			waiting = append(waiting, t.Number)
		}
	}
	kept := map[int][]walls.Event{}
	ended := map[int]bool{}
	return func(e walls.Event) {
		if e.Test == 0 {
			show(e)
			return
		}
		kept[e.Test] = append(kept[e.Test], e)
		ended[e.Test] = ended[e.Test] || e.Result != nil
		for len(waiting) > 0 && ended[waiting[0]] {
			for _, k := range kept[waiting[0]] {
				show(k)
			}
			waiting = waiting[1:]
		}
	}
}

// printWallEvent shows what came of a test; other is for the walls of another
// sandbox, of which it is not said what to do.
func printWallEvent(w io.Writer, e walls.Event, every, other bool) {
	switch {
	case e.Note != "":
		fmt.Fprintf(w, "    %s\n", visible(e.Note))
	case e.Attempt != nil:
		if a := e.Attempt; every || a.Verdict == walls.Failed || a.Verdict == walls.Errored {
			printAttempt(w, *a)
		}
	case e.Result != nil:
		printResult(w, *e.Result, other)
	}
}

func printResult(w io.Writer, r walls.Result, other bool) {
	held, of := r.Count()
	counts := ""
	if of > 0 {
		counts = fmt.Sprintf("%d/%d", held, of)
	}
	fmt.Fprintf(w, "%2d  %-31s %-7s %7s  %5d ms", r.Number, r.Name, r.Verdict, counts, r.TookMS)
	if r.Reason != "" {
		fmt.Fprintf(w, "  %s", visible(r.Reason))
	}
	fmt.Fprintln(w)
	if t, ok := walls.Find(r.Number); ok && r.Verdict == walls.Failed {
		fmt.Fprintf(w, "    means: %s\n", t.Means)
		if !other { // what to do is about this build and its policies
			fmt.Fprintf(w, "    do:    %s\n", t.Remedy)
		}
	}
}

func printAttempt(w io.Writer, a walls.Attempt) {
	fmt.Fprintf(w, "    %-6s %s: %s\n", a.Verdict, visible(a.Tried), visible(a.Observed))
	if a.Evidence != "" {
		fmt.Fprintf(w, "           %s: %s  (nonce %s)\n", a.Witness, visible(a.Evidence), a.Nonce)
	}
	if a.Control != "" {
		fmt.Fprintf(w, "           control %s\n", visible(a.Control))
	}
}

func printWallEnd(w io.Writer, rec *walls.Record) {
	n := map[walls.Verdict]int{}
	for _, t := range rec.Tests {
		n[t.Verdict]++
	}
	what := "policy " + rec.Policy
	if rec.Against != "" {
		what = "against " + rec.Against
	}
	fmt.Fprintf(w, "\n%d held, %d failed, %d in error, %d not applicable; %s; kernel %s; %.1f s\n",
		n[walls.Held], n[walls.Failed], n[walls.Errored], n[walls.NA], visible(what), rec.Kernel, float64(rec.TookMS)/1000)
	for _, l := range rec.Left {
		fmt.Fprintf(w, "left behind: %s\n", visible(l))
	}
}

func mutate(ctx context.Context, w io.Writer, h *session.Host, policy string, asJSON bool) error {
	tell := func(walls.Event) {}
	if !asJSON {
		tell = func(e walls.Event) {
			if e.Note != "" {
				fmt.Fprintln(w, visible(e.Note))
			}
		}
	}
	m, err := prove.Mutate(ctx, h, policy, tell)
	if err != nil {
		return err
	}
	if asJSON {
		if err := printJSON(w, m); err != nil {
			return err
		}
	} else {
		printMatrix(w, m)
	}
	for _, p := range m.Parts {
		if p.Silent() || p.Error != "" {
			return &exitError{code: exitConflict}
		}
	}
	return nil
}

// printMatrix prints which tests turned red for which missing part.
func printMatrix(w io.Writer, m *walls.Matrix) {
	names := 0
	for _, p := range m.Parts {
		names = max(names, len(p.Name))
	}
	fmt.Fprintf(w, "%-12s %-*s", "LAYER", names, "LEFT OUT")
	for _, t := range walls.Tests() {
		fmt.Fprintf(w, "%3d", t.Number)
	}
	fmt.Fprintln(w, "  FIRST TO NOTICE")
	silent, failed := 0, 0
	for _, p := range m.Parts {
		fmt.Fprintf(w, "%-12s %-*s", p.Layer, names, p.Name)
		if p.Cannot != "" {
			fmt.Fprintf(w, "  can't be left out: %s\n", visible(p.Cannot))
			continue
		}
		for _, t := range walls.Tests() {
			mark := " "
			switch {
			case slices.Contains(p.Red, t.Number):
				mark = "X"
			case slices.Contains(p.Ran, t.Number):
				mark = "."
			}
			fmt.Fprintf(w, "%3s", mark)
		}
		if p.Error != "" {
			failed++
			fmt.Fprintf(w, "  could not be tried: %s\n", visible(p.Error))
			continue
		}
		if p.Silent() {
			silent++
			fmt.Fprintln(w, "  NOTHING NOTICED")
			continue
		}
		fmt.Fprintf(w, "  %s\n", visible(p.Attempts[0]))
	}
	fmt.Fprintf(w, "\n%d parts, %d whose absence nothing noticed, %d that could not be tried\n", len(m.Parts), silent, failed)
}
