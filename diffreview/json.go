package diffreview

import (
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// The shapes of "diff --json". Fields may be added, never renamed.
type (
	jsonSet struct {
		Session string        `json:"session"`
		Repo    string        `json:"repo"`
		Files   []jsonFile    `json:"files"`
		Ignored jsonIgnored   `json:"ignored_changes"`
		LeftOut []jsonLeftOut `json:"left_out"`
		// Snapshot is when the workspace was read; comments are all there are.
		Snapshot time.Time     `json:"snapshot"`
		Comments []jsonComment `json:"comments"`
		// Approved names what is approved now, "" for nothing; a trial with the same
		// was one of just that.
		Approved string  `json:"approved"`
		Trials   []Trial `json:"trials"`
	}
	jsonFile struct {
		Path       string     `json:"path"`
		PathB64    []byte     `json:"path_b64,omitempty"`
		OldPath    string     `json:"old_path"`
		OldPathB64 []byte     `json:"old_path_b64,omitempty"`
		Status     Status     `json:"status"`
		Binary     bool       `json:"binary"`
		OldMode    string     `json:"old_mode"`
		NewMode    string     `json:"new_mode"`
		Added      int        `json:"added"`
		Removed    int        `json:"removed"`
		Ends       *jsonEnds  `json:"line_endings,omitempty"`
		Ignored    bool       `json:"ignored,omitempty"`
		OldBlob    Blob       `json:"old_blob,omitempty"`
		NewBlob    Blob       `json:"new_blob,omitempty"`
		Risks      []Finding  `json:"risks"`
		Decision   string     `json:"decision"`
		Lapsed     string     `json:"lapsed,omitempty"`
		Whole      string     `json:"whole,omitempty"`
		Mark       *jsonMark  `json:"whole_mark,omitempty"`
		Hunks      []jsonHunk `json:"hunks"`
	}
	jsonEnds struct {
		From  string `json:"from"`
		To    string `json:"to"`
		Lines int    `json:"lines"`
	}
	// jsonMark is what was decided of a unit, by whom, and what came of it.
	jsonMark struct {
		Decision string    `json:"decision"`
		Lines    string    `json:"lines,omitempty"` // a, r or . for each changed line
		Edit     Blob      `json:"edit,omitempty"`
		New      bool      `json:"new"`
		Applied  bool      `json:"applied"`
		By       string    `json:"by,omitempty"`
		TTY      string    `json:"tty,omitempty"`
		At       time.Time `json:"at,omitzero"`
		Via      string    `json:"via,omitempty"`
	}
	jsonComment struct {
		Comment
		PathB64 []byte `json:"path_b64,omitempty"`
	}
	jsonHunk struct {
		ID       string `json:"id"`
		OldStart int    `json:"old_start"`
		OldLines int    `json:"old_lines"`
		NewStart int    `json:"new_start"`
		NewLines int    `json:"new_lines"`
		jsonMark
	}
	jsonIgnored struct {
		Count     int      `json:"count"`
		Paths     []string `json:"paths"`
		PathsB64  [][]byte `json:"paths_b64,omitempty"` // as paths, when one is not UTF-8
		Truncated bool     `json:"truncated"`
	}
	jsonLeftOut struct {
		Path    string `json:"path"`
		PathB64 []byte `json:"path_b64,omitempty"`
		Reason  string `json:"reason"`
		Size    int64  `json:"size"`
	}
)

// WriteJSON writes the change set as "diff --json" prints it: one object, with a
// newline. Paths that are not UTF-8 have path_b64 beside a lossy path. d has who
// decided what and the comments.
func WriteJSON(w io.Writer, cs *ChangeSet, d *Decisions) error {
	out := jsonSet{
		Session: cs.Session, Repo: lossy(cs.Repo), Snapshot: cs.SnapshotAt.UTC(), Comments: []jsonComment{},
		Files: []jsonFile{}, LeftOut: []jsonLeftOut{}, Approved: cs.ApprovedHash(), Trials: append([]Trial{}, cs.Trials...),
		Ignored: jsonIgnored{Count: cs.Ignored.Count, Paths: []string{}, Truncated: cs.Ignored.Truncated},
	}
	for i := range cs.Files {
		out.Files = append(out.Files, fileJSON(&cs.Files[i], d))
	}
	for _, c := range d.Comments {
		odd := b64IfOdd(c.Path)
		c.Path = lossy(c.Path)
		out.Comments = append(out.Comments, jsonComment{c, odd})
	}
	odd := false
	for _, p := range cs.Ignored.Paths {
		out.Ignored.Paths = append(out.Ignored.Paths, lossy(p))
		out.Ignored.PathsB64 = append(out.Ignored.PathsB64, []byte(p))
		odd = odd || !utf8.ValidString(p)
	}
	if !odd {
		out.Ignored.PathsB64 = nil
	}
	for _, l := range cs.LeftOut {
		out.LeftOut = append(out.LeftOut, jsonLeftOut{Path: lossy(l.Path), PathB64: b64IfOdd(l.Path), Reason: lossy(l.Reason), Size: l.Size})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func fileJSON(f *File, d *Decisions) jsonFile {
	j := jsonFile{
		Path: lossy(f.Path), PathB64: b64IfOdd(f.Path), OldPath: lossy(f.OldPath), OldPathB64: b64IfOdd(f.OldPath),
		Status: f.Status, Binary: f.Binary, OldMode: f.Old.Mode(), NewMode: f.New.Mode(),
		OldBlob: f.Old.Blob, NewBlob: f.New.Blob, Ignored: f.Ignored, Lapsed: string(f.Lapsed),
		Added: f.Added, Removed: f.Removed, Decision: verdictWord(f.Decision()), Whole: f.Whole,
		Risks: f.Risks(), Hunks: []jsonHunk{},
	}
	if f.Ends > 0 {
		j.Ends = &jsonEnds{f.EndsFrom, f.EndsTo, f.Ends}
	}
	if f.Whole != "" {
		_, h := f.Unit(f.Whole)
		m := markJSON(f.Whole, f.WholeMark, h, d)
		j.Mark = &m
	}
	for i := range f.Hunks {
		h := &f.Hunks[i]
		j.Hunks = append(j.Hunks, jsonHunk{
			ID: h.ID, OldStart: h.OldStart, OldLines: h.OldLines,
			NewStart: h.NewStart, NewLines: h.NewLines, jsonMark: markJSON(h.ID, h.Mark, h, d),
		})
	}
	return j
}

func markJSON(id string, m Mark, h *Hunk, d *Decisions) jsonMark {
	out := jsonMark{Decision: verdictWord(m.Decision), New: m.New, Applied: m.Applied}
	if h != nil {
		out.Edit = h.Edit
		if h.Part != nil {
			out.Lines = h.Letters()
		}
	}
	if rec, ok := d.Units[id]; ok && (m.Decision != Undecided || out.Lines != "" || out.Edit != "") {
		out.By, out.TTY, out.At, out.Via = rec.By, rec.TTY, rec.At, rec.Via
	}
	return out
}

func verdictWord(v Verdict) string {
	if v == Undecided {
		return "undecided"
	}
	return string(v)
}

func lossy(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// b64IfOdd gives the bytes of s, which JSON encodes in base64, when s is not
// UTF-8; else nil.
func b64IfOdd(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}
