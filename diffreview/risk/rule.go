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

	// Line is looked for in added lines. The words without which it can't match
	// are derived from it; Has names them where that can't be done, or where Check
	// wants lines by their words alone. Source leaves out prose, Code comment
	// lines as well, Edit files that were not there before, Tests all but tests.
	Line   string
	Has    []string
	Source bool
	Code   bool
	Edit   bool
	Tests  bool
	// Mild is a second expression: a line that it matches as well is a note. In
	// tests a line has the severity InTests, where that is given.
	Mild    string
	InTests diffreview.Severity

	// Check finds what lines can't tell; it gets the changed lines that Line
	// matches, or that hold one of Has, or all. Whole is for one that looks at
	// other files as well: it runs after all files were looked at, one at a time.
	Check func(s *subject, with picked) []hit
	Whole bool
}

// hit is a place where a rule fires. Severity and Why replace the rule's own
// where they are set.
type hit struct {
	line     int
	severity diffreview.Severity
	why      string
}

// kinds are the tables, by what a change of theirs does.
func kinds() []kind {
	return []kind{
		{"runs on this machine by itself", selfRules},
		{"steers coding agents", agentRules},
		{"runs at build, test or install", buildRules},
		{"widens trust", trustRules},
		{"leaves the folder", escapeRules},
		{"deceives the reader", deceiveRules},
		{"checks less", weakenRules},
	}
}

type kind struct {
	what  string
	rules []Rule
}

// Rules lists all rules, in the order of their tables.
func Rules() []Rule {
	var all []Rule
	for _, k := range kinds() {
		all = append(all, k.rules...)
	}
	return all
}

// compiled is a rule made ready once.
type compiled struct {
	Rule
	paths, not *patterns
	plain      *patterns
	line       *expression           // with words in the lexicon
	each       func() *regexp.Regexp // tried on every line: few files are the rule's
	mild       func() *regexp.Regexp // nil: no line is
	index      int
}

// book is all that is made of the tables, at the first run: every start of the
// program would pay for it otherwise.
type book struct {
	rules []*compiled
	index *pathIndex
	words *lexicon
}

var rules = sync.OnceValue(makeBook)

func makeBook() *book {
	b := &book{}
	var lines []*expression
	for i, r := range Rules() {
		c := &compiled{Rule: r, index: i, paths: compilePatterns(r.Paths), not: compilePatterns(r.Not), plain: compilePatterns(r.Plain)}
		if r.Mild != "" {
			c.mild = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.Mild) })
		}
		switch {
		case r.Line != "" && len(r.Paths) > 0 && len(r.Has) == 0:
			c.each = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(r.Line) })
		case r.Line != "":
			c.line = newExpression(r.Line, r.Has)
		case len(r.Has) > 0:
			c.line = wordList(r.Has)
		}
		if c.line != nil {
			lines = append(lines, c.line)
		}
		b.rules = append(b.rules, c)
	}
	b.index, b.words = newPathIndex(b.rules), newLexicon(lines)
	return b
}

// apply gives the places of s where the rule, which covers it, fires.
func (r *compiled) apply(s *subject) []hit {
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
		return r.Check(s, picked{s, r})
	case r.Line != "":
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
	skip := func(l line) bool { return l.no <= until || r.Code && s.commentLine(l.text) }
	whole := r.search(s.added, s.marks, skip, func(l line) {
		h := hit{line: l.no}
		if s.test {
			h.severity = r.InTests
		}
		if r.mild != nil && r.mild().Match(clip(l.text)) {
			h.severity = diffreview.Note
		}
		hits = append(hits, h)
		if h.severity == "" {
			until = s.hunkEnd(l.no)
		}
	})
	if !whole {
		hits = append(hits, s.tooMany())
	}
	return hits
}

// search calls found for each of the lines that the rule's expression matches,
// in their order, but for those that skip. It ends early, and says so, when
// there are too many on which it could be tried.
func (r *compiled) search(lines []line, m *marks, skip func(line) bool, found func(line)) (whole bool) {
	tried := 0
	if r.each != nil {
		for _, l := range lines {
			if skip(l) {
				continue
			}
			if tried++; tried > maxLook {
				return false
			}
			if r.each().Match(clip(l.text)) {
				found(l)
			}
		}
		return true
	}
	last, done := int32(-1), false
	for _, c := range r.line.candidates(m) {
		l := lines[c.at]
		if c.at == last && done {
			continue
		}
		if c.at != last {
			if tried++; tried > maxLook {
				return false
			}
			last, done = c.at, skip(l)
		}
		if !done && (c.alt.re == nil || c.alt.re().Match(clip(l.text))) {
			found(l)
			done = true
		}
	}
	return true
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

// picked are the changed lines that a rule's words or expression choose; all
// when it has none.
type picked struct {
	s *subject
	r *compiled
}

func (p picked) added() (lines []line, whole bool) {
	if p.r.line == nil {
		return p.s.added, true
	}
	return p.choose(p.s.added, p.s.marks)
}

func (p picked) removed() (lines []line, whole bool) {
	if p.r.line == nil {
		return p.s.removed, true
	}
	return p.choose(p.s.removed, p.s.goneMarks)
}

func (p picked) choose(lines []line, m *marks) (out []line, whole bool) {
	if m == nil {
		return nil, true
	}
	whole = p.r.search(lines, m, func(line) bool { return false }, func(l line) { out = append(out, l) })
	return out, whole
}

// maxMatch bounds the part of a line that expressions look at. What is longer is
// a finding of its own.
const maxMatch = 8 << 10

func clip(b []byte) []byte { return b[:min(len(b), maxMatch)] }
