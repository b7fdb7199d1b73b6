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
	"fmt"
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
	// Plain are folders whose name a package of source code may have as well:
	// everything below counts except source code.
	Plain []string
	// Gone is the severity of deleting such a file. Empty: silent.
	Gone    diffreview.Severity
	GoneWhy string
	// Comment is what starts a comment line. When all changed lines are blank or
	// comments the finding is a note.
	Comment string

	// Line is looked for in added lines, only in those that hold one of Has in
	// any case, and one of And where that is given. Source leaves out prose, Code comment lines
	// as well, Edit files that were not there before, Tests all but tests.
	Line   string
	Has    []string
	And    []string
	Source bool
	Code   bool
	Edit   bool
	Tests  bool

	// Check finds what lines can't tell; it gets the lines that hold one of Has.
	Check func(s *subject, with picked) []hit
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
	plain      *patterns
	line       *regexp.Regexp
	and        [][]byte
	index      uint16
}

// rules compiles the tables at the first run: every start of the program would
// pay for it otherwise.
var rules = sync.OnceValue(func() []*compiled {
	all := Rules()
	out := make([]*compiled, len(all))
	for i, r := range all {
		c := &compiled{Rule: r, index: uint16(i), paths: compilePatterns(r.Paths), not: compilePatterns(r.Not), plain: compilePatterns(r.Plain)}
		if r.Line != "" {
			c.line = regexp.MustCompile(r.Line)
		}
		for _, w := range r.And {
			c.and = append(c.and, []byte(w))
		}
		out[i] = c
	}
	return out
})

// covers says whether the rule speaks of files of this path.
func (r *compiled) covers(s *subject) bool {
	if len(r.Paths)+len(r.Plain) == 0 {
		return !r.not.match(s.segs)
	}
	return (r.paths.match(s.segs) || !sourceExt.has(s.ext) && r.plain.match(s.segs)) && !r.not.match(s.segs)
}

// apply gives the places of s where the rule fires.
func (r *compiled) apply(s *subject) []hit {
	if !r.covers(s) {
		return nil
	}
	if s.gone() {
		if r.Gone != "" {
			return []hit{{severity: r.Gone, why: r.GoneWhy}}
		}
		if r.Check == nil {
			return nil
		}
	}
	switch {
	case r.Check != nil:
		return r.Check(s, s.pick(r))
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
	var hits []hit
	until := 0 // the end of the hunk of the last hit: one is enough for each
	for i, l := range s.pick(r).added {
		if i == maxLook {
			return append(hits, s.tooMany())
		}
		if l.no <= until {
			continue
		}
		if r.Code && s.commentLine(l.text) || len(r.and) > 0 && !containsAny(l.text, r.and) {
			continue
		}
		if r.line.Match(clip(l.text)) {
			hits = append(hits, hit{line: l.no})
			until = s.hunkEnd(l.no)
		}
	}
	return hits
}

// maxLook bounds how many lines of one file a rule's expression is tried on.
const maxLook = 4000

// tooMany stands for the lines that were not looked at.
func (s *subject) tooMany() hit {
	h := hit{severity: diffreview.Warn, why: fmt.Sprintf("only the first %d lines that could matter were looked at", maxLook)}
	if s.data || s.prose {
		h.severity = diffreview.Note
	}
	return h
}

// picked are the changed lines that hold one of a rule's words; all when it has
// none.
type picked struct{ added, removed []line }

func (s *subject) pick(r *compiled) picked {
	if len(r.Has) == 0 {
		return picked{s.added, s.removed}
	}
	choose := func(lines []line, at []int32) []line {
		out := make([]line, len(at))
		for i, n := range at {
			out[i] = lines[n]
		}
		return out
	}
	return picked{choose(s.added, s.addedWith[r.index]), choose(s.removed, s.removedWith[r.index])}
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
const maxMatch = 8 << 10

func clip(b []byte) []byte { return b[:min(len(b), maxMatch)] }
