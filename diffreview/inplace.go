package diffreview

// moveRejected stands before what is found in edits of a file where it was.
const moveRejected = "if the move is rejected: "

// judgeInPlace looks at the edits of files that moved as what they are when the
// move is rejected: edits where the file was. Rules that go by a path saw its new
// one alone, and "notes.txt" runs nothing that "package.json" would.
func (cs *ChangeSet) judgeInPlace(content func(Blob) ([]byte, error), opt Options) error {
	if opt.Risk == nil {
		return nil
	}
	var moved []*File
	stays := &ChangeSet{Session: cs.Session, Repo: cs.Repo, SnapshotAt: cs.SnapshotAt}
	for i := range cs.Files {
		f := &cs.Files[i]
		if f.Status != Renamed || len(f.Hunks) == 0 {
			continue
		}
		as := File{
			Path: f.OldPath, Old: f.Old, New: f.New, Status: Modified, Hunks: f.Hunks, Added: f.Added, Removed: f.Removed,
			Ends: f.Ends, EndsFrom: f.EndsFrom, EndsTo: f.EndsTo,
		}
		as.New.Exec = f.Old.Exec // the bit belongs to the move
		moved, stays.Files = append(moved, f), append(stays.Files, as)
	}
	if len(moved) == 0 {
		return nil
	}
	if opt.RiskFile != nil {
		for i := range stays.Files {
			if err := opt.RiskFile(&stays.Files[i], content); err != nil {
				return err
			}
		}
	}
	if err := opt.Risk(stays, content); err != nil {
		return err
	}
	for i, f := range moved {
		for _, x := range stays.Files[i].Findings {
			if x.Severity.Rank() > Note.Rank() && !f.found(x) {
				x.Why = moveRejected + x.Why
				f.Findings = append(f.Findings, x)
			}
		}
	}
	return nil
}

// found says whether the file has a finding of the same rule that covers the same
// lines and is as strong.
func (f *File) found(x Finding) bool {
	at := f.HunkAt(x.Line)
	for i := range f.Findings {
		y := &f.Findings[i]
		if y.Rule != x.Rule || y.Severity.Rank() < x.Severity.Rank() || y.Edit != x.Edit || y.Unit != x.Unit {
			continue
		}
		if x.Edit != "" {
			return true
		}
		if h := f.HunkAt(y.Line); h == nil || h == at {
			return true
		}
	}
	return false
}
