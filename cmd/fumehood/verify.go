package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session/bundle"
)

// signerFlags name what a signature is checked against.
type signerFlags struct{ bundle.Signers }

func (s *signerFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&s.Signature, "signature", "", "the file with the signature (FILE.sig)")
	c.Flags().StringVar(&s.Allowed, "allowed-signers", "", "whose signatures hold, as ssh-keygen(1) has it under ALLOWED SIGNERS")
	c.Flags().StringVar(&s.Identity, "identity", "", "who must have signed (default: anybody allowed)")
	c.MarkFlagsRequiredTogether("signature", "allowed-signers")
}

// given is nil when no signature is to be checked.
func (s *signerFlags) given() (*bundle.Signers, error) {
	switch {
	case s.Signature != "":
		return &s.Signers, nil
	case s.Identity != "":
		return nil, errors.New("--identity says who must have signed: it needs --signature and --allowed-signers")
	}
	return nil, nil
}

func verifyCommand() *cobra.Command {
	var sig signerFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a bundle, or the decisions on one, offline",
		Long: "Checks every byte of a bundle against its hashes, the chains of its events and egress records, and with\n" +
			"--signature who signed it; then says what is in it. The hashes show damage: only a signature shows forgery.\n" +
			"Exit status 0 intact, 1 damaged or badly signed, 125 when it could not be checked.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			signers, err := sig.given()
			if err != nil {
				return err
			}
			ctx, stop := stoppable(cmd.Context())
			defer stop()
			in := confinement{said: cmd.ErrOrStderr()}
			rep, err := bundle.Verify(ctx, args[0], signers, in.close)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), rep)
			} else {
				printReport(cmd.OutOrStdout(), rep)
			}
			if err == nil && !rep.Intact {
				return &exitError{code: exitConflict}
			}
			return err
		},
	}
	sig.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printReport(w io.Writer, r *bundle.Report) {
	if r.Intact {
		fmt.Fprintf(w, "intact  %s, %s %.12s\n", r.File, r.Kind, r.ID)
	}
	for _, d := range r.Damage {
		fmt.Fprintf(w, "damaged  %s: %s\n", r.File, visible(d))
	}
	if r.Signed != "" {
		fmt.Fprintf(w, "signed by  %s\n", visible(r.Signed))
	} else {
		fmt.Fprintln(w, "no signature was checked: who made it is not shown")
	}
	if r.Session == nil {
		return
	}
	s := r.Session
	id := s.ID
	if s.Name != "" { // decisions don't hold it
		id += " " + visible(s.Name)
	}
	fmt.Fprintf(w, "session  %s of %s, snapshot of %s\n", id, diffreview.SafeName(s.Repo), s.SnapshotAt.Format(time.RFC3339))
	if r.Kind == "decisions" {
		fmt.Fprintf(w, "by  %s, as it says itself: %s, %s\n", diffreview.SafeName(r.By), plural(r.Units, "decision"), plural(r.Notes, "comment"))
		return
	}
	fmt.Fprintf(w, "ran  %s under policy %s: %s\n", visible(s.Agent), visible(s.Policy), visible(string(s.State)))
	fmt.Fprintf(w, "holds  %s, %s, %s\n", plural(len(r.Changes), "change"), plural(r.Units, "decision"), plural(r.Notes, "comment"))
	if n, size := r.Blobs(); r.Content {
		fmt.Fprintf(w, "content  %s, %s\n", plural(n, "blob"), sizeText(size))
	} else {
		fmt.Fprintln(w, "content  none: exported with --no-content")
	}
	printChain(w, "events", r.Events)
	printChain(w, "egress", r.Egress)
	for _, c := range r.Changes {
		fmt.Fprintf(w, "  %s -> %s  %d -> %d bytes  %s\n", orNone(c.OldMode), orNone(c.NewMode), c.OldSize, c.NewSize, diffreview.SafeName(string(pathOf(c))))
	}
}

func pathOf(c bundle.Changed) []byte {
	if c.PathB64 != nil {
		return c.PathB64
	}
	return []byte(c.Path)
}

func printChain(w io.Writer, name string, c *bundle.Chain) {
	if c == nil {
		return
	}
	fmt.Fprintf(w, "%s  %s", name, plural(c.Lines, "line"))
	if c.Broken > 0 {
		fmt.Fprintf(w, ", damaged at line %d", c.Broken)
	} else {
		fmt.Fprint(w, ", each follows from the one before")
	}
	if c.Cleaned > 0 {
		fmt.Fprintf(w, "; host paths were taken out of %d", c.Cleaned)
	}
	fmt.Fprintln(w)
}
