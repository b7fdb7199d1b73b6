package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fumehood/session"
	"fumehood/session/store"
)

// printEgress prints every attempt of a session to reach the network.
func printEgress(w io.Writer, d store.Dir, asJSON bool) error {
	var failed error
	at, err := d.EgressFrom(store.EgressAt{}, func(a session.Attempt) {
		if failed != nil {
			return
		}
		if !asJSON {
			_, failed = fmt.Fprintln(w, attemptText(a))
			return
		}
		line, err := json.Marshal(a)
		if err == nil {
			_, err = w.Write(append(escapeRest(line), '\n'))
		}
		failed = err
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return fmt.Errorf("read the egress record: %w", err)
	case at.Damaged > 0:
		return fmt.Errorf("the egress record is damaged: line %d does not follow from the one before", at.Damaged)
	}
	return nil
}

// attemptText is one attempt on one line. What came from inside is made visible.
func attemptText(a session.Attempt) string {
	mark, what := "refused", a.Reason
	if a.Allowed {
		mark, what = "allowed", fmt.Sprintf("%s, status %d", a.Rule, a.Status)
	}
	if a.Detail != "" {
		what += ": " + a.Detail
	}
	if a.Account != "" {
		what += ", as " + a.Account
	}
	if a.Times > 1 {
		what += fmt.Sprintf(", %d times", a.Times)
	}
	return oneLine(fmt.Sprintf("%s  %s  %-7s %s%s  %s  up %d, down %d bytes",
		a.Time.UTC().Format(time.RFC3339), mark, a.Method, session.Destination(a), a.Path, what, a.Up, a.Down))
}

// oneLine is visible text without line ends.
func oneLine(s string) string { return strings.ReplaceAll(visible(s), "\n", " ") }

// egressText is a session's requests, and how many were refused, in a few cells.
func egressText(s session.Summary) string {
	switch {
	case s.Requests < 0:
		return "?"
	case s.Refusals > 0:
		return fmt.Sprintf("%d ✗%d", s.Requests+s.Refusals, s.Refusals)
	}
	return fmt.Sprint(s.Requests)
}

// watchEgress gives what says, after a command that did not end well, what of it
// was refused on the way out: its failure may be that and look like its own.
func watchEgress(cmd *cobra.Command, d store.Dir) (after func(code int)) {
	from, err := session.EgressEnd(d)
	return func(code int) {
		if code == 0 {
			return
		}
		var n session.Egress
		var list []session.Refused
		if err == nil {
			n, list, err = session.RefusedSince(d, from)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "fumehood: whether something was refused on the way out can't be told: %v\n", err)
			return
		}
		if n.Refused > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), refusedText(n.Refused, list, d.ID()))
		}
	}
}

// maxNamed bounds how many refusals one line names.
const maxNamed = 3

// refusedText is that line.
func refusedText(n int, list []session.Refused, id string) string {
	were := "requests were"
	if n == 1 {
		were = "request was"
	}
	var names []string
	for _, r := range list[:min(len(list), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", clipped(oneLine(r.Destination), 80), oneLine(r.Reason)))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("fumehood: %d %s refused: %s; see \"fumehood log --egress %s\"", n, were, strings.Join(names, ", "), id)
}

// clipped is text of at most n characters.
func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
