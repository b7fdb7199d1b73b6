package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/egress/rule"
	"fumehood/isolate/policy"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// Draft is an entry that would let a refused attempt through, for a person to
// read before any of it is done.
type Draft struct {
	Entry string   // as a policy file writes it; "" when no entry can allow it
	Opens string   // what it opens beyond the attempt, or why there is no entry
	Notes []string // what else a person should know
	Live  bool     // the session can have it now
	Mine  string   // the policy file that it can be added to; "" when there is none
	New   bool     // which does not exist yet, and begins as a copy of the session's own
}

// DraftEntry drafts the narrowest entry for a refused attempt.
func (h *Host) DraftEntry(d store.Dir, a Attempt) (Draft, error) {
	rec, err := d.LoadRecord()
	if err != nil {
		return Draft{}, err
	}
	pol, err := frozen(d, rec)
	if err != nil {
		return Draft{}, err
	}
	out := Draft{Live: d.Live()}
	method := a.Method
	if method == "LOOKUP" {
		out.Opens = "It is a program that looks names up itself instead of using the proxy settings. No entry changes that: the proxy resolves names, and only those of destinations that an entry names."
		return out, nil
	}
	r, opens := rule.Draft(a.Host, uint16(max(0, min(a.Port, 65535))), method, a.Path)
	out.Opens = opens
	if r.Destination == "" {
		return out, nil
	}
	entry := policy.Allow{Destination: r.Destination, Operations: r.Operations, Query: r.Query, Account: r.Account, Addresses: r.Addresses}
	if name := accountFor(pol, a); name != "" {
		entry.Account = name
		out.Notes = append(out.Notes, "It is done as "+name+", as other entries there are: your credential goes with it.")
	}
	if _, err := WithEntry(pol, entry); err != nil {
		out.Opens = "No entry can allow it: " + err.Error()
		return out, nil //nolint:nilerr // the question shows why there is none
	}
	out.Entry = policy.EncodeEntry(entry)
	if pol.Boundary.Proven == policy.ProvenRequired {
		out.Notes = append(out.Notes, "The policy starts only what is proven: before this session resumes, its wall tests must be run again.")
	}
	out.Mine, out.New = h.ownPolicy(rec.PolicyName)
	if out.Mine == "" {
		out.Notes = append(out.Notes, fmt.Sprintf("Its policy %q is no file of your configuration folder, and stays as it is.", rec.PolicyName))
	}
	return out, nil
}

// accountFor is the account as which the policy's entries for an attempt's
// destination are done, when that is one: an agent's request without its
// credential would be let through and refused there.
func accountFor(p *policy.Policy, a Attempt) string {
	if a.Method == "CONNECT" || a.Reason == string(rule.Foreign) {
		return ""
	}
	name := ""
	for _, e := range p.Network.Allow {
		if e.Destination != Destination(a) || e.Account == "" || e.Account == "none" || e.Account == name {
			continue
		}
		if name != "" {
			return ""
		}
		name = e.Account
	}
	return name
}

// ownPolicy is the file of the user's own that a session's policy is, or would
// become: a built-in one is never changed, and gets a copy under a new name.
func (h *Host) ownPolicy(name string) (path string, isNew bool) {
	if h.Config == "" {
		return "", false
	}
	own := filepath.Join(h.Config, "fumehood")
	if rel, err := filepath.Rel(own, name); filepath.IsAbs(name) && err == nil && filepath.IsLocal(rel) {
		return name, false
	}
	if _, ok := policy.Builtin(name); !ok {
		return "", false
	}
	path = filepath.Join(own, "policies", "my-"+name+".toml")
	_, err := os.Lstat(path)
	return path, errors.Is(err, fs.ErrNotExist)
}

// AllowEntry adds an entry to a live session, and with mine to the user's own
// policy too. It is asked by a person only: nothing inside can reach the socket
// or the configuration folder.
func (h *Host) AllowEntry(ctx context.Context, d store.Dir, text string, mine bool) (string, error) {
	rec, err := d.LoadRecord()
	if err != nil {
		return "", err
	}
	entry, err := ParseEntry(text)
	if err != nil {
		return "", err
	}
	done := ""
	if mine {
		if done, err = h.addToOwn(rec.PolicyName, entry); err != nil {
			return "", err
		}
	}
	_, err = ask(ctx, d, wire.Request{Op: wire.OpAllow, Text: text, By: h.User, From: h.TTY})
	switch {
	case mine && errors.Is(err, ErrNotLive):
		return done + "; the session is not running and stays as it was", nil
	case mine && err != nil:
		return "", fmt.Errorf("%s, but not to the session: %w", done, err)
	case mine:
		return done + ", and to this session", nil
	}
	return "added to this session", err
}

// addToOwn adds an entry to the user's own policy file, the rest of which stays
// byte for byte. What it becomes is checked before it is written.
func (h *Host) addToOwn(name string, entry policy.Allow) (done string, err error) {
	path, isNew := h.ownPolicy(name)
	if path == "" {
		return "", fmt.Errorf("the policy %q is no file of your configuration folder", name)
	}
	var src []byte
	mode := fs.FileMode(0o600)
	if isNew {
		p, ok := policy.Builtin(name)
		if !ok {
			return "", fmt.Errorf("no built-in policy %q", name)
		}
		_, src, err = policy.Find(p.Name, "")
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
	} else {
		// A link leads to the file that is meant, and stays a link.
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
		fi, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		mode = fi.Mode().Perm()
		if src, err = readPrivate(path); err != nil {
			return "", err
		}
	}
	out, err := policy.AppendEntry(src, entry)
	if err == nil {
		_, err = policy.CheckFile(path, out)
	}
	if err != nil {
		return "", fmt.Errorf("with the entry your policy would not be accepted, and was left as it is: %w", err)
	}
	if err := atomicfile.Write(path, out, mode); err != nil {
		return "", err
	}
	if isNew {
		return fmt.Sprintf("added to your new policy %q", strings.TrimSuffix(filepath.Base(path), ".toml")), nil
	}
	return "added to your policy " + path, nil
}

// Egress gives what a session tried to reach.
func (c *Client) Egress(_ context.Context, id string) (Traffic, error) {
	return c.Host.Egress(c.Root.Dir(id))
}

// DraftEntry drafts the narrowest entry for a refused attempt of a session.
func (c *Client) DraftEntry(_ context.Context, id string, a Attempt) (Draft, error) {
	return c.Host.DraftEntry(c.Root.Dir(id), a)
}

// AllowEntry adds an entry to a session, and with mine to the user's own policy.
func (c *Client) AllowEntry(ctx context.Context, id, text string, mine bool) (string, error) {
	return c.Host.AllowEntry(ctx, c.Root.Dir(id), text, mine)
}
