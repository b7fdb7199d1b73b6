package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/isolate/confine"
	"fumehood/session/bundle"
)

func importCommand() *cobra.Command {
	var sig signerFlags
	var o bundle.ImportOptions
	var asJSON bool
	c := &cobra.Command{
		Use: "import ID FILE.decisions", Annotations: usage("import [--flags] [ID] FILE.decisions"),
		Short: "Take home what was decided on a bundle elsewhere",
		Long: "Records the decisions and comments that \"fumehood review BUNDLE\" wrote beside it, each as made by who claims to\n" +
			"have made it. A decision belongs to bytes: those whose bytes are in the session's newest snapshot are taken, the\n" +
			"others are listed. What was decided otherwise here stands, unless --replace. Nothing is applied.\n\n" +
			"Exit status 0 done, 1 when nothing was taken or the signature does not hold, 125 otherwise.",
		Example: "fumehood import calm-1 calm-1.fumehood.decisions\nfumehood import calm-1.fumehood.decisions  # the session that the file names",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[len(args)-1]
			signers, err := sig.given()
			if err != nil {
				return err
			}
			h, err := host()
			if err != nil {
				return err
			}
			// What is left is the account's sessions, and a live one's supervisor, which
			// takes the snapshot where there is none.
			in := confinement{keep: confine.Keep{Folders: []string{string(h.Root)}, Sockets: true}, said: cmd.ErrOrStderr()}
			// Read once, whole, before its signature is looked at: the bytes that are
			// taken are those that were checked.
			d, signed, err := bundle.LoadSigned(cmd.Context(), file, signers, in.close)
			if err != nil {
				return decidedError(err)
			}
			id := args[:len(args)-1]
			if len(id) == 0 {
				id = []string{d.Session}
			}
			dir, err := sessionOf(cmd, h, id)
			if err != nil {
				return err
			}
			r, err := h.Review(cmd.Context(), dir, false)
			if err != nil {
				return err
			}
			res, err := bundle.Import(r, h, dir, d, o)
			if err != nil {
				return err
			}
			res.Signed = signed
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), res)
			} else {
				printImported(cmd.OutOrStdout(), res)
			}
			if err == nil && len(res.Taken) == 0 && res.Comments == 0 {
				return &exitError{code: exitConflict, err: errors.New(nothingTaken(res)), hint: importHint(res)}
			}
			return err
		},
	}
	sig.add(c)
	c.Flags().BoolVar(&o.Replace, "replace", false, "what was decided there wins over what was decided otherwise here")
	c.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "say what would be taken; record nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func decidedError(err error) error {
	if errors.Is(err, bundle.ErrBadSignature) || errors.Is(err, bundle.ErrDamaged) {
		return &exitError{code: exitConflict, err: err}
	}
	return err
}

// nothingTaken says why: that a file was taken home before is no fault.
func nothingTaken(res *bundle.Imported) string {
	switch here := len(res.Same)+res.CommentsSame > 0; {
	case len(res.Kept)+len(res.Unfit)+res.CommentsKept > 0:
		return "nothing was taken"
	case here:
		return "nothing was taken: all of it is here already"
	}
	return "nothing was taken: the file decides nothing"
}

func importHint(res *bundle.Imported) string {
	if len(res.Kept) > 0 {
		return "--replace takes what was decided otherwise here as well"
	}
	return ""
}

func printImported(w io.Writer, res *bundle.Imported) {
	taken := "taken"
	if res.DryRun {
		taken = "would be taken"
	}
	from := diffreview.SafeName(res.By) + ", as it says itself"
	if res.Signed != "" {
		from += "; signed by " + visible(res.Signed)
	}
	fmt.Fprintf(w, "decisions of %s, on bundle %.12s\n", from, res.Bundle)
	if !res.Known {
		fmt.Fprintln(w, "note: this session's record has no export of that bundle")
	}
	for _, x := range res.Taken {
		fmt.Fprintf(w, "%s  %s  %s %s", taken, x.Verdict, diffreview.SafeName(fatePath(x)), x.Unit)
		if x.Risk != "" {
			fmt.Fprintf(w, "  ! %s", x.Risk)
		}
		if x.Why != "" {
			fmt.Fprintf(w, "  ! %s", visible(x.Why))
		}
		fmt.Fprintln(w)
	}
	for _, l := range []struct {
		word string
		list []bundle.Fate
	}{{"kept", res.Kept}, {"does not fit", res.Unfit}} {
		for _, x := range l.list {
			fmt.Fprintf(w, "%s  %s  %s %s: %s\n", l.word, x.Verdict, diffreview.SafeName(fatePath(x)), x.Unit, visible(x.Why))
		}
	}
	if n := len(res.Same); n > 0 {
		fmt.Fprintf(w, "%s decided so here already\n", plural(n, "part"))
	}
	if res.Comments > 0 {
		fmt.Fprintf(w, "%s %s\n", plural(res.Comments, "comment"), taken)
	}
	if res.CommentsSame > 0 {
		fmt.Fprintf(w, "%s here already\n", plural(res.CommentsSame, "comment"))
	}
	if res.CommentsKept > 0 {
		fmt.Fprintf(w, "%s kept as here\n", plural(res.CommentsKept, "comment"))
	}
}

func fatePath(f bundle.Fate) string {
	if f.PathB64 != nil {
		return string(f.PathB64)
	}
	return f.Path
}
