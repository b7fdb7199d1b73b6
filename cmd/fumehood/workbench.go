package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/session/prove"
	"fumehood/ui"
)

// bench is what the workbench asks: the sessions of one repository, and the
// wall tests, which lie above them.
type bench struct{ *session.Client }

// Prove runs wall tests and keeps what they prove. Of a run that was ended
// nothing is kept: what it did not get to says nothing of the walls.
func (b bench) Prove(ctx context.Context, run walls.Run, tell func(walls.Event)) (*walls.Record, error) {
	rec, err := prove.Run(ctx, b.Host, run, tell)
	if err != nil {
		return rec, err
	}
	if err := ctx.Err(); err != nil {
		return rec, err
	}
	return rec, b.Proved(rec)
}

// Mutate leaves out one part of the walls at a time.
func (b bench) Mutate(ctx context.Context, policy string, tell func(walls.Event)) (*walls.Matrix, error) {
	return prove.Mutate(ctx, b.Host, policy, tell)
}

// workbench opens the workbench on the repository around dir, at a place and,
// when id is not empty, on a session.
func workbench(cmd *cobra.Command, dir, id, place string) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return errors.New("the workbench needs a terminal on stdin and stdout; without one use run, diff and apply (\"fumehood --help\")")
	}
	h, err := host()
	if err != nil {
		return err
	}
	repo, err := session.RepositoryAround(cmd.Context(), dir, h.Home)
	if err != nil {
		return err
	}
	return ui.Run(cmd.Context(), bench{&session.Client{Host: h, Repo: repo}}, ui.Options{Repo: repo, Session: id, Place: place})
}

// reviewOf opens the workbench on the review of a session whose repository may
// have moved since.
func reviewOf(cmd *cobra.Command, c *session.Client, id string) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return errors.New("the review screen needs a terminal on stdin and stdout; \"fumehood diff\" prints the change set")
	}
	return ui.Run(cmd.Context(), bench{c}, ui.Options{Repo: c.Repo, Session: id, Place: "review"})
}
