package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/session"
)

// Version is the version of the format that this build writes and reads.
const Version = 1

const formatName = "fumehood bundle"

// Limits of a bundle. What is over one is refused by its writer and its reader.
const (
	MaxBytes   = 8 << 30
	maxBlob    = session.MaxContent
	maxMembers = 200_000
	maxPart    = 64 << 20 // of the manifest and each part that is read whole
	maxPolicy  = 1 << 20
	maxItems   = 3_000_000     // commas in one of them: of many small things each takes more memory than its text
	maxRecord  = 256 << 20     // of events and of egress records
	maxLine    = 1<<20 + 4<<10 // of one line of them: what a session writes, and what stands for its paths
)

// ErrDamaged is a file that is not a bundle as it was written.
var ErrDamaged = errors.New("damaged, or not a bundle")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}

// Manifest is the first member: what the bundle is of, and all other members.
type Manifest struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Build   string   `json:"build"` // of the program that wrote it
	Session Session  `json:"session"`
	Content bool     `json:"content"` // both sides of what changed are in it
	Paths   bool     `json:"paths"`   // the host's paths stand in it
	Members []Member `json:"members"`
}

// Member is one file of the container.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Session is what a bundle says of its session, and of how it ended. All of it
// is the word of whoever made the bundle.
type Session struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Repo         string         `json:"repo"` // its name; the whole path when Paths
	Branch       string         `json:"branch,omitempty"`
	Head         string         `json:"head,omitempty"`
	ObjectFormat string         `json:"object_format,omitempty"`
	Files        int            `json:"files"` // of the workspace at copy-in
	Bytes        int64          `json:"bytes"`
	Agent        string         `json:"agent"`
	Policy       string         `json:"policy"`
	PolicyHash   string         `json:"policy_hash"`
	Command      []string       `json:"command"`
	State        session.State  `json:"state"`
	ExitCode     *int           `json:"exit_code"`
	Signal       string         `json:"signal"`
	Limit        *session.Limit `json:"limit"`
	Began        bool           `json:"began"`
	Created      time.Time      `json:"created"`
	Started      time.Time      `json:"started"`
	Ended        time.Time      `json:"ended"`
	SnapshotAt   time.Time      `json:"snapshot_at"`
}

// The names of the parts, in their order. Content follows them, each blob under
// blobPrefix and its hash, sorted; then the end, which has the manifest's hash.
const (
	manifestName  = "manifest.json"
	changesName   = "changes.json"
	factsName     = "facts.json"
	decisionsName = "decisions.json"
	eventsName    = "events.jsonl"
	egressName    = "egress.jsonl"
	policyName    = "policy.toml"
	blobPrefix    = "blobs/"
	endName       = "end"
)

var partNames = []string{changesName, factsName, decisionsName, eventsName, egressName, policyName}

// sizeLimit is what a member may have at most, in bytes.
func sizeLimit(name string) int64 {
	switch {
	case strings.HasPrefix(name, blobPrefix):
		return maxBlob
	case name == eventsName || name == egressName:
		return maxRecord
	case name == decisionsName:
		return diffreview.MaxDecisionsBytes
	case name == policyName:
		return maxPolicy
	}
	return maxPart
}

// changes is the list of what differs. Paths and link targets are bytes, which
// JSON holds as base64.
type changes struct {
	Changes      []change  `json:"changes"`
	Ignored      ignored   `json:"ignored"`
	LeftOut      []leftOut `json:"left_out"`
	NewlyIgnored [][]byte  `json:"newly_ignored"`
	Applied      []string  `json:"applied"` // units that are in the host's repository
}

type change struct {
	Path    []byte `json:"path"`
	Old     entry  `json:"old"`
	New     entry  `json:"new"`
	Ignored bool   `json:"ignored,omitempty"`
}

type entry struct {
	Kind   diffreview.Kind `json:"kind,omitempty"`
	Exec   bool            `json:"exec,omitempty"`
	Blob   diffreview.Blob `json:"blob,omitempty"`
	Size   int64           `json:"size,omitempty"`
	Target []byte          `json:"target,omitempty"`
}

type ignored struct {
	Count     int      `json:"count"`
	Paths     [][]byte `json:"paths"`
	Truncated bool     `json:"truncated"`
}

type leftOut struct {
	Path   []byte `json:"path"`
	Reason string `json:"reason"`
	Size   int64  `json:"size"`
}

// facts is what the risk rules have to know beside the changes, so that the
// reader finds the risks itself: session.Facts, as bytes.
type facts struct {
	Paths     [][]byte `json:"paths"`
	Links     []link   `json:"links"`
	HooksPath []byte   `json:"hooks_path"`
	Untracked [][]byte `json:"untracked"`
}

type link struct {
	Path   []byte `json:"path"`
	Target []byte `json:"target"`
}

// encode gives the one form that a value has in a bundle.
func encode(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// decode reads that form, and refuses every other: an unknown key, one that
// stands twice, a number written otherwise. What two readers could read
// differently is no bundle.
func decode(name string, b []byte, into any) error {
	if n := bytes.Count(b, []byte{','}); n > maxItems {
		return fmt.Errorf("%s lists %d things: the limit is %d", name, n, maxItems)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return damaged("%s: %v", name, err)
	}
	again, err := encode(into)
	if err != nil {
		return damaged("%s: %v", name, err)
	}
	if !bytes.Equal(again, b) {
		return damaged("%s: not written as this version writes it", name)
	}
	return nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// check holds the manifest to what this version writes.
func (m *Manifest) check() error {
	switch {
	case m.Format != formatName:
		return damaged("the format is %q, not %q", m.Format, formatName)
	case m.Version != Version:
		return fmt.Errorf("a bundle of version %d: this build reads version %d", m.Version, Version)
	case len(m.Members) < len(partNames):
		return damaged("%d members, which are not even its parts", len(m.Members))
	case len(m.Members) > maxMembers:
		return fmt.Errorf("a bundle of %d members: the limit is %d", len(m.Members), maxMembers)
	case !plainID(m.Session.ID):
		return damaged("%q is not the ID of a session", m.Session.ID)
	case m.Session.Files < 0 || m.Session.Bytes < 0:
		return damaged("a count below 0")
	}
	for i, x := range m.Members {
		switch {
		case i < len(partNames) && x.Name != partNames[i]:
			return damaged("member %d is %q, want %q", i, x.Name, partNames[i])
		case i >= len(partNames) && blobOf(x.Name) == "":
			return damaged("member %q is unknown", x.Name)
		case i > len(partNames) && x.Name <= m.Members[i-1].Name:
			return damaged("member %q stands twice or out of order", x.Name)
		case !isSum(x.SHA256) || i >= len(partNames) && x.SHA256 != string(blobOf(x.Name)):
			return damaged("member %q: %q is not its hash", x.Name, x.SHA256)
		case x.Size < 0 || x.Size > sizeLimit(x.Name):
			return fmt.Errorf("member %q of %d bytes: the limit is %d", x.Name, x.Size, sizeLimit(x.Name))
		}
	}
	return nil
}

// blobOf gives the blob that a member's name says, "" when it says none.
func blobOf(name string) diffreview.Blob {
	sum, ok := strings.CutPrefix(name, blobPrefix)
	if !ok || !isSum(sum) {
		return ""
	}
	return diffreview.Blob(sum)
}

func isSum(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// plainID holds for what can be the ID of a session, which is also a folder's
// name elsewhere.
func plainID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
