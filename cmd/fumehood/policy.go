package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/policy"
)

func policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show, check or begin a policy",
		Args:  cobra.NoArgs,
		// Without this a misspelt subcommand would print help and succeed.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(policyShow(), policyCheck(), policyInit())
	return c
}

func policyShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show [POLICY]",
		Short: "Print a policy as plain text, wall by wall",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			p, _, err := policy.Find(first(args), h.Config)
			if err != nil {
				return err
			}
			if errs := policy.Check(p); len(errs) > 0 {
				return errors.Join(errs...)
			}
			fmt.Fprint(cmd.OutOrStdout(), visible(policy.Block(p, time.Now())))
			return nil
		},
	}
}

func policyCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [POLICY]",
		Short: "Check a policy; errors come with line and column",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := host()
			if err != nil {
				return err
			}
			p, src, err := policy.Find(first(args), h.Config)
			if err != nil {
				return err
			}
			if p, err = policy.CheckFile(p.Name, src); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ok  %s\n", visible(p.Name))
			return nil
		},
	}
}

func policyInit() *cobra.Command {
	var toStdout bool
	c := &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a commented policy with every key to the configuration folder",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if toStdout {
				_, err := cmd.OutOrStdout().Write(policy.Template())
				return err
			}
			h, err := host()
			if err != nil {
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
				path = filepath.Join(h.Config, "fumehood", "policies", args[0]+".toml")
			}
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s exists; it was left as it is", path)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := atomicfile.Write(path, policy.Template(), 0o600); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			if len(args) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "every session without --policy uses it from now on")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&toStdout, "stdout", false, "print it instead")
	return c
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
