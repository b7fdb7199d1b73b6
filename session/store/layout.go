// Package store owns the folder of a session on the host: where each thing
// lies, its versioned record, its event log and its stored output. It holds no
// policy and starts nothing. Every file is 0600 in folders that are 0700; no
// path in it is ever visible inside a sandbox except workspace and home.
package store

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is one session's folder.
type Dir string

// Places inside a session's folder.
func (d Dir) Record() string    { return filepath.Join(string(d), "session.json") }
func (d Dir) Start() string     { return filepath.Join(string(d), "start.json") }
func (d Dir) Policy() string    { return filepath.Join(string(d), "policy.toml") }
func (d Dir) LeftOut() string   { return filepath.Join(string(d), "left_out.json") }
func (d Dir) Store() string     { return filepath.Join(string(d), "store") }
func (d Dir) Workspace() string { return filepath.Join(string(d), "workspace") }
func (d Dir) Home() string      { return filepath.Join(string(d), "home") }

// Caches is where the layers of caches lie, and Cache one of them.
func (d Dir) Caches() string { return filepath.Join(string(d), "cache") }

// Cache is the layer of one.
func (d Dir) Cache(name string) string { return filepath.Join(d.Caches(), name) }

func (d Dir) Canary() string    { return filepath.Join(string(d), "canary") }
func (d Dir) Events() string    { return filepath.Join(string(d), "events.jsonl") }
func (d Dir) Output() string    { return filepath.Join(string(d), "output") }
func (d Dir) Result() string    { return filepath.Join(string(d), "result.json") }
func (d Dir) Decisions() string { return filepath.Join(string(d), "decisions.json") }
func (d Dir) Message() string   { return filepath.Join(string(d), "message.json") } // kept for the agent
func (d Dir) Journal() string   { return filepath.Join(string(d), "journal") }
func (d Dir) Log() string       { return filepath.Join(string(d), "supervisor.log") }
func (d Dir) Frame() string     { return filepath.Join(string(d), "last_frame.json") }
func (d Dir) Tenant() string    { return filepath.Join(string(d), "tenant") }
func (d Dir) ID() string        { return filepath.Base(string(d)) }

// Root is the folder that holds all sessions of an account.
type Root string

// RootFrom finds the state folder: $XDG_STATE_HOME/fumehood/sessions, else
// below the account's home. It does not make it.
func RootFrom(getenv func(string) string, home string) (Root, error) {
	base := getenv("XDG_STATE_HOME")
	if base != "" && !filepath.IsAbs(base) {
		return "", fmt.Errorf("XDG_STATE_HOME %q is not an absolute path", base)
	}
	if base == "" {
		if home == "" {
			return "", errors.New("no state folder: neither XDG_STATE_HOME nor a home directory is set; set XDG_STATE_HOME to a folder of yours")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return Root(filepath.Join(base, "fumehood", "sessions")), nil
}

// Create makes a new session's folder with a fresh ID. A folder without a
// record is never listed as a session, so a copy that was cut short is not
// mistaken for one.
func (r Root) Create() (Dir, error) {
	if err := os.MkdirAll(string(r), 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	for range 16 {
		d := Dir(filepath.Join(string(r), newID()))
		err := os.Mkdir(string(d), 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make session folder: %w", err)
		}
		for _, sub := range []string{d.Store(), d.Output(), d.Journal(), d.Canary()} {
			if err := os.Mkdir(sub, 0o700); err != nil {
				return "", fmt.Errorf("make session folder: %w", err)
			}
		}
		return d, nil
	}
	return "", errors.New("no free session ID after 16 tries")
}

// newID gives eight characters of lower-case base32: 40 random bits.
func newID() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// List gives every session folder that has a record, oldest first.
func (r Root) List() ([]Dir, error) {
	entries, err := os.ReadDir(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	type aged struct {
		d Dir
		t int64
	}
	var all []aged
	for _, e := range entries {
		d := Dir(filepath.Join(string(r), e.Name()))
		if fi, err := os.Lstat(d.Start()); err == nil {
			all = append(all, aged{d, fi.ModTime().UnixNano()})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].t < all[j].t })
	out := make([]Dir, len(all))
	for i, a := range all {
		out[i] = a.d
	}
	return out, nil
}

// Lock takes the session's lock for a decision, snapshot, apply or removal,
// and waits for another holder. The lock ends with unlock or the process.
func (d Dir) Lock() (unlock func(), err error) {
	return flock(filepath.Join(string(d), "lock"), unix.LOCK_EX)
}

// HoldLive marks the session as live for as long as this process exists. It
// fails when another supervisor holds it.
func (d Dir) HoldLive() (release func(), err error) {
	return flock(filepath.Join(string(d), "live"), unix.LOCK_EX|unix.LOCK_NB)
}

// Live tells whether a supervisor holds the session. The kernel drops the
// lock with the process, so a killed supervisor never looks alive.
func (d Dir) Live() bool {
	return locked(filepath.Join(string(d), "live"))
}

// Dir gives the folder of a session ID.
func (r Root) Dir(id string) Dir { return Dir(filepath.Join(string(r), id)) }

// Unfinished gives the folders that a cut-short start left behind: without a
// start file, and with nobody at work on them.
func (r Root) Unfinished() ([]Dir, error) {
	entries, err := os.ReadDir(string(r))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []Dir
	for _, e := range entries {
		d := Dir(filepath.Join(string(r), e.Name()))
		if _, err := os.Lstat(d.Start()); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		unlock, err := flock(filepath.Join(string(d), "lock"), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue // someone fills it just now
		}
		unlock()
		out = append(out, d)
	}
	return out, nil
}
