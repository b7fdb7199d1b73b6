package review

import (
	"strings"
	"testing"

	"fumehood/diffreview"
)

// TestThePreviewNamesTheRisksOfAMoveInPart: what is approved is told of where it
// is written, which is the old place when the move is rejected, and by lines too.
func TestThePreviewNamesTheRisksOfAMoveInPart(t *testing.T) {
	f := diffreview.File{
		Path: "notes.txt", OldPath: "package.json", Status: diffreview.Renamed, Whole: "w",
		WholeMark: diffreview.Mark{Decision: diffreview.Rejected},
		Hunks: []diffreview.Hunk{{
			ID: "h", NewStart: 1, NewLines: 2, Lines: []diffreview.Line{{Op: '+', New: 1}, {Op: '+', New: 2}},
			Part: []diffreview.Verdict{diffreview.Approved, diffreview.Undecided},
		}},
		Findings: []diffreview.Finding{{Line: 1, Severity: diffreview.Danger, Why: "runs at install"}},
	}
	set := &diffreview.ChangeSet{Files: []diffreview.File{f}}
	m := &Model{set: set}
	lines, can := m.applyLines(previewMsg{Set: set, Would: []string{"package.json"}})
	got := strings.Join(lines, "\n")
	if !can || strings.Count(got, "runs at install") != 1 || !strings.Contains(got, "modified  package.json") {
		t.Errorf("got %t:\n%s", can, got)
	}
	m.set.Files[0].WholeMark.Decision = diffreview.Approved
	lines, _ = m.applyLines(previewMsg{Set: set, Would: []string{"notes.txt", "package.json"}})
	got = strings.Join(lines, "\n")
	if strings.Count(got, "runs at install") != 1 || !strings.Contains(got, "old name  package.json") {
		t.Errorf("got:\n%s", got)
	}
}
