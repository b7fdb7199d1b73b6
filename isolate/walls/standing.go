package walls

import "time"

// Mark is what is known of one wall, or of one test.
type Mark string

// The marks, as the wall strip draws them.
const (
	MarkHeld     Mark = "✓"
	MarkStale    Mark = "~" // held, in another shape
	MarkUnproven Mark = "?" // not tested with this policy
	MarkFailed   Mark = "✗" // failed, or could not be carried out
	MarkNA       Mark = "·"
)

// Standing is what the newest record of a policy says in the shape of now.
type Standing struct {
	Record *Record // nil when there is none
	// Stale says in which ways the shape is another one; empty when the record
	// is of this shape.
	Stale []string
}

// Stand judges a record, which may be nil, in the shape of now.
func Stand(rec *Record, now Shape) Standing {
	if rec == nil {
		return Standing{}
	}
	s := Standing{Record: rec}
	if rec.ShapeHash != now.Hash() {
		s.Stale = rec.Shape.Differences(now)
		if len(s.Stale) == 0 {
			s.Stale = []string{"the record's shape does not match its hash"}
		}
	}
	return s
}

// Proven says whether every test was run in this shape and held or did not
// apply; else why not.
func (s Standing) Proven() (bool, string) {
	switch {
	case s.Record == nil:
		return false, "the wall tests were not run with this policy"
	case len(s.Stale) > 0:
		return false, "they held in another shape: " + s.Stale[0]
	case !s.Record.Complete():
		return false, "not all sixteen wall tests were run"
	}
	for _, t := range s.Record.Tests {
		if t.Verdict != Held && t.Verdict != NA {
			return false, "wall test " + t.Name + " came out as " + string(t.Verdict)
		}
	}
	if len(s.Record.Left) > 0 {
		return false, "the tests left something behind: " + s.Record.Left[0]
	}
	return true, ""
}

// Since is when the tests were run; zero when they were not.
func (s Standing) Since() time.Time {
	if s.Record == nil {
		return time.Time{}
	}
	return s.Record.Date
}

// Of gives one wall's mark: the worst of its tests.
func (s Standing) Of(w Wall) Mark {
	if s.Record == nil {
		return MarkUnproven
	}
	byNumber := map[int]Result{}
	for _, t := range s.Record.Tests {
		byNumber[t.Number] = t
	}
	v := NA
	for _, t := range Tests() {
		if t.Wall != w {
			continue
		}
		r, ran := byNumber[t.Number]
		if !ran {
			return MarkUnproven
		}
		v = Worse(v, r.Verdict)
	}
	switch {
	case v == Failed, v == Errored:
		return MarkFailed
	case v == NA:
		return MarkNA
	case len(s.Stale) > 0:
		return MarkStale
	}
	return MarkHeld
}
