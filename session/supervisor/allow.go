package supervisor

import (
	"errors"
	"fmt"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/policy"
	"fumehood/session"
	"fumehood/session/wire"
)

// maxEntry bounds the text of an entry, in bytes.
const maxEntry = 16 << 10

// allow adds one egress entry to the session's policy, as a person asked over
// the socket, which nothing inside can reach. What the session can reach changes
// last: by then the event says who did it, and the policy that a resume reads
// has it.
func (s *supervisor) allow(q wire.Request) error {
	if len(q.Text) > maxEntry {
		return fmt.Errorf("an entry of %d bytes, the limit is %d", len(q.Text), maxEntry)
	}
	s.allowMu.Lock()
	defer s.allowMu.Unlock()
	if s.isEnding() {
		return errors.New("the session is ending")
	}
	before := s.policyNow
	if before == nil {
		before = s.pol
	}
	entry, err := session.ParseEntry(q.Text)
	if err != nil {
		return fmt.Errorf("the entry is refused: %w", err)
	}
	now, err := session.WithEntry(before, entry)
	if err != nil {
		return fmt.Errorf("the entry is refused: %w", err)
	}
	was, is := policy.Hash(before), policy.Hash(now)
	// Not through s.event, which only logs what fails: an entry without a trace
	// of who added it must not be.
	if err := s.dir.AppendEvent(time.Now(), "allowed", session.EntryText(entry), map[string]any{
		"by": q.By, "tty": q.From, "entry": q.Text, "policy_hash_before": was, "policy_hash": is,
	}); err != nil {
		return err
	}
	if err := atomicfile.Write(s.dir.Policy(), policy.Encode(now), 0o600); err != nil {
		return fmt.Errorf("write the session's policy: %w", err)
	}
	if err := s.proxy.Allow(now.Entries()); err != nil {
		return errors.Join(err, atomicfile.Write(s.dir.Policy(), policy.Encode(before), 0o600))
	}
	s.policyNow = now
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rec.PolicyBase == "" {
		s.rec.PolicyBase = was
	}
	s.rec.PolicyHash = is
	return s.dir.SaveRecord(s.rec)
}
