package diffreview

import (
	"encoding/json"
	"io"
	"strings"
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
		Risks      []Finding  `json:"risks"`
		Decision   string     `json:"decision"`
		Whole      string     `json:"whole,omitempty"`
		Hunks      []jsonHunk `json:"hunks"`
	}
	jsonHunk struct {
		ID       string `json:"id"`
		OldStart int    `json:"old_start"`
		OldLines int    `json:"old_lines"`
		NewStart int    `json:"new_start"`
		NewLines int    `json:"new_lines"`
		Decision string `json:"decision"`
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
// newline. Paths that are not UTF-8 have path_b64 beside a lossy path.
func WriteJSON(w io.Writer, cs *ChangeSet) error {
	out := jsonSet{
		Session: cs.Session, Repo: lossy(cs.Repo),
		Files: []jsonFile{}, LeftOut: []jsonLeftOut{},
		Ignored: jsonIgnored{Count: cs.Ignored.Count, Paths: []string{}, Truncated: cs.Ignored.Truncated},
	}
	for i := range cs.Files {
		out.Files = append(out.Files, fileJSON(&cs.Files[i]))
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

func fileJSON(f *File) jsonFile {
	j := jsonFile{
		Path: lossy(f.Path), PathB64: b64IfOdd(f.Path), OldPath: lossy(f.OldPath), OldPathB64: b64IfOdd(f.OldPath),
		Status: f.Status, Binary: f.Binary, OldMode: f.Old.Mode(), NewMode: f.New.Mode(),
		Added: f.Added, Removed: f.Removed, Decision: verdictWord(f.Decision()), Whole: f.Whole,
		Risks: append([]Finding{}, f.Findings...), Hunks: []jsonHunk{},
	}
	for _, h := range f.Hunks {
		j.Hunks = append(j.Hunks, jsonHunk{
			ID: h.ID, OldStart: h.OldStart, OldLines: h.OldLines,
			NewStart: h.NewStart, NewLines: h.NewLines, Decision: verdictWord(h.Decision),
		})
	}
	return j
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
