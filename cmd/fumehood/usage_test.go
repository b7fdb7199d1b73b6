package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// The help draws what stands in brackets behind everything else, so that an
// argument in brackets before one without would be shown in the wrong order.
func TestUsageKeepsItsOrderInTheHelp(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		use := strings.ReplaceAll(c.Use, "[flags]", "")
		if at := strings.IndexByte(use, '['); at >= 0 && !strings.HasSuffix(use, "]") {
			t.Errorf("%q: got an argument behind %q, want what is optional last", c.Use, use[at:])
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(rootCommand())
}

// What follows -- is the command's own: no flag of ours comes behind it, and an ID
// before it.
func TestHelpHasTheFlagsBeforeTheCommand(t *testing.T) {
	for name, want := range map[string]string{
		"run":    "fumehood run [--flags] -- CMD...",
		"exec":   "fumehood exec [--flags] [ID] -- CMD...",
		"try":    "fumehood try [--flags] [ID] -- CMD...",
		"resume": "fumehood resume [--flags] [ID] [-- CMD...]",
		"import": "fumehood import [--flags] [ID] FILE.decisions",
		"rm":     "fumehood rm [ID...] [--flags]",
	} {
		root := rootCommand()
		usageInOrder(root)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs([]string{name, "--help"})
		if err := fang.Execute(context.Background(), root); err != nil {
			t.Fatal(err)
		}
		var got string
		for l := range strings.Lines(out.String()) {
			if l = strings.TrimSpace(l); strings.HasPrefix(l, "fumehood "+name) {
				got = l
				break
			}
		}
		if got != want {
			t.Errorf("%s --help: got %q, want %q", name, got, want)
		}
	}
}

func TestAFullDiskSaysWhatFreesRoom(t *testing.T) {
	full := fmt.Errorf("make the session's home: %w", &fs.PathError{Op: "write", Path: "/state/x", Err: syscall.ENOSPC})
	if got := strings.Join(hintsOf(full), "; "); !strings.Contains(got, "fumehood prune") {
		t.Errorf("got hints %q, want what frees room", got)
	}
	if got := hintsOf(&fs.PathError{Op: "write", Path: "/state/x", Err: syscall.EIO}); len(got) > 0 {
		t.Errorf("got hints %q of another error, want none", got)
	}
}
