package main

import (
	"strings"
	"testing"

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
