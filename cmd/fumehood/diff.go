package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
)

func diffCommand() *cobra.Command {
	var stat, patch, asJSON, risks, last bool
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
			r, err := h.Review(cmd.Context(), d, !last)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			content := func(b diffreview.Blob) ([]byte, error) { return r.Snap.Content(b, session.MaxContent) }
			switch {
			case asJSON:
				return diffreview.WriteJSON(w, r.Set)
			case patch:
				if isTerminal(os.Stdout) && w == io.Writer(os.Stdout) {
					return errors.New("--patch gives the files' exact bytes, which could act on this terminal; send it to a file or to git apply (without the flag the diff is made safe to read)")
				}
				return diffreview.Patch(w, r.Set, content, diffreview.Which{SHA256: r.Record.ObjectFormat == "sha256"})
			case stat:
				return diffreview.WriteStat(w, r.Set, 80)
			case risks:
				return writeRisks(w, r.Set)
			}
			return writeDiff(w, r.Set)
		},
	}
	c.Flags().BoolVar(&stat, "stat", false, "a summary by file")
	c.Flags().BoolVar(&patch, "patch", false, "a patch for git apply, exact to the byte")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&risks, "risks", false, "only the findings")
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

// writeDiff prints a change set for a person: nothing in it can act on the
// terminal.
func writeDiff(w io.Writer, cs *diffreview.ChangeSet) error {
	if len(cs.Files) == 0 {
		fmt.Fprintln(w, "no changes")
	} else if err := diffreview.WriteStat(w, cs, 80); err != nil {
		return err
	}
	if err := writeRisks(w, cs); err != nil {
		return err
	}
	writeLeftOut(w, cs)
	for i := range cs.Files {
		writeFile(w, &cs.Files[i])
	}
	return nil
}

func writeRisks(w io.Writer, cs *diffreview.ChangeSet) error {
	for i := range cs.Files {
		f := &cs.Files[i]
		for _, r := range f.Findings {
			if _, err := fmt.Fprintf(w, "%-6s %s%s  %s: %s\n", r.Severity, diffreview.SafeName(f.Path), lineSuffix(r.Line), r.Rule, visible(r.Why)); err != nil {
				return err
			}
		}
	}
	return nil
}

func lineSuffix(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(":%d", n)
}

func writeLeftOut(w io.Writer, cs *diffreview.ChangeSet) {
	for _, l := range cs.LeftOut {
		fmt.Fprintf(w, "left out %s: %s\n", diffreview.SafeName(l.Path), visible(l.Reason))
	}
	if cs.Ignored.Count > 0 {
		fmt.Fprintf(w, "%d changes below ignored paths are not part of the change set\n", cs.Ignored.Count)
	}
}

func writeFile(w io.Writer, f *diffreview.File) {
	fmt.Fprintf(w, "\n%s %s", f.Status, diffreview.SafeName(f.Path))
	if f.Old.Mode() != f.New.Mode() {
		fmt.Fprintf(w, " (mode %s -> %s)", orNone(f.Old.Mode()), orNone(f.New.Mode()))
	}
	if d := f.Decision(); d != diffreview.Undecided {
		fmt.Fprintf(w, " [%s]", d)
	}
	fmt.Fprintln(w)
	switch {
	case f.New.Kind == diffreview.KindSymlink:
		fmt.Fprintf(w, "  link to %s\n", diffreview.SafeName(f.New.Target))
	case f.Binary:
		fmt.Fprintf(w, "  binary, %d -> %d bytes\n", f.Old.Size, f.New.Size)
	}
	for i := range f.Hunks {
		hk := &f.Hunks[i]
		fmt.Fprintf(w, "@@ -%d,%d +%d,%d @@", hk.OldStart, hk.OldLines, hk.NewStart, hk.NewLines)
		if hk.Decision != diffreview.Undecided {
			fmt.Fprintf(w, " [%s]", hk.Decision)
		}
		fmt.Fprintln(w)
		for _, l := range hk.Lines {
			fmt.Fprintf(w, "%c%s\n", l.Op, visible(string(l.Text)))
			if l.NoEOL {
				fmt.Fprintln(w, `\ No newline at end of file`)
			}
		}
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
