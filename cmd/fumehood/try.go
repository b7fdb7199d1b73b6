package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/wire"
)

func tryCommand() *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "try ID -- CMD...", Annotations: usage("try [--flags] [ID] -- CMD..."),
		Short: "Run a command on the baseline plus only what is approved, behind the same walls",
		Long: "Lays out a fresh workspace of the session's baseline and what is approved of its newest snapshot, and runs\n" +
			"CMD in it: the session's policy, toolchains and caches, a new home, nothing of the session's own workspace.\n" +
			"What it ran in is removed at the end, and nothing that CMD writes comes back. That this approved state was\n" +
			"tried, and how it ended, is on the session's record: see \"fumehood diff --json\" and \"fumehood log --events\".\n\n" +
			"Exit status: CMD's own; 128+N when signal N ended it; 124 when a limit did; 125 when nothing is approved,\n" +
			"or fumehood refused or failed before CMD ran; 126 not executable; 127 not found.",
		Example: "fumehood try -- go test ./...  # the repository's only session\nfumehood try calm-1 -- npm test",
		RunE: func(cmd *cobra.Command, args []string) error {
			n := cmd.ArgsLenAtDash()
			if n < 0 || n > 1 || len(args) == n {
				return errors.New("a command is needed after --, as in: fumehood try [ID] -- make test")
			}
			if err := (&runFlags{timeout: timeout}).check(); err != nil {
				return err
			}
			h, d, err := openSession(cmd, args[:n])
			if err != nil {
				return err
			}
			return runTry(cmd, h, d, session.TryRequest{Argv: args[n:], From: ".", Timeout: timeout}, asJSON)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "end the command after this long (overrides limits.run_time)")
	c.Flags().BoolVar(&asJSON, "json", false, "capture, and print one JSON object at the end")
	return c
}

func runTry(cmd *cobra.Command, h *session.Host, d store.Dir, req session.TryRequest, asJSON bool) error {
	// None ends this process before the try is removed: a terminal that goes away
	// can be read to its end, and so left, before its SIGHUP comes.
	held := make(chan os.Signal, 1)
	signal.Notify(held, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(held)
	// Until the command runs, a signal ends the making of the workspace; from
	// then on it is the command's.
	ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	progress, done := progressLine(cmd.ErrOrStderr())
	req.Progress = progress
	var out, errs *session.Cutter
	switch {
	case asJSON:
		out, errs = session.NewCutter(jsonChars), session.NewCutter(jsonChars)
		req.Stdin, req.Stdout, req.Stderr = os.Stdin, out, errs
	default:
		req.TTY, req.Term, req.Size = isTerminal(os.Stdin) && isTerminal(os.Stdout), os.Getenv("TERM"), terminalSize()
		req.Follow = func(ctx context.Context, td store.Dir) (*wire.End, error) {
			done()
			return connect(req.TTY, func(st session.Streams) (*wire.End, error) {
				stop() // connect has taken the signals over
				return session.Attach(context.WithoutCancel(ctx), td, st)
			})
		}
	}
	t, err := h.Try(ctx, d, req)
	done()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return errors.New("cancelled; nothing of the try is left")
	}
	if err != nil {
		return hintTry(err, d)
	}
	if asJSON {
		if err := printJSON(cmd.OutOrStdout(), tryJSON(d, t, out, errs)); err != nil {
			return err
		}
	} else {
		reportTry(t)
	}
	if code := endCode(&t.End); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// jsonChars bounds each of the texts in a try's JSON, in characters.
const jsonChars = 20_000

// hintTry says what to do about a try that could not be.
func hintTry(err error, d store.Dir) error {
	if errors.Is(err, session.ErrNothingToTry) {
		return &exitError{code: exitRefused, err: err, hint: fmt.Sprintf("\"fumehood review %s\" decides; \"fumehood apply --all --dry-run %s\" shows what carries no risk", d.ID(), d.ID())}
	}
	return err
}

// reportTry says on stderr what the exit status alone does not.
func reportTry(t *session.Tried) {
	e := &t.End
	switch {
	case e.Limit != nil:
		fmt.Fprintf(os.Stderr, "fumehood: stopped at limit %s: %s reached, used %s\n", e.Limit.Name, e.Limit.Value, e.Limit.Used)
	case e.Error != "":
		fmt.Fprintf(os.Stderr, "fumehood: %s\n", visible(e.Error))
	case e.Signal != 0:
		fmt.Fprintf(os.Stderr, "fumehood: ended by %s\n", session.SignalName(e.Signal))
	}
	if t.Hint != "" {
		fmt.Fprintf(os.Stderr, "fumehood: hint: %s\n", visible(t.Hint))
	}
	const shown = 5
	for _, l := range t.Left[:min(len(t.Left), shown)] {
		fmt.Fprintf(os.Stderr, "fumehood: not in the try: %s: %s\n", diffreview.SafeName(l.Path), visible(l.Why))
	}
	if n := len(t.Left) - shown; n > 0 {
		fmt.Fprintf(os.Stderr, "fumehood: not in the try: %d more; --json lists them\n", n)
	}
	if t.Egress.Refused > 0 {
		fmt.Fprintf(os.Stderr, "fumehood: %s to reach the network refused\n", plural(t.Egress.Refused, "attempt"))
	}
	fmt.Fprintf(os.Stderr, "fumehood: what is approved: %s\n", session.TrialText(t.Trial))
}

// triedJSON is what try --json prints.
type triedJSON struct {
	Session  string            `json:"session"`
	Approved string            `json:"approved"`
	Command  []string          `json:"command"`
	Outcome  string            `json:"outcome"`
	Started  bool              `json:"started"`
	ExitCode *int              `json:"exit_code"`
	Signal   string            `json:"signal"`
	Limit    *session.Limit    `json:"limit"`
	Error    string            `json:"error,omitempty"`
	Stdout   session.Text      `json:"stdout"`
	Stderr   session.Text      `json:"stderr"`
	WallMS   int64             `json:"wall_ms"`
	LeftOut  []session.PathWhy `json:"left_out"`
	Egress   session.Egress    `json:"egress"`
}

func tryJSON(d store.Dir, t *session.Tried, out, errs *session.Cutter) triedJSON {
	j := triedJSON{
		Session: d.ID(), Approved: t.Trial.Approved, Command: t.Trial.Command, Outcome: string(t.Trial.Outcome),
		Started: t.End.Began, Signal: session.SignalName(t.Signal), Limit: t.Limit, Error: t.End.Error,
		Stdout: out.Text(), Stderr: errs.Text(), WallMS: t.Wall.Milliseconds(), LeftOut: append([]session.PathWhy{}, t.Left...), Egress: t.Egress,
	}
	if t.End.State == session.StateExited && t.Signal == 0 && t.End.Began {
		j.ExitCode = &t.Code
	}
	return j
}
