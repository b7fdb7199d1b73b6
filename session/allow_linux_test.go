package session

import (
	"testing"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session/store"
)

// A proof is of one policy: with an entry more, the session's walls are those of
// another one, and the strip says that they held before.
func TestAnAddedEntryMakesTheProofStale(t *testing.T) {
	h := accountAt(t)
	p, _ := policy.Builtin(policy.DefaultName)
	p.Filesystem.Toolchains = policy.Choice{Word: "none"}
	provenHere(t, h, p)
	d, err := h.Root.Create()
	if err != nil {
		t.Fatal(err)
	}
	rec := &store.Record{ID: d.ID(), Repo: "/repo", PolicyHash: policy.Hash(p)}
	if err := d.SaveRecord(rec); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveStart(&store.Start{}); err != nil {
		t.Fatal(err)
	}
	st, err := h.standingOf(d, p)
	if err != nil {
		t.Fatal(err)
	}
	if ok, why := st.Proven(); !ok {
		t.Fatalf("got not proven before an entry was added: %s", why)
	}
	entry, err := ParseEntry("[[network.allow]]\ndestination = \"a.test:443\"\noperations = [\"GET /x\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	q, err := WithEntry(p, entry)
	if err != nil {
		t.Fatal(err)
	}
	rec.PolicyBase, rec.PolicyHash = policy.Hash(p), policy.Hash(q)
	if err := d.SaveRecord(rec); err != nil {
		t.Fatal(err)
	}
	if st, err = h.standingOf(d, q); err != nil {
		t.Fatal(err)
	}
	if ok, why := st.Proven(); ok || st.Of(walls.NetworkWall) != walls.MarkStale {
		t.Fatalf("got proven %v (%s), network %s, want it stale", ok, why, st.Of(walls.NetworkWall))
	}
	provenHere(t, h, q) // and once its tests were run again, it stands
	if st, err = h.standingOf(d, q); err != nil {
		t.Fatal(err)
	}
	if ok, why := st.Proven(); !ok {
		t.Fatalf("got not proven after the tests of the new policy: %s", why)
	}
}
