package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fumehood/session"
)

func TestARefusedRunIsToldInOneBoundedLine(t *testing.T) {
	evil := "x\x1b]52;c;eA==\x07\n" + strings.Repeat("a", 300) + ".test:443"
	list := []session.Refused{
		{Destination: "files.example.test:443", Reason: "no entry", Times: 14},
		{Destination: evil, Reason: "bad destination", Times: 2},
		{Destination: "b.test:443", Reason: "no entry", Times: 1},
		{Destination: "c.test:443", Reason: "no entry", Times: 1},
	}
	got := refusedText(18, list, "lbyzyddp")
	want := `fumehood: 18 requests were refused: files.example.test:443 (no entry), `
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `, b.test:443 (no entry), and 1 more; see "fumehood log --egress lbyzyddp"`) {
		t.Errorf("got %q, want it to begin with %q and to name the record", got, want)
	}
	if strings.ContainsAny(got, "\x1b\x07\n") || len(got) > 500 {
		t.Errorf("got %d bytes %q, want one bounded line without control characters", len(got), got)
	}
	if got := refusedText(1, list[:1], "x"); !strings.Contains(got, "1 request was refused") {
		t.Errorf("got %q, want one request", got)
	}
}

func TestAnAttemptIsOneLineThatActsOnNoTerminal(t *testing.T) {
	a := session.Attempt{Method: "GET\x1b[2J", Host: "h\u202e.test\n", Port: 443, Path: "/\x07", Reason: "no entry", Detail: "\x9b", Times: 3}
	got := attemptText(a)
	if strings.ContainsAny(got, "\x1b\n\x07\u202e\u009b") || !utf8.ValidString(got) || !strings.Contains(got, "3 times") || !strings.Contains(got, "refused") {
		t.Errorf("got %q, want one plain line that says refused, 3 times", got)
	}
}
