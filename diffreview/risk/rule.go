// Package risk looks through a change set for what could make the host do
// something: run code by itself or at build, test, install; widen trust; leave
// the folder; or deceive the reader. Rules are rows of tables: one row is one
// reason, with a fixture that fires and one that stays silent. Nothing that it
// reads is executed, parsed by a program of the host, or trusted to be well
// formed; what can't be examined is itself a finding.
//
// What this does not cover: code that is wrong or hostile in the ordinary way.
// A rule says "this runs without being asked" or "this is not what it looks
// like", not "this is bad". Ordinary source changes carry nothing above a note.
package risk

import (
	"bytes"
	"regexp"
	"sync"

	"fumehood/diffreview"
)

// Rule is one reason. A file is its subject when Paths holds (or is empty), Not
// does not, and then Line, Check or, with neither, the path alone fires.
type Rule struct {
	Name     string
	Severity diffreview.Severity
	Why      string // one sentence: what would happen on this machine

	// Paths are patterns of lower-case paths: without a slash of the last part,
	// with one of the last parts, with one at the start of the whole path; a last
	// part ** is everything below.
	Paths []string
	Not   []string
	// Gone is the severity of deleting such a file. Empty: silent.
	Gone    diffreview.Severity
	GoneWhy string
	// Comment is what starts a comment line. When all changed lines are blank or
	// comments the finding is a note.
	Comment string

	// Line is looked for in added lines (in removed ones when Removed), only
	// in lines that hold one of Has. Source leaves out prose, Code comment lines
	// as well, Edit files that were not there before, Tests all but tests.
	Line    string
	Has     []string
	Removed bool
	Source  bool
	Code    bool
	Edit    bool
	Tests   bool

	// Check finds what lines can't tell.
	Check func(*subject) []hit
}

// hit is a place where a rule fires. Severity and Why replace the rule's own
// where they are set.
type hit struct {
	line     int
	severity diffreview.Severity
	why      string
}

// Rules lists all rules, in the order of their tables.
func Rules() []Rule {
	var all []Rule
	for _, t := range [][]Rule{selfRules, agentRules, buildRules, trustRules, escapeRules, deceiveRules, weakenRules} {
		all = append(all, t...)
	}
	return all
}

// compiled is a rule made ready once.
type compiled struct {
	Rule
	paths, not *patterns
	line       *regexp.Regexp
	has        [][]byte
}

// rules compiles the tables at the first run: every start of the program would
// pay for it otherwise.
var rules = sync.OnceValue(func() []*compiled {
	all := Rules()
	out := make([]*compiled, len(all))
	for i, r := range all {
		c := &compiled{Rule: r, paths: compilePatterns(r.Paths), not: compilePatterns(r.Not)}
		if r.Line != "" {
			c.line = regexp.MustCompile(r.Line)
		}
		for _, h := range r.Has {
			c.has = append(c.has, []byte(h))
		}
		out[i] = c
	}
	return out
})

// apply gives the places of s where the rule fires.
func (r *compiled) apply(s *subject) []hit {
	if len(r.Paths) > 0 && !r.paths.match(s.segs) || r.not.match(s.segs) {
		return nil
	}
	if s.gone() {
		if r.Gone != "" {
			return []hit{{severity: r.Gone, why: r.GoneWhy}}
		}
		if !r.Removed && r.Check == nil {
			return nil
		}
	}
	switch {
	case r.Check != nil:
		return r.Check(s)
	case r.line != nil:
		return r.lines(s)
	}
	if r.Comment != "" && s.onlyComments(r.Comment) {
		return []hit{{severity: diffreview.Note}}
	}
	return []hit{{}}
}

func (r *compiled) lines(s *subject) []hit {
	if (r.Code || r.Source) && s.prose || r.Edit && s.came() || r.Tests && !s.testish() {
		return nil
	}
	list, all := s.added, s.addedText
	if r.Removed {
		list, all = s.removed, s.removedText
	}
	if len(r.has) > 0 && !containsAny(all, r.has) {
		return nil
	}
	var hits []hit
	for _, l := range list {
		if len(r.has) > 0 && !containsAny(l.text, r.has) {
			continue
		}
		if r.Code && s.commentLine(l.text) {
			continue
		}
		if r.line.Match(clip(l.text)) {
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

func containsAny(b []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(b, w) {
			return true
		}
	}
	return false
}

// maxMatch bounds the part of a line that expressions look at. What is longer is
// a finding of its own.
const maxMatch = 64 << 10

func clip(b []byte) []byte { return b[:min(len(b), maxMatch)] }
