package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/bundle"
	"fumehood/ui"
)

type reviewFlags struct {
	ignored             []string
	to, message, author string
	decisions, sign     string
}

func reviewCommand() *cobra.Command {
	var f reviewFlags
	c := &cobra.Command{
		Use:   "review [ID | FILE]",
		Short: "Open the review screen alone, of a session or of a bundle",
		Long: "Opens the review screen of a session. With a FILE that \"fumehood export\" wrote, here or elsewhere, it opens that\n" +
			"bundle: neither the repository nor the session is needed. Decisions and comments go to FILE.decisions at once, and\n" +
			"are taken up from there; \"fumehood import\" takes them home.\n\n" +
			"With --to branch:NAME, A makes that branch, and M settles where the commit that it follows has other lines than what\n" +
			"was copied in: your edits that were in no commit then.\n\n" +
			"An argument is a file when it has a / in it or ends in .fumehood.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && namesBundle(args[0]) {
				if f.to != "worktree" || f.message != "" || f.author != "" {
					return errors.New("--to, --message and --author are for the review of a session: a bundle's is applied where the session is")
				}
				return reviewBundle(cmd, args[0], f)
			}
			if f.decisions != "" || f.sign != "" {
				return errors.New("--decisions and --sign are for the review of a bundle's FILE")
			}
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			to, err := applyTo(f.to, f.message, f.author)
			if err != nil {
				return err
			}
			if to.Patch != "" {
				return errors.New("the review writes to the work tree or to branch:NAME; \"fumehood apply --to patch:FILE\" writes a patch")
			}
			rec, err := d.LoadRecord()
			if err != nil {
				return err
			}
			return reviewOf(cmd, &session.Client{Host: h, Repo: rec.Repo, Ignored: f.ignored, To: to}, d.ID())
		},
	}
	c.Flags().StringArrayVar(&f.ignored, "ignored", nil, "changes under ignored paths that fit this pathspec as well (repeatable)")
	c.Flags().StringVar(&f.to, "to", "worktree", "where A writes to: worktree, or branch:NAME (see apply)")
	c.Flags().StringVar(&f.message, "message", "", "of the commit on the branch")
	c.Flags().StringVar(&f.author, "author", "", "of the commit on the branch: \"Name <mail>\"; default: the repository's own")
	c.Flags().StringVar(&f.decisions, "decisions", "", "of a bundle: the file for the decisions (default FILE.decisions)")
	c.Flags().StringVar(&f.sign, "sign", "", "of a bundle: sign the decisions with this ssh key afterwards")
	return c
}

// namesBundle tells a bundle's file from a session's name, which has no slash.
func namesBundle(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, bundle.Suffix)
}

// reviewBundle opens the workbench on a bundle. All that it writes is the file
// with the decisions.
func reviewBundle(cmd *cobra.Command, file string, f reviewFlags) error {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return errors.New("the review screen needs a terminal on stdin and stdout; \"fumehood verify\" says what is in a bundle")
	}
	b, err := bundle.Open(cmd.Context(), file)
	if err != nil {
		return err
	}
	defer b.Close()
	if !b.Manifest.Content {
		return fmt.Errorf("bundle %s: %w", diffreview.SafeName(file), bundle.ErrNoContent)
	}
	if f.decisions == "" {
		f.decisions = file + ".decisions"
	}
	r, err := bundle.NewRemote(b, f.decisions, accountName(), ttyName(os.Stdin))
	if err != nil {
		return err
	}
	s := b.Manifest.Session
	err = ui.Run(cmd.Context(), r, ui.Options{Repo: bundle.Shown(s.Repo), Session: s.ID, Place: "review"})
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if !r.Said() {
		return nil
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s  what you decided; \"fumehood import\" takes it home\n", diffreview.SafeName(f.decisions))
	if f.sign != "" {
		sig, err := bundle.Sign(cmd.Context(), f.decisions, f.sign)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s  its signature\n", diffreview.SafeName(sig))
	}
	return nil
}

// accountName is who reviews. Nothing else is asked of the account: it need not
// have a home.
func accountName() string {
	id := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
