package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"fumehood/session"
	"fumehood/ui"
)

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
	return ui.Run(cmd.Context(), &session.Client{Host: h, Repo: repo}, ui.Options{Repo: repo, Session: id, Place: place})
}

func reviewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "review [ID]",
		Short: "Open the review screen alone",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			rec, err := d.LoadRecord()
			if err != nil {
				return err
			}
			return workbenchOf(cmd, h, rec.Repo, d.ID(), "review")
		},
	}
}

// workbenchOf opens the workbench on a repository that may have moved since.
func workbenchOf(cmd *cobra.Command, h *session.Host, repo, id, place string) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return errors.New("the review screen needs a terminal on stdin and stdout; \"fumehood diff\" prints the change set")
	}
	return ui.Run(cmd.Context(), &session.Client{Host: h, Repo: repo}, ui.Options{Repo: repo, Session: id, Place: place})
}
