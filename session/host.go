package session

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fumehood/session/store"
)

// Host is the account that sessions belong to: where its state and policies
// lie and who decides. Make one with NewHost.
type Host struct {
	Root   store.Root
	Config string // the user's configuration folder; may not exist
	Home   string // "" when the account has none
	User   string
	UID    int
	GID    int
	TTY    string // terminal of the caller, "" without one
	Env    []string

	proofs  proofCache
	traffic trafficCache
	conns   kept
}

// NewHost reads the account's folders. A missing HOME is looked up in the
// account database; without either, XDG_STATE_HOME must be set.
func NewHost(tty string) (*Host, error) {
	h := &Host{UID: os.Geteuid(), GID: os.Getegid(), Home: os.Getenv("HOME"), TTY: tty, Env: os.Environ()}
	h.User = strconv.Itoa(h.UID)
	if u, err := user.LookupId(strconv.Itoa(h.UID)); err == nil {
		h.User = u.Username
		if h.Home == "" {
			h.Home = u.HomeDir
		}
	}
	if h.Home != "" && !filepath.IsAbs(h.Home) {
		return nil, fmt.Errorf("HOME is %q, which is not an absolute path", h.Home)
	}
	root, err := store.RootFrom(os.Getenv, h.Home)
	if err != nil {
		return nil, err
	}
	h.Root = root
	h.Config = os.Getenv("XDG_CONFIG_HOME")
	if h.Config == "" && h.Home != "" {
		h.Config = filepath.Join(h.Home, ".config")
	}
	return h, nil
}

// insideIDs gives the host ids and the name that a session's processes run
// as: the account's own, or for root an unprivileged id out of the range that
// no account or package uses (61184 to 65519, systemd's for dynamic users).
func (h *Host) insideIDs(id string) (uid, gid int, name string) {
	if h.UID != 0 {
		return h.UID, h.GID, plainName(h.User)
	}
	f := fnv.New32a()
	_, _ = f.Write([]byte(id)) // never fails
	n := 61184 + int(f.Sum32()%4336)
	return n, n, "agent"
}

// plainName is an account's name as every tool inside takes it, or "user":
// names of a directory service can have dots and backslashes in them, and an
// account without an entry has only a number.
func plainName(s string) string {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r == '_'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return "user"
		}
	}
	if s == "" || len(s) > 32 || s == "root" || s == "nobody" {
		return "user"
	}
	return s
}

// ErrNoSession says that no session fits.
var ErrNoSession = errors.New("no session")

// AmbiguousError lists the sessions that an ID could mean.
type AmbiguousError struct {
	ID         string
	Candidates []Summary
}

func (e *AmbiguousError) Error() string {
	var names []string
	for _, c := range e.Candidates {
		names = append(names, fmt.Sprintf("%s (%s) %s", c.ID, c.Name, c.State))
	}
	list := "\n  " + strings.Join(names[:min(len(names), 8)], "\n  ") + andMore(len(names)-8)
	if e.ID == "" {
		return fmt.Sprintf("this repository has %d sessions; name one:%s", len(names), list)
	}
	return fmt.Sprintf("%q fits %d sessions:%s", e.ID, len(names), list)
}

// Find gives the folder of the session that id means: its name, its ID or a
// unique beginning of it; "" is the only session of repo. An exact name or ID
// wins over a beginning.
func (h *Host) Find(id, repo string) (store.Dir, error) {
	dirs, err := h.Root.List()
	if err != nil {
		return "", err
	}
	var exact, prefix []store.Dir
	recs := map[store.Dir]*store.Record{}
	for _, d := range dirs {
		rec, err := d.LoadRecord()
		if err != nil {
			rec = &store.Record{ID: d.ID()}
		}
		recs[d] = rec
		if rec.TryOf != "" && d.ID() != id {
			continue // a try is named in full or not at all
		}
		switch {
		case id == "":
			if rec.Repo == repo && repo != "" {
				prefix = append(prefix, d)
			}
		case d.ID() == id || rec.Name == id && (repo == "" || rec.Repo == repo):
			exact = append(exact, d)
		case strings.HasPrefix(d.ID(), id):
			prefix = append(prefix, d)
		case rec.Name == id:
			prefix = append(prefix, d)
		}
	}
	found := exact
	if len(found) == 0 {
		found = prefix
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if id == "" {
			return "", fmt.Errorf("%w of this repository; start one with \"fumehood run -- CMD\"", ErrNoSession)
		}
		return "", fmt.Errorf("%w has the name or ID %q; \"fumehood ls --all\" lists them", ErrNoSession, id)
	}
	amb := &AmbiguousError{ID: id}
	for _, d := range found {
		amb.Candidates = append(amb.Candidates, h.summary(d, recs[d]))
	}
	// What is meant is most likely live, or new.
	slices.SortStableFunc(amb.Candidates, func(a, b Summary) int {
		if a.Live != b.Live {
			if a.Live {
				return -1
			}
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	return "", amb
}

// List gives the sessions of repo, or of every repository and tries too when repo
// is "", what waits for the person first.
func (h *Host) list(repo string) ([]Summary, error) {
	dirs, err := h.Root.List()
	if err != nil {
		return nil, err
	}
	out := []Summary{}
	for _, d := range dirs {
		rec, err := d.LoadRecord()
		if err != nil {
			rec = &store.Record{ID: d.ID(), State: StateFailed, Error: err.Error()}
		}
		if repo != "" && (rec.Repo != repo || rec.TryOf != "") {
			continue
		}
		out = append(out, h.summary(d, rec))
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := rank(out[i]), rank(out[j]); a != b {
			return a < b
		}
		return out[i].Created.After(out[j].Created)
	})
	return out, nil
}

func rank(s Summary) int {
	switch {
	case s.State == StateWaiting:
		return 0
	case s.Live:
		return 1
	case s.Undecided > 0:
		return 2
	}
	return 3
}

// summary is one session's row. A record that says "running" without a live
// supervisor means that the supervisor was killed: the workspace is still there.
func (h *Host) summary(d store.Dir, rec *store.Record) Summary {
	s := Summary{
		ID: rec.ID, Name: rec.Name, Repo: rec.Repo, Agent: rec.Agent, Policy: rec.PolicyName, Command: rec.Command,
		State: rec.State, ExitCode: rec.Code, Signal: SignalName(rec.Signal), Limit: rec.Limit, Error: rec.Error,
		Created: rec.Created, Started: rec.Started, Ended: rec.Ended, ChangedFiles: -1, Live: d.Live(), LastLine: rec.LastLine,
		TryOf: rec.TryOf,
	}
	if !s.Live && (s.State == StateRunning || s.State == StatePreparing || s.State == StateWaiting) {
		s.State = StateStopped
		s.Error = "the supervisor ended without a word: it was killed, or the machine went down; the workspace is kept"
	}
	s.Requests, s.Refusals = h.counts(d)
	if c, ok := loadCounts(d); ok {
		s.ChangedFiles, s.Added, s.Removed, s.Undecided = c.Files, c.Added, c.Removed, c.Undecided
	}
	return s
}
