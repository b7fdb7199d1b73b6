package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// usageKey is the annotation with the usage line of a command's help, where the
// help's own order would be wrong: fang draws all that stands in brackets, and
// the flags, behind everything else, also behind "-- CMD...".
const usageKey = "usage"

func usage(line string) map[string]string { return map[string]string{usageKey: line} }

// What stands for brackets until fang has drawn the line, each one cell wide.
var (
	hideBrackets = strings.NewReplacer("[", "\u27e6", "]", "\u27e7")
	showBrackets = strings.NewReplacer("\u27e6", "[", "\u27e7", "]")
)

// fangFlags is what fang ends the line with.
const fangFlags = " [--flags]"

// usageInOrder gives the commands below c a help with their own usage line.
func usageInOrder(c *cobra.Command) {
	for _, sub := range c.Commands() {
		usageInOrder(sub)
		line, ok := sub.Annotations[usageKey]
		if !ok {
			continue
		}
		sub.SetHelpFunc(func(sub *cobra.Command, args []string) {
			sub.Use = hideBrackets.Replace(line)
			out := sub.OutOrStdout()
			if f, ok := out.(*os.File); ok {
				sub.SetOut(usageFile{f, usageWriter{out}}) // still a terminal, where it is one
			} else {
				sub.SetOut(usageWriter{out})
			}
			c.HelpFunc()(sub, args)
		})
	}
}

// usageWriter puts the brackets back, and blanks over the flags at the end.
type usageWriter struct{ w io.Writer }

func (u usageWriter) Write(p []byte) (int, error) {
	if text := string(p); strings.Contains(text, "\u27e6") {
		text = strings.Replace(text, fangFlags, strings.Repeat(" ", len(fangFlags)), 1)
		p = []byte(showBrackets.Replace(text))
	}
	return u.w.Write(p)
}

// usageFile is a usageWriter that fang sees to be a terminal. The file is not
// embedded: its other ways to write would go past the usageWriter.
type usageFile struct {
	file *os.File
	usageWriter
}

func (f usageFile) Fd() uintptr                { return f.file.Fd() }
func (f usageFile) Read(p []byte) (int, error) { return f.file.Read(p) }
func (f usageFile) Close() error               { return f.file.Close() }
