package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fumehood/session"
	"fumehood/session/store"
)

func lsCommand() *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List this repository's sessions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			repo, err := repositoryOr(cmd, h, all)
			if err != nil {
				return err
			}
			// Live ones are asked, since only they know that their agent waits.
			list, err := (&session.Client{Host: h, Repo: repo}).List(cmd.Context(), repo == "")
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return printJSON(out, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(out, "no sessions; \"fumehood run -- CMD\" or \"fumehood\" starts one")
				return nil
			}
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			row := func(cells ...string) {
				if !all { // the last is the same in each, and would not fit on 80 columns
					cells = cells[:len(cells)-1]
				}
				fmt.Fprintln(w, strings.Join(cells, "\t"))
			}
			row("ID", "NAME", "AGENT", "STATE", "AGE", "CHANGES", "EGRESS", "REPOSITORY")
			for _, s := range list {
				row(s.ID, s.Name, s.Agent, stateText(s), ago(s.Created, time.Now()), changesText(s), egressText(s), visible(s.Repo))
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "sessions of every repository")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// repositoryOr is the repository around here, or "" for every one.
func repositoryOr(cmd *cobra.Command, h *session.Host, all bool) (string, error) {
	if all {
		return "", nil
	}
	repo, err := session.RepositoryAround(cmd.Context(), ".", h.Home)
	if err != nil {
		return "", fmt.Errorf("%w; --all means every repository", err)
	}
	return repo, nil
}

func stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop [ID]",
		Short: "End everything inside a session; its workspace stays",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openLive(cmd, args)
			if err != nil {
				return err
			}
			if err := h.Stop(cmd.Context(), d); err != nil {
				if errors.Is(err, session.ErrNotLive) {
					fmt.Fprintf(cmd.OutOrStdout(), "%s was not running\n", d.ID())
					return nil
				}
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s stopped; its workspace is kept\n", d.ID())
			return nil
		},
	}
}

func rmCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "rm [ID...]",
		Short: "Remove sessions with their workspaces",
		Long:  "Removes sessions with their workspaces. One with changes that nobody decided on is kept, and said, unless --force is given.",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{""}
			}
			var dirs []store.Dir
			for _, a := range args {
				d, err := sessionOf(cmd, h, []string{a})
				if err != nil {
					return err
				}
				dirs = append(dirs, d)
			}
			for _, d := range dirs {
				standing := h.Undoable(d)
				err := h.Remove(cmd.Context(), d, force)
				var u *session.UndecidedError
				if errors.As(err, &u) && isTerminal(os.Stdin) && isTerminal(os.Stderr) {
					if !ask(cmd, fmt.Sprintf("%s has %d changed files that are neither rejected nor in the repository. Throw them away? [y/N] ", d.ID(), u.Files)) {
						fmt.Fprintf(cmd.OutOrStdout(), "%s kept\n", d.ID())
						continue
					}
					err = h.Remove(cmd.Context(), d, true)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s removed%s\n", d.ID(), undoGone(standing))
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "remove undecided changes too")
	return c
}

// undoGone says what a removal takes with it besides the workspace.
func undoGone(applies int) string {
	if applies == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of it can no longer be undone", plural(applies, "apply"))
}

// ask puts one question; anything but y or yes is no.
func ask(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.ErrOrStderr(), question)
	var answer string
	_, _ = fmt.Fscanln(os.Stdin, &answer) // an empty line is a no
	return answer == "y" || answer == "Y" || answer == "yes"
}

func pruneCommand() *cobra.Command {
	var force, all bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove this repository's ended sessions that hold nothing undecided",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			repo, err := repositoryOr(cmd, h, all)
			if err != nil {
				return err
			}
			removed, kept, err := h.Prune(cmd.Context(), repo, force)
			for _, id := range removed {
				fmt.Fprintf(cmd.OutOrStdout(), "%s removed\n", id)
			}
			for _, k := range kept {
				fmt.Fprintf(cmd.OutOrStdout(), "%s kept: %s\n", k.Path, k.Why)
			}
			return err
		},
	}
	c.Flags().BoolVarP(&force, "force", "f", false, "remove undecided changes too")
	c.Flags().BoolVarP(&all, "all", "a", false, "sessions of every repository")
	return c
}

func logCommand() *cobra.Command {
	var events, egress, raw, asJSON bool
	c := &cobra.Command{
		Use:   "log [ID]",
		Short: "Print a session's stored output, its events, or its attempts to reach the network",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			switch {
			case asJSON && !events && !egress:
				return errors.New("--json only means something together with --events or --egress")
			case raw && events || raw && egress || events && egress:
				return errors.New("choose one of --raw, --events and --egress")
			case egress:
				return printEgress(cmd.OutOrStdout(), d, asJSON)
			case events:
				return printEvents(cmd.OutOrStdout(), d, asJSON)
			}
			return printOutput(cmd.OutOrStdout(), d, raw)
		},
	}
	c.Flags().BoolVarP(&events, "events", "e", false, "what happened to the session, by whom")
	c.Flags().BoolVar(&egress, "egress", false, "every attempt to reach the network, and what came of it")
	c.Flags().BoolVar(&raw, "raw", false, "the output's exact bytes, control characters and all; not to a terminal")
	c.Flags().BoolVar(&asJSON, "json", false, "with --events or --egress: one JSON object a line")
	return c
}

func printEvents(w io.Writer, d store.Dir, asJSON bool) error {
	events, broken, err := d.ReadEvents()
	if err != nil {
		return err
	}
	for _, e := range events {
		if asJSON {
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := w.Write(append(escapeRest(line), '\n')); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s  %-12s %s\n", e.Time.Format(time.RFC3339), e.Kind, visible(e.Text))
	}
	if broken > 0 {
		return fmt.Errorf("the event log is damaged: line %d does not follow from the one before", broken)
	}
	return nil
}

func printOutput(w io.Writer, d store.Dir, raw bool) error {
	if raw && w == io.Writer(os.Stdout) && isTerminal(os.Stdout) {
		return errors.New("--raw would let the session's bytes act on this terminal; pipe it to a file or another program")
	}
	out := w
	if !raw {
		v := session.NewVisibleWriter(w)
		defer v.Flush()
		out = v
	}
	return d.ReadOutput(func(_ store.Stream, p []byte) error {
		_, err := out.Write(p)
		return err
	}, func(n int64) error {
		_, err := fmt.Fprintf(out, "\n[fumehood: %d bytes are no longer stored]\n", n)
		return err
	})
}
