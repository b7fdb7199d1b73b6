package session

import (
	"errors"
	"slices"
	"sync"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session/store"
)

// proofCache keeps the record that was read last of each policy, and what it
// was read from: a list of sessions asks every second. It keeps the hash of the
// running program too.
type proofCache struct {
	build    sync.Once
	buildSum string
	buildErr error

	mu   sync.Mutex
	read map[string]cachedProof // by policy hash
}

type cachedProof struct {
	mark store.Mark
	rec  *walls.Record
	err  error
}

// Standing says what the newest record of this policy says in the shape of
// now. A record that can't be read is an error and proves nothing.
func (h *Host) Standing(p *policy.Policy) (walls.Standing, error) {
	hash := policy.Hash(p)
	// Without a record there is nothing to compare a shape with.
	if found, err := h.Root.Proofs().Any(hash); err != nil || !found {
		return walls.Standing{}, err
	}
	s, err := h.Shape(p)
	if err != nil {
		return walls.Standing{}, err
	}
	return h.stand(hash, s)
}

// standingOf is Standing for a session, which has its mounts from its start. A
// proof of its policy before entries were added is stale: it is of another one.
func (h *Host) standingOf(d store.Dir, p *policy.Policy) (walls.Standing, error) {
	hash := policy.Hash(p)
	rec, err := d.LoadRecord()
	if err != nil {
		return walls.Standing{}, err
	}
	found, err := h.Root.Proofs().Any(hash)
	added := err == nil && !found && rec.PolicyBase != ""
	if added {
		hash = rec.PolicyBase
		found, err = h.Root.Proofs().Any(hash)
	}
	if err != nil || !found {
		return walls.Standing{}, err
	}
	st, err := d.LoadStart()
	if err != nil {
		return walls.Standing{}, err
	}
	pr := &Prepared{Policy: p}
	if err := h.readOnly(pr); err != nil {
		return walls.Standing{}, err
	}
	now := mountsOf(pr.ReadOnly, cacheMounts(pr.Caches))
	// What lies in the repository is no mount of its session's; the shape does
	// not know the repository.
	outside := slices.DeleteFunc(slices.Clone(pr.ReadOnly), func(m isolate.Mount) bool { return within(m.Inside, rec.Repo) })
	if own := mountsOf(st.ReadOnly, st.Caches); !slices.Equal(mountsOf(outside, cacheMounts(pr.Caches)), own) {
		now = own
	}
	s, err := h.shapeWith(p, now)
	if err != nil {
		return walls.Standing{}, err
	}
	out, err := h.stand(hash, s)
	if added && out.Record != nil {
		out.Stale = append([]string{"egress entries were added to its policy since"}, out.Stale...)
	}
	return out, err
}

// proven refuses when the policy asks for a proof and there is none.
func (h *Host) proven(p *policy.Policy) error {
	if p.Boundary.Proven != policy.ProvenRequired {
		return nil // and costs nothing
	}
	st, err := h.Standing(p)
	return demand(p, st, err)
}

// stillProven is proven for a session that starts again.
func (h *Host) stillProven(d store.Dir) error {
	rec, err := d.LoadRecord()
	if err != nil {
		return err
	}
	p, err := frozen(d, rec)
	if err != nil {
		return err
	}
	if p.Boundary.Proven != policy.ProvenRequired {
		return nil
	}
	st, err := h.standingOf(d, p)
	return demand(p, st, err)
}

func (h *Host) stand(policyHash string, s walls.Shape) (walls.Standing, error) {
	rec, err := h.proof(policyHash, s.Hash())
	if err != nil {
		return walls.Standing{}, err
	}
	return walls.Stand(rec, s), nil
}

// proof is the record that says most of a policy in a shape; nil without one.
// Nobody may change it: it is handed out again.
func (h *Host) proof(policyHash, shapeHash string) (*walls.Record, error) {
	all := h.Root.Proofs()
	m, err := all.Find(policyHash, shapeHash)
	if err != nil || m.Path == "" {
		return nil, err
	}
	h.proofs.mu.Lock()
	c, ok := h.proofs.read[policyHash]
	h.proofs.mu.Unlock()
	if ok && c.mark == m {
		return c.rec, c.err
	}
	c = cachedProof{mark: m}
	c.rec, c.err = all.Load(m)
	if c.err == nil && c.rec.PolicyHash != policyHash {
		c.rec, c.err = nil, errors.New("wall-test record "+m.Path+" is of another policy, and proves nothing")
	}
	h.proofs.mu.Lock()
	defer h.proofs.mu.Unlock()
	if h.proofs.read == nil {
		h.proofs.read = map[string]cachedProof{}
	}
	h.proofs.read[policyHash] = c
	return c.rec, c.err
}

// SaveProof keeps a record of the wall tests. Of a run with only some tests in
// it no more is kept than what failed: it can take a proof away and not give
// one.
func (h *Host) SaveProof(rec *walls.Record) error {
	if rec.Against != "" {
		return errors.New("a record of another sandbox is not kept as a proof of this one")
	}
	var kept *walls.Record
	if !rec.Complete() {
		var err error
		// One that can't be read proves nothing and is replaced.
		if kept, err = h.proof(rec.PolicyHash, rec.ShapeHash); err != nil {
			kept = nil
		}
	}
	out := mergeProofs(kept, rec)
	if out == nil {
		return nil
	}
	return h.Root.Proofs().Save(out)
}

// Block is a policy's text block, with what is proven of it here.
func (h *Host) Block(p *policy.Policy, now time.Time) string {
	st, err := h.Standing(p)
	return policy.Block(p, now, Verified(st, err, now))
}
