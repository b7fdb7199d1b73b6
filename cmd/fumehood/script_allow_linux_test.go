package main

import (
	"context"
	"os"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"fumehood/session"
	"fumehood/session/store"
)

// allow NAME FILE session|mine REGEXP: add the egress entry in FILE to a session,
// or to the user's own policy too, as the egress screen does; what it says fits.
// With ! it is refused, and the refusal fits.
func cmdAllow(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: [!] allow NAME FILE session|mine REGEXP")
	}
	text, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	h := &session.Host{
		Root: store.Root(ts.Getenv("SESSIONS")), Config: ts.Getenv("XDG_CONFIG_HOME"),
		User: "ada", TTY: "/dev/pts/9",
	}
	d, err := h.Find(args[0], "")
	ts.Check(err)
	said, err := h.AllowEntry(context.Background(), d, string(text), args[2] == "mine")
	if neg != (err != nil) {
		ts.Fatalf("got %q and the error %v, want it %s", said, err, map[bool]string{true: "refused", false: "done"}[neg])
	}
	if err != nil {
		said = err.Error()
	}
	if !regexp.MustCompile(args[3]).MatchString(said) {
		ts.Fatalf("got %q, want what fits %q", said, args[3])
	}
}
