package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"fumehood/session"
	"fumehood/session/store"
)

// version is set by the linker.
var version = "dev"

func execute(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	usageInOrder(root)
	var failed error
	keepError(root, &failed)
	if err := fang.Execute(context.Background(), root, fang.WithVersion(version)); err != nil && failed == nil {
		failed = err // cobra's own commands; fang has printed it
	} else if failed != nil {
		printError(os.Stderr, failed)
	}
	return exitCode(failed)
}

// keepError puts what c and the commands below it return into failed and hides
// it from fang. Fang asks the terminal for its colours before it hands an error
// to any handler: a run that ends with status 1 would then write to the
// terminal, swallow what was typed ahead, and wait for seconds where no answer
// comes.
func keepError(c *cobra.Command, failed *error) {
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		*failed = err
		return nil
	})
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) != nil {
				*failed = wordsError(cmd, args)
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if *failed == nil {
				*failed = run(cmd, args)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		keepError(sub, failed)
	}
}

// wordsError says which words a command can't do anything with, or that some
// are missing, and how it is called.
func wordsError(cmd *cobra.Command, args []string) error {
	line := cmd.Annotations[usageKey]
	if line == "" {
		line = cmd.Use
	}
	if cmd.HasParent() {
		line = cmd.Parent().CommandPath() + " " + line
	}
	what := fmt.Sprintf("%q can't be given %q", cmd.CommandPath(), strings.Join(args, " "))
	if len(args) == 0 {
		what = fmt.Sprintf("%q needs more words", cmd.CommandPath())
	} else if cmd.HasSubCommands() && !exists(args[0]) {
		return notACommand(cmd, args[0])
	}
	return &exitError{code: exitRefused, err: errors.New(what), hint: "usage: " + line}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// notACommand says so of a word in a command's place, with those that it is
// close to.
func notACommand(cmd *cobra.Command, word string) error {
	what := "is no command"
	if !cmd.HasParent() {
		what = "is neither a command nor a folder" // of which the root takes one
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := fmt.Sprintf("%q lists the commands", cmd.CommandPath()+" --help")
	var near []string
	for _, name := range cmd.SuggestionsFor(word) {
		near = append(near, fmt.Sprintf("%q", cmd.CommandPath()+" "+name))
	}
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return &exitError{code: exitRefused, err: fmt.Errorf("%q %s", word, what), hint: hint}
}

func rootCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fumehood [DIR]",
		Short: "Run coding agents behind walls, bring back only what you approved",
		Long: "fumehood copies a repository into a sandbox on this machine, runs an agent there in an attached\n" +
			"terminal, and shows a diff. Nothing returns to the repository until you approve it.\n\n" +
			"Without a command it opens the workbench on the repository around DIR (here).",
		Args:          cobra.MaximumNArgs(1),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
				if !exists(dir) {
					return notACommand(cmd, dir)
				}
			}
			return workbench(cmd, dir, "", "sessions")
		},
	}
	c.AddCommand(
		runCommand(), resumeCommand(), attachCommand(), execCommand(),
		lsCommand(), stopCommand(), rmCommand(), pruneCommand(), logCommand(),
		diffCommand(), reviewCommand(), commentCommand(), tryCommand(), applyCommand(), undoCommand(),
		exportCommand(), verifyCommand(), importCommand(),
		wallsCommand(), policyCommand(), doctorCommand(), demoCommand(),
	)
	return c
}

// host is the account that runs the command.
func host() (*session.Host, error) { return session.NewHost(ttyName(os.Stdin)) }

// openSession is the account and the session that args name.
func openSession(cmd *cobra.Command, args []string) (*session.Host, store.Dir, error) {
	h, err := host()
	if err != nil {
		return nil, "", err
	}
	d, err := sessionOf(cmd, h, args)
	return h, d, err
}

// openLive is openSession for what only a live session can do: left out, the ID
// is the repository's only live one.
func openLive(cmd *cobra.Command, args []string) (*session.Host, store.Dir, error) {
	h, d, err := openSession(cmd, args)
	var amb *session.AmbiguousError
	if len(args) > 0 || !errors.As(err, &amb) {
		return h, d, err
	}
	var live []session.Summary
	for _, c := range amb.Candidates {
		if c.Live {
			live = append(live, c)
		}
	}
	switch len(live) {
	case 0:
		return h, d, &exitError{
			code: exitRefused, err: fmt.Errorf("none of this repository's %d sessions is running", len(amb.Candidates)),
			hint: `"fumehood ls" lists them, "fumehood resume ID" starts one again`,
		}
	case 1:
		return h, h.Root.Dir(live[0].ID), nil
	}
	return h, d, err
}

// sessionOf finds the session that args name: the first one, or the only
// session of the repository around here.
func sessionOf(cmd *cobra.Command, h *session.Host, args []string) (store.Dir, error) {
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	repo, err := session.RepositoryAround(cmd.Context(), ".", h.Home)
	if err != nil && id == "" {
		return "", fmt.Errorf("no session named, and this folder is in no repository that has one: %w", err)
	}
	d, err := h.Find(id, repo)
	if errors.Is(err, session.ErrNoSession) && namesBundle(id) {
		return "", &exitError{code: exitRefused, err: err, hint: "a bundle's FILE is for \"fumehood review\", \"fumehood import\" and \"fumehood verify\""}
	}
	return d, err
}

// ttyName gives the path of the terminal behind f, or "".
func ttyName(f *os.File) string {
	if !isTerminal(f) {
		return ""
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || !strings.HasPrefix(name, "/dev/") {
		return ""
	}
	return filepath.Clean(name)
}
