package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
)

func applyCommand() *cobra.Command {
	var o session.ApplyOptions
	var only []string
	var to, message, author string
	var asJSON bool
	c := &cobra.Command{
		Use:   "apply [ID]",
		Short: "Write what is approved to the repository's work tree, all or nothing",
		Long: "Writes what is approved of the session's newest snapshot: byte for byte, nothing else, all or nothing\n" +
			"even over a crash; \"fumehood undo\" takes it back. With --all a fresh snapshot is taken and every undecided hunk\n" +
			"approved first, except those under a warn or danger finding, which are listed; name a rule with\n" +
			"--accept-risk to approve its findings too. A file that changed on the host since the copy is a conflict:\n" +
			"nothing is written (exit status 1) unless --merge joins its changes with the agent's, which are then in other\n" +
			"lines or settled in the review, or --skip-conflicts leaves such files out.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			if len(o.AcceptRisk) > 0 && !o.All {
				return errors.New("--accept-risk only means something together with --all")
			}
			if len(only) > 0 {
				if o.Only, err = session.Pathspec(only); err != nil {
					return err
				}
			}
			if o.To, err = applyTo(to, message, author); err != nil {
				return err
			}
			if o.Merge && (o.To.Branch != "" || o.To.Patch != "") {
				return errors.New("--merge joins changes with those in the work tree: it means nothing for a branch or a patch")
			}
			res, err := h.Apply(cmd.Context(), d, o)
			return printApplied(cmd.OutOrStdout(), res, err, asJSON, o.DryRun, "applied")
		},
	}
	c.Flags().BoolVar(&o.All, "all", false, "approve every undecided hunk first, except risky ones")
	c.Flags().StringArrayVar(&o.AcceptRisk, "accept-risk", nil, "with --all: approve findings of this rule too (repeatable)")
	c.Flags().StringArrayVar(&only, "only", nil, "only paths that fit this pathspec, of a renamed file the old or the new one; :(literal) for odd names (repeatable)")
	c.Flags().StringArrayVar(&o.Ignored, "ignored", nil, "changes under ignored paths that fit this pathspec as well (repeatable)")
	c.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "say what would be written; write and record nothing")
	c.Flags().StringVar(&to, "to", "worktree", "where to: worktree, branch:NAME (a new branch on the commit that was copied; index and work tree stay) or patch:FILE")
	c.Flags().StringVar(&message, "message", "", "of the commit on the branch")
	c.Flags().StringVar(&author, "author", "", "of the commit on the branch: \"Name <mail>\"; default: the repository's own")
	c.Flags().BoolVar(&o.Merge, "merge", false, "merge files that changed on the host too, as far as no conflict is open")
	c.Flags().BoolVar(&o.SkipConflicts, "skip-conflicts", false, "leave out files that changed on the host")
	c.Flags().StringVar(&o.Repo, "repo", "", "the repository moved to this folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// applyTo is what --to, --message and --author say.
func applyTo(to, message, author string) (session.ApplyTo, error) {
	out, err := session.ParseTo(to)
	if err != nil {
		return out, err
	}
	if (message != "" || author != "") && out.Branch == "" {
		return out, errors.New("--message and --author are of the commit that --to branch:NAME makes")
	}
	out.Message, out.Author = message, author
	return out, nil
}

func undoCommand() *cobra.Command {
	var asJSON bool
	var repo string
	c := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Take the newest apply back, if the files are still as it left them",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			res, err := h.Undo(cmd.Context(), d, repo)
			return printApplied(cmd.OutOrStdout(), res, err, asJSON, false, "restored")
		},
	}
	c.Flags().StringVar(&repo, "repo", "", "the repository moved to this folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printApplied prints an outcome and turns it into a status: 0 done, 1 conflict
// or nothing to do, 125 anything else.
func printApplied(w io.Writer, res session.Applied, err error, asJSON, dry bool, verb string) error {
	known := err == nil || errors.Is(err, session.ErrConflict) || errors.Is(err, session.ErrNothing) || errors.Is(err, session.ErrNothingToUndo)
	if !known {
		return err
	}
	if asJSON {
		if jerr := printJSON(w, res); jerr != nil {
			return jerr
		}
	} else {
		if dry {
			verb = "would be " + verb
		}
		if err == nil {
			for _, p := range res.Applied {
				fmt.Fprintf(w, "%s  %s%s\n", verb, diffreview.SafeName(p), kindText(res, p))
			}
		}
		for _, x := range res.Risks {
			fmt.Fprintf(w, "risk  %s%s in %s, %s: %s: %s\n", diffreview.SafeName(x.Path), lineSuffix(x.Line), ownWords[x.In], x.Severity, x.Rule, oneLine(x.Why))
		}
		if res.MovedOn != "" {
			fmt.Fprintf(w, "note  %s\n", visible(res.MovedOn))
		}
		for _, n := range res.Notes {
			fmt.Fprintf(w, "note  %s: %s\n", diffreview.SafeName(n.Path), visible(n.Why))
		}
		switch {
		case res.Branch != "" && err == nil && verb == "restored":
			fmt.Fprintf(w, "branch %s taken away\n", visible(res.Branch))
		case res.Patch != "" && err == nil && !dry:
			fmt.Fprintf(w, "the patch is in %s; the work tree is as it was\n", visible(res.Patch))
		case res.Commit != "" && err == nil:
			fmt.Fprintf(w, "branch %s is at %s\n", visible(res.Branch), res.Commit)
		}
		for _, c := range res.Conflicts {
			fmt.Fprintf(w, "conflict  %s: %s\n", diffreview.SafeName(c.Path), visible(c.Why))
		}
		for _, s := range res.Skipped {
			fmt.Fprintf(w, "skipped  %s: %s\n", diffreview.SafeName(s.Path), visible(s.Why))
		}
	}
	if err != nil {
		return &exitError{code: exitConflict, err: err, hint: applyHint(res, err)}
	}
	return nil
}

// ownWords say whose text a risk is in.
var ownWords = map[string]string{"edit": "a reviewer's own text", "merge": "the merged text", "part": "what is approved without the rest"}

// kindText names what a plain "applied" would hide.
func kindText(res session.Applied, path string) string {
	for _, m := range res.Merged {
		if m.Path == path {
			return " (merged: " + visible(m.Why) + ")"
		}
	}
	for _, c := range res.Changes {
		if c.Path == path && c.Why != "modified" {
			return " (" + c.Why + ")"
		}
	}
	return ""
}

func applyHint(res session.Applied, err error) string {
	switch {
	case res.Branch != "" && len(res.Conflicts) > 0 && errors.Is(err, session.ErrNothing):
		return "--skip-conflicts leaves those files out and makes the branch of the rest"
	case errors.Is(err, session.ErrConflict):
		return "--merge joins changes in other lines; --skip-conflicts leaves those files out and applies the rest"
	case errors.Is(err, session.ErrNothing):
		return "\"fumehood review\" decides file by file; --all approves what carries no risk"
	}
	return ""
}
