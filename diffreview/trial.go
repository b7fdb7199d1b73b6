package diffreview

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// Trial is one run of a command on the baseline with what was approved, and
// nothing else of the session.
type Trial struct {
	Approved string       `json:"approved"` // what was: see ChangeSet.ApprovedHash
	Command  []string     `json:"command"`
	Outcome  TrialOutcome `json:"outcome"`
	Code     int          `json:"exit_code"` // 128+N when signal N ended it
	Signal   string       `json:"signal,omitempty"`
	Limit    string       `json:"limit,omitempty"` // its name, when one ended it
	LeftOut  int          `json:"left_out"`        // paths of the baseline that were not there
	By       string       `json:"by"`
	TTY      string       `json:"tty"`
	At       time.Time    `json:"at"` // when it ended
}

// TrialOutcome is what became of a trial.
type TrialOutcome string

// The outcomes.
const (
	TrialPassed TrialOutcome = "passed" // the command ended with status 0
	TrialFailed TrialOutcome = "failed" // with another, by a signal or at a limit
	TrialNone   TrialOutcome = "none"   // it did not run to an end
)

// ApprovedHash names what is approved now: two states of decisions with the same
// hash make the same files of the same baseline. It is "" when nothing is.
func (cs *ChangeSet) ApprovedHash() string {
	var all []string
	for i := range cs.Files {
		f := &cs.Files[i]
		for _, tag := range f.ApprovedUnits() {
			all = append(all, f.Path+"\x00"+tag)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	h := sha256.New()
	for _, s := range all {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Tried gives the newest trial of what is approved now; nil when there is none.
func (cs *ChangeSet) Tried() *Trial {
	now := cs.ApprovedHash()
	if now == "" {
		return nil
	}
	for i := len(cs.Trials) - 1; i >= 0; i-- {
		if cs.Trials[i].Approved == now {
			return &cs.Trials[i]
		}
	}
	return nil
}
