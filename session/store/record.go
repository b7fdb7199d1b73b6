package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/session/agent"
	"fumehood/session/wire"
)

// RecordVersion is the version of session.json that this build writes.
const RecordVersion = 1

// Record is session.json: what a session is made of and how it stands. The
// live supervisor writes it; when none is live, the process that holds the lock.
type Record struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Name    string `json:"name"`

	Repo         string `json:"repo"` // work tree on the host, and the path inside
	RepoDev      uint64 `json:"repo_dev"`
	RepoIno      uint64 `json:"repo_ino"`
	GitDir       string `json:"git_dir,omitempty"`
	GitDev       uint64 `json:"git_dev,omitempty"`
	GitIno       uint64 `json:"git_ino,omitempty"`
	Branch       string `json:"branch,omitempty"`
	Head         string `json:"head,omitempty"`
	HooksPath    string `json:"hooks_path,omitempty"`    // core.hooksPath in the work tree
	ObjectFormat string `json:"object_format,omitempty"` // of the repository: "sha1", "sha256"
	Files        int    `json:"files"`
	Bytes        int64  `json:"bytes"`
	PolicyName   string `json:"policy"`
	PolicyHash   string `json:"policy_hash"`
	PolicyBase   string `json:"policy_base,omitempty"` // what it was before entries were added in the session
	Agent        string `json:"agent"`
	UID          int    `json:"uid"` // host ids that the processes run as
	GID          int    `json:"gid"`
	User         string `json:"user"`

	Command   []string    `json:"command"`
	TTY       bool        `json:"tty"`
	State     wire.State  `json:"state"`
	Code      *int        `json:"exit_code"`
	Signal    int         `json:"signal,omitempty"`
	Limit     *wire.Limit `json:"limit"`
	Error     string      `json:"error,omitempty"`
	Began     bool        `json:"began"` // the command itself was started
	Created   time.Time   `json:"created"`
	Started   time.Time   `json:"started"`
	Ended     time.Time   `json:"ended"`
	Runs      int         `json:"runs"`
	LastLine  string      `json:"last_line,omitempty"` // of the terminal, cleaned
	Notes     []string    `json:"notes,omitempty"`     // what a person should know of the copy
	Mark      string      `json:"mark,omitempty"`      // at the end of its placeholders, the same after a resume
	Untracked []string    `json:"untracked,omitempty"` // paths that went in and are in no commit and no index
	TryOf     string      `json:"try_of,omitempty"`    // the session whose approved changes this is a try of
}

// LoadRecord reads session.json. A record of another version or one that is
// damaged is an error that says so; nothing is guessed.
func (d Dir) LoadRecord() (*Record, error) {
	var r Record
	if err := readJSON(d.Record(), &r); err != nil {
		return nil, err
	}
	if r.Version != RecordVersion {
		return nil, fmt.Errorf("%s: record version %d, this build reads %d", d.Record(), r.Version, RecordVersion)
	}
	return &r, nil
}

// SaveRecord writes session.json atomically.
func (d Dir) SaveRecord(r *Record) error {
	r.Version = RecordVersion
	return writeJSON(d.Record(), r)
}

// Start is what the supervisor is told to run. It is rewritten by resume.
type Start struct {
	Version  int             `json:"version"`
	Command  []string        `json:"command"`
	Env      []string        `json:"env"`
	TTY      bool            `json:"tty"`
	Cols     uint16          `json:"cols"`
	Rows     uint16          `json:"rows"`
	Hold     bool            `json:"hold"`  // start the command when the first client has come
	Bound    bool            `json:"bound"` // the run ends when that client goes
	RunTime  time.Duration   `json:"run_time"`
	HostHome string          `json:"host_home"` // absent inside
	ReadOnly []isolate.Mount `json:"read_only"`
	Waits    *agent.Waits    `json:"waits,omitempty"` // how its agent tells that it waits
	Send     *agent.Send     `json:"send,omitempty"`  // how a message is handed to it
	Caches   []Cache         `json:"caches,omitempty"`
	Folder   string          `json:"folder,omitempty"` // that the command starts in, below the workspace's top
}

// Cache is a host folder that can be written inside, in the session's own layer.
type Cache struct {
	Name string `json:"name"` // of the layer's folder
	isolate.Mount
}

// LoadStart reads start.json.
func (d Dir) LoadStart() (*Start, error) {
	var s Start
	if err := readJSON(d.Start(), &s); err != nil {
		return nil, err
	}
	if s.Version != RecordVersion {
		return nil, fmt.Errorf("%s: version %d, this build reads %d", d.Start(), s.Version, RecordVersion)
	}
	return &s, nil
}

// SaveStart writes start.json atomically.
func (d Dir) SaveStart(s *Start) error {
	s.Version = RecordVersion
	return writeJSON(d.Start(), s)
}

// SaveFrame keeps the last picture of the session's terminal.
func (d Dir) SaveFrame(f *wire.Frame) error { return writeJSON(d.Frame(), f) }

// LoadFrame reads it; the error is fs.ErrNotExist when there is none.
func (d Dir) LoadFrame() (*wire.Frame, error) {
	var f wire.Frame
	if err := readJSON(d.Frame(), &f); err != nil {
		return nil, err
	}
	return &f, nil
}

// SaveLeftOut records what copy-in left out.
func (d Dir) SaveLeftOut(l []diffreview.LeftOut) error { return writeJSON(d.LeftOut(), l) }

// LoadLeftOut reads what copy-in left out.
func (d Dir) LoadLeftOut() ([]diffreview.LeftOut, error) {
	var l []diffreview.LeftOut
	err := readJSON(d.LeftOut(), &l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

// maxRecord bounds what is read of a record, in bytes: left_out.json of a huge
// tree is the largest.
const maxRecord = 64 << 20

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() > maxRecord {
		return fmt.Errorf("%s: %d bytes, the limit is %d", path, fi.Size(), maxRecord)
	}
	if err := json.NewDecoder(f).Decode(into); err != nil {
		return fmt.Errorf("%s is damaged or half-written: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encode %q: %w", path, err)
	}
	return atomicfile.Write(path, append(b, '\n'), 0o600)
}
