package main

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
)

func diffCommand() *cobra.Command {
	var stat, patch, asJSON, risks, last bool
	var ignored []string
	c := &cobra.Command{
		Use:   "diff [ID]",
		Short: "Print the change set of a fresh snapshot",
		Long: "Stops everything inside for a moment, reads what changed, and prints it: --patch is what git apply\n" +
			"takes; --stat a summary; --risks the findings; --json everything. Without a flag: the summary, the\n" +
			"findings, what was left out, and the diff as it may be read on a terminal.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if countTrue(stat, patch, asJSON, risks) > 1 {
				return errors.New("choose one of --stat, --patch, --json and --risks")
			}
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			r, err := h.Review(cmd.Context(), d, !last, ignored...)
			if err != nil {
				return err
			}
			if last {
				noteGoneOn(cmd, h, d, r)
			}
			w := cmd.OutOrStdout()
			switch {
			case asJSON:
				return writeDiffJSON(w, r)
			case patch:
				if isTerminal(os.Stdout) && w == io.Writer(os.Stdout) {
					return errors.New("--patch gives the files' exact bytes, which could act on this terminal; send it to a file or to git apply (without the flag the diff is made safe to read)")
				}
				return diffreview.Patch(w, r.Set, r.Content, diffreview.Which{SHA256: r.Record.ObjectFormat == "sha256"})
			case stat:
				return diffreview.WriteStat(w, r.Set, widthOf(w))
			case risks:
				return writeRisks(w, r.Set)
			}
			return writeDiff(w, r)
		},
	}
	c.Flags().BoolVar(&stat, "stat", false, "a summary by file")
	c.Flags().BoolVar(&patch, "patch", false, "a patch for git apply, exact to the byte")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&risks, "risks", false, "only the findings")
	c.Flags().StringArrayVar(&ignored, "ignored", nil, "changes under ignored paths that fit this pathspec as well (repeatable)")
	c.Flags().BoolVar(&last, "last", false, "the newest snapshot rather than a fresh one")
	return c
}

func countTrue(bs ...bool) int {
	n := 0
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// writeDiff prints a review for a person.
func writeDiff(w io.Writer, r *session.Review) error {
	return newDiffPrinter(w, r.Decisions, r.Content).set(r.Set)
}

// writeDiffJSON escapes what the encoder would leave for a terminal to obey.
func writeDiffJSON(w io.Writer, r *session.Review) error {
	var b bytes.Buffer
	if err := diffreview.WriteJSON(&b, r.Set, r.Decisions); err != nil {
		return err
	}
	_, err := w.Write(escapeRest(b.Bytes()))
	return err
}
