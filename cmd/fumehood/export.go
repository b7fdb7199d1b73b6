package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/bundle"
	"fumehood/session/store"
)

type exportFlags struct {
	out, sign        string
	leaveOut         []string
	secrets, replace bool
	asJSON           bool
	o                bundle.Options
}

func exportCommand() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export [ID]",
		Short: "Write the session's record to one file that is reviewed elsewhere",
		Long: "Writes a bundle: what changed, with both sides of each file, the decisions and comments, the events, what the\n" +
			"session tried to reach, and its policy. \"fumehood review FILE\" opens it on a machine without the repository,\n" +
			"\"fumehood verify FILE\" checks it, \"fumehood import FILE.decisions\" brings home what was decided there.\n\n" +
			"It is of the newest snapshot, the one that a review shows; --fresh takes a new one. The host's paths are taken\n" +
			"out. What looks like a secret among what would leave is listed first, and leaves only after a yes.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openSession(cmd, args)
			if err != nil {
				return err
			}
			return export(cmd, h, d, f)
		},
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "the file to write (default NAME.fumehood in this folder, unless that is in a work tree)")
	c.Flags().BoolVar(&f.o.NoContent, "no-content", false, "names, sizes, hashes and decisions, but no file's content")
	c.Flags().StringArrayVar(&f.leaveOut, "leave-out", nil, "leave out what changed at paths that fit this pathspec (repeatable)")
	c.Flags().BoolVar(&f.secrets, "include-secrets", false, "with what looks like a secret, without asking")
	c.Flags().BoolVar(&f.o.Paths, "host-paths", false, "leave this host's paths in it")
	c.Flags().BoolVar(&f.o.Fresh, "fresh", false, "of a new snapshot rather than the newest one")
	c.Flags().BoolVar(&f.replace, "force", false, "replace a file that is there")
	c.Flags().StringVar(&f.sign, "sign", "", "sign it with this ssh key; the signature goes to FILE.sig")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func export(cmd *cobra.Command, h *session.Host, d store.Dir, f exportFlags) error {
	// An interrupt ends it in order: no half of a bundle stays behind.
	ctx, stop := stoppable(cmd.Context())
	defer stop()
	var err error
	if len(f.leaveOut) > 0 {
		if f.o.LeaveOut, err = session.Pathspec(f.leaveOut); err != nil {
			return err
		}
	}
	if f.out == "" {
		here, err := os.Getwd()
		if err == nil {
			f.out, err = bundle.DefaultFile(d, here)
		}
		if err != nil {
			return err
		}
	}
	// Before anything is written, as WriteFile says it of the bundle itself.
	if sig := f.out + bundle.SignatureSuffix; f.sign != "" && !f.replace {
		if _, err := os.Lstat(sig); err == nil {
			return fmt.Errorf("%s is there already; --force replaces it", diffreview.SafeName(sig))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f.o.Build = buildName()
	e, err := bundle.Gather(ctx, h, d, f.o)
	if err != nil {
		return err
	}
	if err := leaving(cmd, e, f); err != nil {
		return err
	}
	if err := e.WriteFile(ctx, f.out, f.replace); err != nil {
		return err
	}
	sig := ""
	if f.sign != "" {
		if sig, err = bundle.Sign(ctx, f.out, f.sign); err != nil {
			return fmt.Errorf("%s is written, but not signed: %w", diffreview.SafeName(f.out), err)
		}
	}
	return printExport(cmd.OutOrStdout(), e, f, sig)
}

// buildName is this program's version, as a bundle names it.
func buildName() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return version + " " + b.GoVersion
	}
	return version
}

// leaving lists what looks like a secret and asks for it.
func leaving(cmd *cobra.Command, e *bundle.Export, f exportFlags) error {
	w := cmd.ErrOrStderr()
	for _, b := range e.Broken {
		fmt.Fprintf(w, "fumehood: the session's own record is damaged (%s); the bundle says so too\n", b)
	}
	if len(e.Secrets) == 0 {
		return nil
	}
	fmt.Fprintf(w, "%s among what would leave:\n", plural(len(e.Secrets), "possible secret"))
	const most = 50
	for _, s := range e.Secrets[:min(len(e.Secrets), most)] {
		side := ""
		if s.Path != "" {
			side = " (" + s.Side + ")"
		}
		fmt.Fprintf(w, "  %s%s%s: %s\n", s.Place(), lineSuffix(s.Line), side, visible(s.Why))
	}
	if n := len(e.Secrets) - most; n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
	if f.secrets {
		return nil
	}
	refused := &exitError{code: exitRefused, err: errors.New("nothing was exported: it would take along what looks like a secret"), hint: "--leave-out PATHSPEC leaves paths out; --include-secrets takes all of it along"}
	if !isTerminal(os.Stdin) || !isTerminal(os.Stderr) || f.asJSON {
		return refused
	}
	if !ask(cmd, "Export them all the same? [y/N] ") {
		return refused
	}
	return nil
}

func printExport(w io.Writer, e *bundle.Export, f exportFlags, sig string) error {
	if f.asJSON {
		secrets := []string{}
		for _, s := range e.Secrets {
			secrets = append(secrets, s.Place())
		}
		return printJSON(w, struct {
			Session   string   `json:"session"`
			File      string   `json:"file"`
			Bundle    string   `json:"bundle"`
			Size      int64    `json:"size"`
			Content   bool     `json:"content"`
			Secrets   []string `json:"secrets"`
			Signature string   `json:"signature,omitempty"`
		}{e.Manifest.Session.ID, f.out, e.ID(), e.Size(), e.Manifest.Content, secrets, sig})
	}
	fmt.Fprintf(w, "%s  %s, bundle %.12s\n", diffreview.SafeName(f.out), sizeText(e.Size()), e.ID())
	if sig != "" {
		fmt.Fprintf(w, "%s  its signature\n", diffreview.SafeName(sig))
	}
	return nil
}

// stoppable is a context that an interrupt ends.
func stoppable(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
