package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"fumehood/isolate/layer"
	"fumehood/isolate/policy"
	"fumehood/session/wire"
	"fumehood/session/workspace"
)

// Exit statuses that are fumehood's own; a command's own status passes through.
const (
	exitOK       = 0
	exitConflict = 1
	exitLimit    = 124
	exitRefused  = 125
)

// exitError ends the program with a status; its error may be nil when all was
// said already.
type exitError struct {
	code int
	err  error
	hint string
}

// Hint is what to do about it.
func (e *exitError) Hint() string { return e.hint }

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitCode is the one table from errors to statuses.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	}
	return exitRefused
}

// endCode is the status of a command that ran.
func endCode(e *wire.End) int {
	switch {
	case e.Limit != nil:
		return exitLimit
	case e.State == wire.StateFailed, e.State == wire.StateStopped && !e.Began:
		return exitRefused
	case e.Signal != 0:
		return 128 + e.Signal
	case e.State == wire.StateStopped:
		return 128 + 15
	}
	return e.Code
}

// printError writes an error the way all of them look: what happened, and
// apart from it what to do.
func printError(w io.Writer, err error) {
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return
	}
	fmt.Fprintf(w, "fumehood: %s\n", visible(err.Error()))
	for _, h := range hintsOf(err) {
		fmt.Fprintf(w, "fumehood: hint: %s\n", visible(h))
	}
}

// hintsOf gathers the advice that an error, or each of several, carries. Of the
// faults of one file each says which line it is for.
func hintsOf(err error) []string {
	var out []string
	lines := map[string][]int{} // by hint, of a file with several faults
	add := func(h string) {
		if h != "" && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // each level is looked at on the way down
		case *layer.Error:
			add(e.Hint)
		case *policy.Error:
			add(e.Hint)
		case policy.Errors:
			for _, one := range e {
				if add(one.Hint); one.Line > 0 && !slices.Contains(lines[one.Hint], one.Line) {
					lines[one.Hint] = append(lines[one.Hint], one.Line)
				}
			}
			return
		case *workspace.RefusedError:
			add(e.Hint)
		case interface{ Hint() string }:
			add(e.Hint())
		}
		switch u := err.(type) { //nolint:errorlint // as above
		case interface{ Unwrap() error }:
			if next := u.Unwrap(); next != nil {
				walk(next)
			}
		case interface{ Unwrap() []error }:
			for _, next := range u.Unwrap() {
				walk(next)
			}
		}
	}
	walk(err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		add(`no room is left; "fumehood prune" frees what ended sessions hold, "fumehood rm --force ID" one with its changes`)
	}
	for i, h := range out {
		out[i] = lineText(lines[h]) + h
	}
	return out
}

// lineText names the lines that a hint is for.
func lineText(lines []int) string {
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("line %d: ", lines[0])
	}
	return fmt.Sprintf("lines %s: ", strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]"))
}
