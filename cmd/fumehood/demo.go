package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/session"
	"fumehood/session/demo"
)

func demoCommand() *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a scripted agent on a throw-away repository, and show what comes of it",
		Long: "Makes a throw-away repository and runs a scripted agent on it that does some work and tries every wall.\n" +
			"On a terminal the workbench opens on it; with --plain, or without a terminal, the session, what was\n" +
			"refused and the diff are printed, and everything is removed again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			if !plain && isTerminal(os.Stdin) && isTerminal(os.Stdout) {
				d, err := demo.Make(cmd.Context())
				if err != nil {
					return err
				}
				return demoWorkbench(cmd, h, d)
			}
			// What it made goes, whatever ends it.
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
			defer stop()
			d, err := demo.Make(ctx)
			if err != nil {
				return err
			}
			err = demoPlain(ctx, cmd.OutOrStdout(), h, d)
			return errors.Join(err, os.RemoveAll(d.Dir))
		},
	}
	c.Flags().BoolVar(&plain, "plain", false, "print instead of opening the workbench")
	return c
}

func demoRequest(h *session.Host, d *demo.Demo) (session.Request, error) {
	argv, err := h.AgentCommand("demo", "", true)
	return session.Request{
		Repo: d.Repo, Policy: "default", Agent: "demo", Command: argv,
		Env: []string{"DEMO_CANARY=" + d.Canary},
	}, err
}

func demoWorkbench(cmd *cobra.Command, h *session.Host, d *demo.Demo) error {
	req, err := demoRequest(h, d)
	if err != nil {
		return err
	}
	req.TTY, req.Size = true, terminalSize()
	id, err := h.Create(cmd.Context(), req, nil)
	if err != nil {
		return errors.Join(err, os.RemoveAll(d.Dir))
	}
	err = workbench(cmd, d.Repo, id, "terminal")
	fmt.Fprintf(cmd.ErrOrStderr(), "the demo's repository is %s, its session %s; when done: fumehood rm --force %s; rm -r %s\n", d.Repo, id, id, d.Dir)
	return err
}

func demoPlain(ctx context.Context, w io.Writer, h *session.Host, d *demo.Demo) error {
	req, err := demoRequest(h, d)
	if err != nil {
		return err
	}
	req.Hold, req.Bound = true, true
	id, err := h.Create(ctx, req, nil)
	if err != nil {
		return err
	}
	dir := h.Root.Dir(id)
	defer func() {
		if err := h.Remove(context.WithoutCancel(ctx), dir, true); err != nil {
			fmt.Fprintf(os.Stderr, "fumehood: remove the demo's session: %v\n", err)
		}
	}()
	det, err := h.DetailOf(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "session %s of %s\n\nWalls, as read from outside before the agent began:\n", id, d.Repo)
	writeLayers(w, det.Layers)
	fmt.Fprintf(w, "\nThe agent, in its own words:\n\n")
	var out bytes.Buffer
	v := session.NewVisibleWriter(io.MultiWriter(w, &out))
	end, err := session.Attach(ctx, dir, session.Streams{Out: v, Err: v})
	if err != nil {
		return err
	}
	v.Flush()
	fmt.Fprintf(w, "\nended with status %d; the rest is read from outside\n\n", end.Code)
	bad := end.Code != 0
	for _, c := range d.Checks(out.Bytes(), dir.Workspace()) {
		mark := "ok "
		if !c.OK {
			mark, bad = "BAD", true
		}
		fmt.Fprintf(w, "  %s %s%s\n", mark, c.What, bracketed(visible(c.Detail)))
	}
	r, err := h.Review(ctx, dir, true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWhat would come back, if you approved it:\n\n")
	if err := writeDiff(w, r); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe git hook and the agent's commit are not in it: a .git never comes back.\n")
	fmt.Fprintf(w, "Nothing was written to the repository. \"fumehood demo\" on a terminal opens this in the workbench.\n")
	if bad {
		return &exitError{code: exitConflict, err: fmt.Errorf("the demo did not go as it should: see above")}
	}
	return nil
}

func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// writeLayers sums up what was read of each layer; what is not in force is
// named.
func writeLayers(w io.Writer, facts []layer.Fact) {
	for _, name := range layer.All() {
		n, bad := 0, 0
		var seen []string
		for _, f := range facts {
			if f.Layer != name {
				continue
			}
			n++
			if !f.OK {
				bad++
				fmt.Fprintf(w, "  NOT IN FORCE %s: %s is %s (%s)\n", name, visible(f.What), visible(f.Value), f.Source)
			}
			if !slices.Contains(seen, f.Source) {
				seen = append(seen, f.Source)
			}
		}
		if n > 0 && bad == 0 {
			fmt.Fprintf(w, "  %-11s in force: %d of %d as planned (%s)\n", name, n, n, strings.Join(seen, ", "))
		}
	}
}
