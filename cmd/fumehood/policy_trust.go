package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fumehood/isolate/policy"
	"fumehood/session"
)

type trustFlags struct {
	policy                    string
	yes, list, revoke, asJSON bool
}

func policyTrust() *cobra.Command {
	var f trustFlags
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Show what a repository's own policy asks for beyond yours, and trust it",
		Long: "A repository's .fumehood/policy.toml can make your policy narrower by itself. Where it asks for more,\n" +
			"nothing of that is in force until you trust it: this shows what it is, and asks.\n\n" +
			"Trust holds for this content of the file in this folder. When the file changes, or the folder is\n" +
			"another, it is void. A credential, a host path or an opaque tunnel is never brought in this way.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			switch {
			case f.list:
				return listTrust(cmd, h, f.asJSON)
			case f.revoke:
				return revokeTrust(cmd, h, dir)
			}
			return trust(cmd, h, dir, f)
		},
	}
	c.Flags().StringVar(&f.policy, "policy", "", "the policy of yours to compare with: a name or a file")
	c.Flags().BoolVar(&f.yes, "yes", false, "trust without asking, also without a terminal")
	c.Flags().BoolVar(&f.list, "list", false, "list what is trusted, and whether it still holds")
	c.Flags().BoolVar(&f.revoke, "revoke", false, "take the trust back")
	c.Flags().BoolVar(&f.asJSON, "json", false, "with --list: print JSON")
	c.MarkFlagsMutuallyExclusive("yes", "list", "revoke")
	return c
}

// trust shows the widenings and, after a yes, records them.
func trust(cmd *cobra.Command, h *session.Host, dir string, f trustFlags) error {
	user, own, err := h.RepositoryPolicyOf(cmd.Context(), dir, f.policy)
	if err != nil {
		return err
	}
	if own == nil {
		return fmt.Errorf("the repository around %s has no %s: there is nothing to trust", dir, session.RepositoryPolicyFile)
	}
	out := cmd.OutOrStdout()
	fmt.Fprint(out, visible(trustText(user, own)))
	if len(own.Waiting()) == 0 {
		return nil
	}
	if !f.yes {
		if !isTerminal(os.Stdin) || !isTerminal(os.Stdout) {
			return &exitError{code: exitRefused, err: errors.New("nothing was trusted: there is no terminal to ask on"), hint: "read what is above; --yes trusts it"}
		}
		fmt.Fprint(out, "\ntype yes to trust this: ")
		if !saidYes(cmd.InOrStdin()) {
			return &exitError{code: exitRefused, err: errors.New("nothing was trusted")}
		}
	}
	if err := h.TrustPolicy(own); err != nil {
		return err
	}
	fmt.Fprintln(out, "trusted; sessions that start from now on have it")
	return nil
}

// trustText says what a yes would mean.
func trustText(user *policy.Policy, own *session.RepositoryPolicy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s\nsha256 %s\nbeside your policy %s\n", session.RepositoryPolicyFile, own.Repo, own.SHA256, user.Name)
	if own.Void != "" {
		fmt.Fprintf(&b, "what you trusted before does not hold: %s\n", own.Void)
	}
	for _, part := range []struct {
		title string
		has   func(policy.Widening) bool
	}{
		{"in force, since you trusted it", func(w policy.Widening) bool { return w.InForce }},
		{"asks for more than your policy gives", func(w policy.Widening) bool { return w.Trustable && !w.InForce }},
		{"asks for what can't be trusted, and never has it", func(w policy.Widening) bool { return !w.Trustable }},
	} {
		title := "\n" + part.title + ":\n"
		for _, w := range own.Widenings {
			if part.has(w) {
				fmt.Fprintf(&b, "%s  %s\n    wants   %s\n    you     %s\n    means   %s\n", title, w.Key, w.Want, w.Have, w.Why)
				title = ""
			}
		}
	}
	if len(own.Widenings) == 0 {
		b.WriteString("asks for nothing beyond your policy: there is nothing to trust\n")
	}
	for _, n := range own.Narrowed {
		fmt.Fprintf(&b, "narrows by itself: %s\n", n)
	}
	return b.String()
}

// saidYes reads one line.
func saidYes(in io.Reader) bool {
	line, err := bufio.NewReader(io.LimitReader(in, 256)).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == "yes"
}

func listTrust(cmd *cobra.Command, h *session.Host, asJSON bool) error {
	all, err := h.Trusts(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), all)
	}
	if len(all) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "no repository's own policy is trusted")
	}
	for _, t := range all {
		stands := "holds"
		if t.Void != "" {
			stands = "void: " + t.Void
		}
		fmt.Fprint(cmd.OutOrStdout(), visible(fmt.Sprintf("%s  %s\n", t.Repo, stands)))
		for _, g := range t.Granted {
			fmt.Fprint(cmd.OutOrStdout(), visible(fmt.Sprintf("  %s: %s\n", g.Key, g.Want)))
		}
	}
	return nil
}

func revokeTrust(cmd *cobra.Command, h *session.Host, dir string) error {
	had, err := h.RevokeTrust(dir)
	if err != nil {
		return err
	}
	if !had {
		return fmt.Errorf("no policy of %s is trusted; \"fumehood policy trust --list\" lists them", dir)
	}
	fmt.Fprintln(cmd.OutOrStdout(), "revoked; sessions that run keep what they began with")
	return nil
}
