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
			"are taken up from there; \"fumehood import\" takes them home. What reads the bundle can open no other file, start\n" +
			"no program and reach no network; your editor runs beside it.\n\n" +
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

// reviewBundle opens the workbench on a bundle, in a process that can't open a
// file or start a program any more. All that is written is the file with the
// decisions, by a porter.
func reviewBundle(cmd *cobra.Command, file string, f reviewFlags) (err error) {
	if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
		return errors.New("the review screen needs a terminal on stdin and stdout; \"fumehood verify\" says what is in a bundle")
	}
	if f.decisions == "" {
		f.decisions = file + ".decisions"
	}
	who := bundle.Reader{File: file, Decisions: f.decisions, By: accountName(), TTY: ttyName(os.Stdin)}
	colours := ui.Colours()
	porter, err := bundle.StartPorter(f.decisions, f.sign)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, porter.Close()) }()
	in := confinement{said: cmd.ErrOrStderr()}
	r, err := bundle.Review(cmd.Context(), who, porter, in.close)
	if err != nil {
		return err
	}
	defer r.Close() // read-only
	if in.lacks != "" {
		r.Note(in.lacks)
	}
	s := r.Manifest().Session
	if err := ui.Run(cmd.Context(), r, ui.Options{
		Repo: bundle.Shown(s.Repo), Session: s.ID, Place: "review", Edit: porter.Edit, Colours: colours,
	}); err != nil || !r.Said() {
		return err
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s  what you decided; \"fumehood import\" takes it home\n", diffreview.SafeName(f.decisions))
	if f.sign != "" {
		sig, err := porter.Sign()
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
