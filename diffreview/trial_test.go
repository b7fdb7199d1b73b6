package diffreview

import "testing"

func TestATrialIsOfWhatWasApprovedThen(t *testing.T) {
	hunk := func(id string, v Verdict) Hunk { return Hunk{ID: id, Mark: Mark{Decision: v}} }
	set := func(a, b Verdict) *ChangeSet {
		return &ChangeSet{Files: []File{
			{Path: "x", Status: Modified, Hunks: []Hunk{hunk("1", a), hunk("2", b)}},
			{Path: "y", Status: Modified, Hunks: []Hunk{hunk("3", Rejected)}},
		}}
	}
	none, one, both := set(Undecided, Rejected), set(Approved, Rejected), set(Approved, Approved)
	if got := none.ApprovedHash(); got != "" {
		t.Errorf("nothing approved: got %q, want none", got)
	}
	other := set(Approved, Undecided)
	other.Files[0], other.Files[1] = other.Files[1], other.Files[0]
	if one.ApprovedHash() == both.ApprovedHash() || one.ApprovedHash() != other.ApprovedHash() {
		t.Errorf("got %q, %q and %q; want the first and the last alike", one.ApprovedHash(), both.ApprovedHash(), other.ApprovedHash())
	}
	edited := set(Approved, Rejected)
	edited.Files[0].Hunks[0].Edit = "abc"
	if edited.ApprovedHash() == one.ApprovedHash() {
		t.Error("a reviewer's edit: got the same hash, want another")
	}
	trials := []Trial{{Approved: one.ApprovedHash(), Outcome: TrialFailed}, {Approved: one.ApprovedHash(), Outcome: TrialPassed}, {Approved: both.ApprovedHash(), Outcome: TrialFailed}}
	none.Trials, one.Trials, edited.Trials = trials, trials, trials
	if got := one.Tried(); got == nil || got.Outcome != TrialPassed {
		t.Errorf("got %+v, want the newer of the two", got)
	}
	if none.Tried() != nil || edited.Tried() != nil {
		t.Errorf("got %+v and %+v, want no trial of what was not tried", none.Tried(), edited.Tried())
	}
}
