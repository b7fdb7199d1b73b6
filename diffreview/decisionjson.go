package diffreview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// decisionsVersion is the version of the stored form.
const decisionsVersion = 1

// Limits of a stored decisions file.
const (
	MaxDecisionsBytes = 64 << 20
	maxDecisionUnits  = 500_000
	maxDecisionText   = 64 << 10 // of one comment, path, account or terminal
)

// Encode gives the stored form of the decisions.
func (d *Decisions) Encode() ([]byte, error) {
	out := Decisions{Version: decisionsVersion, Units: d.Units}
	if out.Units == nil {
		out.Units = map[string]Decision{}
	}
	stored := storedDecisions{Version: out.Version, Units: make(map[string]storedDecision, len(out.Units))}
	for id, rec := range out.Units {
		if err := checkDecision(id, rec); err != nil {
			return nil, err
		}
		stored.Units[id] = storedDecision{Decision: rec, PathB64: b64IfOdd(rec.Path)}
	}
	if len(stored.Units) > maxDecisionUnits {
		return nil, fmt.Errorf("%d decisions: more than %d", len(stored.Units), maxDecisionUnits)
	}
	b, err := json.MarshalIndent(stored, "", " ")
	if err != nil {
		return nil, err
	}
	if len(b) >= MaxDecisionsBytes {
		return nil, fmt.Errorf("decisions of %d bytes: more than %d", len(b), MaxDecisionsBytes)
	}
	return append(b, '\n'), nil
}

type storedDecisions struct {
	Version int                       `json:"version"`
	Units   map[string]storedDecision `json:"units"`
}

// storedDecision keeps paths that are not UTF-8 exactly: JSON text can't.
type storedDecision struct {
	Decision
	PathB64 []byte `json:"path_b64,omitempty"`
}

// DecodeDecisions reads the stored form. Anything that Encode would not write
// is an error: an unknown version, key or verdict, or more than the limits.
func DecodeDecisions(b []byte) (*Decisions, error) {
	if len(b) > MaxDecisionsBytes {
		return nil, fmt.Errorf("decisions of %d bytes: more than %d", len(b), MaxDecisionsBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var in storedDecisions
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("read decisions: something follows their end")
	}
	if in.Version != decisionsVersion {
		return nil, fmt.Errorf("decisions of version %d: want %d", in.Version, decisionsVersion)
	}
	if len(in.Units) > maxDecisionUnits {
		return nil, fmt.Errorf("%d decisions: more than %d", len(in.Units), maxDecisionUnits)
	}
	out := &Decisions{Version: in.Version, Units: make(map[string]Decision, len(in.Units))}
	for id, rec := range in.Units {
		if rec.PathB64 != nil {
			rec.Path = string(rec.PathB64)
		}
		if err := checkDecision(id, rec.Decision); err != nil {
			return nil, err
		}
		out.Units[id] = rec.Decision
	}
	return out, nil
}

func checkDecision(id string, rec Decision) error {
	if len(id) != idLen || !isHex(id) {
		return fmt.Errorf("decision on %q: not a unit", id)
	}
	switch rec.Verdict {
	case Undecided, Approved, Rejected:
	default:
		return fmt.Errorf("decision on %s: unknown verdict %q", id, rec.Verdict)
	}
	if rec.Path == "" {
		return fmt.Errorf("decision on %s: no path", id)
	}
	for _, s := range []string{rec.Path, rec.Comment, rec.By, rec.TTY} {
		if len(s) > maxDecisionText {
			return fmt.Errorf("decision on %s: a text of %d bytes: more than %d", id, len(s), maxDecisionText)
		}
	}
	return nil
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
