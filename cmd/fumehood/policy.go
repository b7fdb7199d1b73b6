package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/policy"
	"fumehood/session"
)

func policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show, check, begin or trust a policy",
		Args:  cobra.NoArgs,
		// Without this a misspelt subcommand would print help and succeed.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(policyShow(), policyCheck(), policyInit(), policyTrust())
	return c
}

func policyShow() *cobra.Command {
	var asTOML, asJSON bool
	c := &cobra.Command{
		Use:   "show [POLICY]",
		Short: "Print a policy as plain text, wall by wall",
		Long: "Prints a policy as plain text, wall by wall. Without POLICY it is the one that a session here\n" +
			"would have, together with the repository's own .fumehood/policy.toml.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			p, own, err := policyHere(cmd, h, first(args))
			if err != nil {
				return err
			}
			if asTOML {
				_, err := cmd.OutOrStdout().Write(policy.Encode(p))
				return err
			}
			if asJSON {
				now := time.Now()
				st, err := h.Standing(p)
				return printJSON(cmd.OutOrStdout(), policyJSON{
					Name: p.Name, Hash: policy.Hash(p), Policy: policy.Values(p),
					Verified: linesOf(session.Verified(st, err, now)), Repository: repositoryOf(own),
				})
			}
			fmt.Fprint(cmd.OutOrStdout(), visible(h.Block(p, time.Now())))
			if own != nil {
				fmt.Fprintf(cmd.OutOrStdout(), "\nRepository's own policy: %s\n%s", session.RepositoryPolicyFile, visible(indented(own.Notes())))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asTOML, "toml", false, "print it as a policy file, in its canonical form")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("toml", "json")
	return c
}

// policyHere is the policy that is named; without a name the one that a session
// here would have, and what the repository's own has to do with it.
func policyHere(cmd *cobra.Command, h *session.Host, name string) (*policy.Policy, *session.RepositoryPolicy, error) {
	if _, err := session.RepositoryAround(cmd.Context(), ".", h.Home); name != "" || err != nil {
		p, err := policy.Load(name, h.Config)
		return p, nil, err
	}
	p, own, err := h.RepositoryPolicyOf(cmd.Context(), ".", "")
	if err != nil {
		return nil, nil, err
	}
	if own != nil {
		p = own.Merged
	}
	return p, own, nil
}

func indented(lines []string) string {
	if len(lines) == 0 {
		return "  it asks for nothing else than yours\n"
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

func policyCheck() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [POLICY]",
		Short: "Check a policy; errors come with line and column",
		Long: "Checks a policy; errors come with line and column. Without POLICY it checks the one that a session\n" +
			"here would have, and the repository's own .fumehood/policy.toml.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			p, own, err := policyHere(cmd, h, first(args))
			if asJSON { // the faults are data too; the status is the same
				if failed := printJSON(cmd.OutOrStdout(), checked(p, own, err)); err == nil {
					err = failed
				}
			}
			if err != nil || asJSON {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ok  %s\n", visible(p.Name))
			if own != nil {
				fmt.Fprintf(cmd.OutOrStdout(), "ok  %s\n%s", session.RepositoryPolicyFile, visible(indented(own.Notes())))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, faults too")
	return c
}

func policyInit() *cobra.Command {
	var (
		toStdout bool
		from     string
	)
	c := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a commented policy with every key to the configuration folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			text := policy.Template()
			if cmd.Flags().Changed("from") {
				p, err := policy.Load(from, h.Config)
				if err != nil {
					return err
				}
				text = policy.TemplateOf(p)
			}
			if toStdout {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			if h.Config == "" {
				return errors.New("no configuration folder: set HOME or XDG_CONFIG_HOME, or print it with --stdout")
			}
			path := filepath.Join(h.Config, "fumehood", "policy.toml")
			if len(args) > 0 {
				if strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" || strings.HasPrefix(args[0], ".") {
					return fmt.Errorf("the policy name %q: letters, digits, . _ - are allowed, and no . first", args[0])
				}
				if slices.Contains(policy.BuiltinNames(), args[0]) { // it would be refused, and the built-in one with it
					return &exitError{
						code: exitRefused, err: fmt.Errorf("%q is the name of a built-in policy", args[0]),
						hint: fmt.Sprintf("fumehood policy init my-%s --from %s", args[0], args[0]),
					}
				}
				path = filepath.Join(h.Config, "fumehood", "policies", args[0]+".toml")
			}
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s exists; it was left as it is", path)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := atomicfile.Write(path, text, 0o600); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			if len(args) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "every session without --policy uses it from now on")
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", policy.DefaultName, "the policy whose values and entries it begins with")
	c.Flags().BoolVar(&toStdout, "stdout", false, "print it instead")
	return c
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
