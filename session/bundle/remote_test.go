package bundle

import (
	"slices"
	"strings"
	"testing"
)

// What a session could reach and what it tried are the bundle's to tell, and a
// policy that can't be read is never one that lets nothing through.
func TestABundleTellsWhatItsSessionCouldReach(t *testing.T) {
	for _, c := range []struct {
		policy, reach, why, named string
	}{
		{"[[network.allow]]\ndestination = \"packages.test:443\"\noperations = [\"GET /**\"]\naccount = \"none\"\n", "packages.test:443: GET /**", "", "p"},
		{"tool = \"x\"\n", "", "", "p"},
		{"nonsense = 1\n", "", "unknown key", "p (it can't be read)"},
	} {
		f := newForged(t)
		f.manifest.Session.Policy = "p"
		f.parts[policyName] = []byte(c.policy)
		f.parts[egressName] = []byte(`{"time":"2026-01-01T00:00:00Z","method":"GET","host":"packages.test","port":443,"path":"/x","allowed":true,"prev":"` + hexSum(nil) + "\"}\n")
		b, err := opened(f.bytes())
		if err != nil {
			t.Fatal(err)
		}
		none, err := restored(b, "", nil, "bea")
		if err != nil {
			t.Fatal(err)
		}
		r := newRemote(b, none, &files{}, "bea", "")
		det, err := r.Detail(ctx, "")
		if err != nil || !det.Elsewhere || strings.Join(det.Reach, ", ") != c.reach || !strings.Contains(det.ReachErr, c.why) || det.ReachErr != "" != (c.why != "") {
			t.Errorf("%q: got %v, elsewhere %v, reach %q, %q; want %q and %q", c.policy, err, det.Elsewhere, det.Reach, det.ReachErr, c.reach, c.why)
		}
		traffic, err := r.Egress(ctx, "")
		if err != nil || traffic.Policy != c.named || !slices.Equal(traffic.Entries, det.Reach) {
			t.Errorf("%q: got %v, policy %q with %q, want %q with %q", c.policy, err, traffic.Policy, traffic.Entries, c.named, det.Reach)
		}
		rows, err := r.List(ctx, true)
		if err != nil || len(rows) != 1 || rows[0].Requests != 1 || rows[0].Refusals != 0 || rows[0].ChangedFiles != -1 {
			t.Fatalf("%q: got %v and %+v, want one request of a session not looked at", c.policy, err, rows)
		}
	}
}

// The list of a bundle counts what the review shows.
func TestTheListOfABundleCountsItsChanges(t *testing.T) {
	_, _, r, set := reviewed(t)
	added, removed := 0, 0
	for i := range set.Files {
		added, removed = added+set.Files[i].Added, removed+set.Files[i].Removed
	}
	rows, err := r.List(ctx, true)
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %v and %+v, want one session", err, rows)
	}
	if s := rows[0]; added == 0 || removed == 0 || s.ChangedFiles != len(set.Files) || s.Added != added || s.Removed != removed || s.Undecided != len(set.Files) {
		t.Errorf("got %+v, want +%d -%d of %d files, all undecided", s, added, removed, len(set.Files))
	}
}
