package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fumehood/isolate/egress/standin"
)

// network is what a script's programs reach, and what arrived there so far.
type network struct {
	server *standin.Server
	lines  []string
}

var networkOf perScript[map[string]*network, *network]

// standin: play the network for this script, behind a company's proxy with a
// name and a password, and a CA that only this machine trusts. Files are served
// from packages/ and git/.
func cmdStandin(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "standin")
	s, err := standin.Start(ts.MkAbs("."))
	ts.Check(err)
	ts.Defer(func() {
		if err := s.Close(); err != nil {
			ts.Fatalf("close the stand-in: %v", err)
		}
	})
	networkOf.of(ts)["one"] = &network{server: s}
	ca := ts.MkAbs("company.pem")
	ts.Check(os.WriteFile(ca, s.CA(), 0o600))
	ts.Setenv("SSL_CERT_FILE", ca)
	ts.Setenv("HTTPS_PROXY", s.Proxy())
	ts.Setenv("HTTP_PROXY", s.Proxy())
	ts.Setenv("UPSTREAM_PASSWORD", standin.Password)
}

// arrived N REGEXP: of all that came so far, N lines fit. What a program has
// had an answer to is written down already; the end of a long answer may take
// a moment.
func cmdArrived(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "arrived N REGEXP")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	n := networkOf.of(ts)["one"]
	if n == nil {
		ts.Fatalf("no network is played: standin comes first")
	}
	fits := regexp.MustCompile(args[1])
	for end := time.Now().Add(patience); ; {
		n.lines = append(n.lines, n.server.Arrived()...)
		got := 0
		for _, l := range n.lines {
			if fits.MatchString(l) {
				got++
			}
		}
		if got == want {
			return
		}
		if got > want || time.Now().After(end) {
			ts.Fatalf("got %d that fit %q, want %d, in:\n%s", got, args[1], want, strings.Join(n.lines, "\n"))
		}
		<-time.After(10 * time.Millisecond)
	}
}
