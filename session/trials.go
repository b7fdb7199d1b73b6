package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/session/store"
	"fumehood/session/wire"
)

const (
	limitStatus   = 124 // what the command line exits with when a limit ended the command
	trialsVersion = 1
	maxTrials     = 200 // kept of one session
	maxTrialLeft  = 100 // paths that an event names as left out

	// An event is one line of a bounded length.
	maxTrialPaths   = 128 << 10 // bytes of the changed paths that it names
	maxTrialCommand = 16 << 10  // bytes of the command that is recorded
)

// savedTrials is trials.json.
type savedTrials struct {
	Version int                `json:"version"`
	Trials  []diffreview.Trial `json:"trials"`
}

// trialOf is what a try comes to. err is why nobody saw its end.
func trialOf(t *Tried, approved string, argv []string, err error) diffreview.Trial {
	out := diffreview.Trial{Approved: approved, Command: cutCommand(argv), Outcome: diffreview.TrialFailed, Code: t.Code, Signal: SignalName(t.Signal), LeftOut: len(t.Left)}
	if t.Signal != 0 {
		out.Code = 128 + t.Signal
	}
	e := &t.End
	switch {
	case err != nil, !e.Began, e.State == wire.StateFailed, e.State == wire.StateStopped:
		out.Outcome = diffreview.TrialNone
	case e.Limit != nil:
		out.Limit, out.Code = e.Limit.Name, limitStatus
	case e.State == wire.StateExited && e.Code == 0 && e.Signal == 0:
		out.Outcome = diffreview.TrialPassed
	}
	return out
}

// recordTrial keeps a trial and writes it into the session's record.
func (h *Host) recordTrial(d store.Dir, t *Tried) error {
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := loadTrials(d)
	if err != nil {
		all = nil // what can't be read proves nothing, and must not stand in the way of what can
	}
	all = append(all, t.Trial)
	all = all[max(0, len(all)-maxTrials):]
	b, err := json.MarshalIndent(savedTrials{trialsVersion, all}, "", " ")
	if err != nil {
		return err
	}
	if err := writePrivate(d.Trials(), append(b, '\n')); err != nil {
		return fmt.Errorf("record the try: %w", err)
	}
	return d.AppendEvent(time.Now(), "tried", TrialText(t.Trial)+": "+strings.Join(t.Trial.Command, " "), map[string]any{
		"by": h.User, "tty": h.TTY, "trial": t.Trial, "limit": t.Limit, "wall_ms": t.Wall.Milliseconds(), "left_out": t.Left[:min(len(t.Left), maxTrialLeft)], "egress": t.Egress,
		"changed": changedHashes(t.changed),
	})
}

// cutCommand is a command line as a record keeps it.
func cutCommand(argv []string) []string {
	left := maxTrialCommand
	out := make([]string, 0, min(len(argv), 64))
	for _, a := range argv {
		if left -= len(a) + 1; left < 0 {
			return append(out, "[cut]")
		}
		out = append(out, strings.ToValidUTF8(a, "\ufffd"))
	}
	return out
}

// changedHash is what was tried of one path: the SHA-256 of a file's content, ""
// for what is gone or a link.
type changedHash struct {
	Path   string `json:"path"`
	Mode   string `json:"mode"` // as git writes it; "" for what is gone
	SHA256 string `json:"sha256,omitempty"`
	Target string `json:"target,omitempty"` // of a link
}

// changedHashes names the bytes that were tried. What does not fit is named by the
// trial's hash of all alone.
func changedHashes(all []diffreview.Outcome) []changedHash {
	out := []changedHash{}
	left := maxTrialPaths
	for i := range all {
		o := &all[i]
		if left -= len(o.Path) + len(o.Want.Target) + 100; left < 0 {
			break
		}
		c := changedHash{Path: diffreview.SafeName(o.Path), Mode: o.Want.Mode(), SHA256: string(o.Want.Blob)}
		switch {
		case o.Want.Kind == diffreview.KindSymlink:
			c.Target = diffreview.SafeName(o.Want.Target)
		case o.Want.Kind == diffreview.KindFile && c.SHA256 == "":
			sum := sha256.Sum256(o.Content)
			c.SHA256 = hex.EncodeToString(sum[:])
		}
		out = append(out, c)
	}
	return out
}

// TrialText says in a word or two how a trial ended.
func TrialText(t diffreview.Trial) string {
	switch {
	case t.Outcome == diffreview.TrialPassed:
		return "passed"
	case t.Outcome == diffreview.TrialNone:
		return "not run to an end"
	case t.Limit != "":
		return "failed at limit " + t.Limit
	case t.Signal != "":
		return "failed by " + t.Signal
	}
	return fmt.Sprintf("failed with status %d", t.Code)
}

// maxTrialsBytes bounds what is read of trials.json.
const maxTrialsBytes = 16 << 20

func loadTrials(d store.Dir) ([]diffreview.Trial, error) {
	b, err := readBounded(d.Trials(), maxTrialsBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s savedTrials
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", d.Trials(), err)
	}
	if s.Version != trialsVersion {
		return nil, fmt.Errorf("%s: version %d, this build reads %d", d.Trials(), s.Version, trialsVersion)
	}
	return s.Trials, nil
}

// markTried puts the recorded trials on a change set. A record that can't be read
// shows none: nothing was tried, for all that is known.
func markTried(d store.Dir, set *diffreview.ChangeSet) {
	if all, err := loadTrials(d); err == nil {
		set.Trials = all
	}
}
