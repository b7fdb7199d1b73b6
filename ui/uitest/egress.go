package uitest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fumehood/session"
)

// Egress gives what was set.
func (b *Backend) Egress(ctx context.Context, id string) (session.Traffic, error) {
	err := b.enter(ctx, "Egress", id, false)
	defer b.mu.Unlock()
	t := b.Traffic[id]
	t.Groups = slices.Clone(t.Groups)
	return t, err
}

// DraftEntry gives what was set for the attempt's destination.
func (b *Backend) DraftEntry(ctx context.Context, id string, a session.Attempt) (session.Draft, error) {
	err := b.enter(ctx, "DraftEntry", fmt.Sprintf("%s %s %s %s", id, a.Method, session.Destination(a), a.Path), true)
	defer b.mu.Unlock()
	return b.Drafts[session.Destination(a)], err
}

// AllowEntry records the call.
func (b *Backend) AllowEntry(ctx context.Context, id, text string, mine bool) (string, error) {
	err := b.simple(ctx, "AllowEntry", fmt.Sprintf("%s mine=%v %q", id, mine, text))
	return "added to this session", err
}

// ClipText records the call and gives what was set.
func (b *Backend) ClipText(ctx context.Context, id string, n int) (string, error) {
	err := b.enter(ctx, "ClipText", fmt.Sprintf("%s %d", id, n), true)
	defer b.mu.Unlock()
	return b.Clip, err
}

// SampleTraffic is what an agent tried to reach, seen at the moment now.
func SampleTraffic(now time.Time) session.Traffic {
	at := func(d time.Duration) time.Time { return now.Add(-d) }
	const api = "api.example.test"
	list := []session.Attempt{
		{Time: at(36 * time.Second), Allowed: true, Method: "POST", Host: api, Port: 443, Path: "/v1/messages", Account: "anthropic-key", Rule: "agent-claude 1", Status: 200, Up: 18234, Down: 4021, MS: 812, Address: "203.0.113.7"},
		{Time: at(34 * time.Second), Method: "CONNECT", Host: "files.example.test", Port: 443, Reason: "no entry", Status: 403, Times: 13},
		{Time: at(28 * time.Second), Method: "POST", Host: api, Port: 443, Path: "/v1/files", Rule: "agent-claude 1", Reason: "operation not allowed", Status: 403, MS: 1},
		{Time: at(20 * time.Second), Allowed: true, Method: "POST", Host: api, Port: 443, Path: "/v1/messages", Account: "anthropic-key", Rule: "agent-claude 1", Status: 200, Up: 2_100_000, Down: 64_000, MS: 4100, Cut: 1, Address: "203.0.113.7"},
		{Time: at(11 * time.Second), Method: "CONNECT", Host: "files.example.test", Port: 443, Reason: "no entry", Status: 403},
		{Time: at(7 * time.Second), Method: "LOOKUP", Host: "example.test", Reason: "names are not resolved inside", Detail: "the program does not use the proxy settings"},
		{Time: at(5 * time.Second), Method: "GET", Host: "xn--pypal-4ve.test", Port: 80, Path: "/\x1b[2J/a%20b/" + "\u202e" + "gnp.exe", Reason: "no entry", Status: 403},
	}
	return session.Traffic{
		Attempts: list, Allowed: 2, Refused: 17, Policy: "agent-claude", Live: true,
		Entries: []string{api + ":443: POST /v1/messages as anthropic-key"},
		Groups: []session.Refusal{
			{Times: 14, Paths: 1, Last: list[4]},
			{Times: 1, Paths: 1, Last: list[2]},
			{Times: 1, Paths: 1, Last: list[5]},
			{Times: 1, Paths: 1, Last: list[6]},
		},
	}
}

// SampleDrafts are the entries for them.
func SampleDrafts() map[string]session.Draft {
	mine := "/home/ada/.config/fumehood/policies/my-agent-claude.toml"
	return map[string]session.Draft{
		"files.example.test:443": {
			Entry: "[[network.allow]]\ndestination = \"files.example.test:443\"\noperations = [\"GET /**\", \"HEAD /**\"]\n", Live: true, Mine: mine, New: true,
			Opens: "Only the destination is known: this opens GET and HEAD for every path there, with any query.",
		},
		"api.example.test:443": {
			Entry: "[[network.allow]]\ndestination = \"api.example.test:443\"\noperations = [\"POST /v1/files\"]\naccount = \"anthropic-key\"\n", Live: true, Mine: mine,
			Opens: "This opens beyond that request: any query.", Notes: []string{"It is done as anthropic-key, as other entries there are: your credential goes with it."},
		},
		"example.test": {Opens: "No entry changes that: the proxy resolves names.", Live: true},
	}
}
