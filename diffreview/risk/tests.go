package risk

import (
	"bytes"
	"regexp"
	"slices"
	"sync"

	"fumehood/diffreview"
)

// testDecl is the line that a test begins with, assertLine one that checks.
const (
	testDecl = `^\s*(func\s+(\([^)]*\)\s*)?(Test|Benchmark|Fuzz|Example)\w*\s*\(|(async\s+)?def\s+test\w*|class\s+\w*Tests?\w*\s*[(:]|(it|test|specify|scenario|describe|context|suite|Scenario|Deno\.test|test\.describe)(\.each\S*)?\s*[("'` + "`" + `]|#\[(\w+::)*test\b|@(Test|ParameterizedTest|RepeatedTest|Property)\b|\[(Fact|Theory|Test|TestMethod|TestCase)|TEST(_F|_P|_CASE)?\s*\(|BOOST_AUTO_TEST_CASE|public\s+function\s+test\w+|(public\s+)?void\s+test\w+|test\s+"|test\s+'|@test\s+"|func\s+test\w+\s*\(|SCENARIO\(|let%test|prop_\w+\s*::|fn\s+test_\w+)`

	// looseLine is a check that nearly anything passes.
	looseLine = `\.(toBeDefined|toBeTruthy|toBeFalsy|toBeInstanceOf|toHaveBeenCalled|toThrow|toBeNull|toMatchSnapshot|toMatchInlineSnapshot)\(\s*\)|\.not\.(toBeNull|toBeUndefined|toThrow)\(\s*\)|expect\.(anything|any)\(|\.to\.(exist|be\.(ok|an?\(|truthy))|\b[aA]ssert(\.|_)?(Is)?(NotNone|NotNull|NotNil|NotEmpty|IsInstance|_not_none|_is_not_none)\b|assert\s+\w[\w.]*(\([^()]*\))?\s*(is\s+not\s+None|!=\s*None)?\s*(,.*)?$|raises\(\s*(Exception|BaseException)\s*\)|assertRaises\(\s*(Exception|BaseException)\b|assertThrows\(\s*(Throwable|Exception)\.class|should_?raise\(?\s*$|raise_error\s*$|not_to\s+raise_error|should_panic\s*\]?$|\bXCTAssertNotNil\(|\bisNotNull\b|\bexpect\(\s*\w[\w.]*\s*\)\s*;?\s*$|\.not\.(toBe|toEqual)\(|\bassert\s+\w[\w.]*(\([^()]*\))?\s*(!=|not in|in \()|\bassert\s*\(.*,\s*[fr]?["'].*["']\s*\)\s*$|\bbe_(truthy|present|a_kind_of)\b|\b(require|assert)\.(NotNil|NotEmpty|Error|IsType|NotPanics)\(|\bassert!\(.*\.(is_ok|is_some|is_err)\(\)\s*\)|\bassert(\.ok|\.isOk|\.isTrue|\.True|True|_true|_)?!?\(\s*(t,\s*)?!?\w[\w.]*(\([^()]*\))?\s*\)\s*;?\s*$|\bexpect\(.*\)\.(to\.be\.true|to\.exist|toBeGreaterThan\(\s*-?[01]?\s*\)|not\.toBeNaN\(\))|\$this->assert(NotNull|NotEmpty|IsArray|IsString|IsInt|InstanceOf)\(`

	assertLine = `(?i)\bassert\w*|\bexpect\w*\s*[({!]|\bt\.(error|fatal|fail)\w*\(|\brequire\.\w+\(\s*t\b|\bshould(\.|\b)|\b(?-i:CHECK|EXPECT|ASSERT|REQUIRE)(_\w+)?\s*\(|\bverify\(|\bXCTAssert|\bmust_?(be|have|not|equal|eq|fail|succeed|contain|match|panic|raise|throw|include|respond|error)\w*\(|->assert|\bpanics?\b.*\(|\bis\.(equal|true|noerr)\(|\bqt\.assert|cmp\.diff\(|raises\(|toThrow|\bok\(|\bis_deeply\(|\bcmp_ok\(`
)

// turnover is what lines of one kind a file lost and got.
type turnover struct {
	gone []line
	came int
	more bool // there were too many to look at all
}

// testish says whether tests are expected in the file: by its name, or since the
// language keeps them beside the code.
func (s *subject) testish() bool {
	return (s.test || s.ext == ".rs" || s.ext == ".zig" || s.ext == ".feature") && !s.prose && !s.data
}

// turnover notes the lines that a rule's expression matches, while the words of
// this file are at hand. Lines that came count only beside ones that went.
func (s *subject) turnover(with picked) (t turnover) {
	if !s.testish() || len(s.removed) == 0 {
		return t
	}
	gone, whole := with.removed()
	if t.more = !whole; len(gone) == 0 {
		return t
	}
	t.gone = gone
	came, _ := with.added()
	for _, l := range came {
		if s.ext == ".go" && bytes.HasPrefix(l.text, []byte("func test")) {
			continue // the language's tool does not call it
		}
		if !s.commentLine(l.text) {
			t.came++
		}
	}
	return t
}

// movedLines counts test declarations and assertions that go away in one file
// and come in another.
type movedLines map[string]int

// moved finds which of the lines that went away come back anywhere.
func moved(subjects []*subject, of func(*subject) *turnover) movedLines {
	m, ran := movedLines{}, map[string]bool{}
	for _, s := range subjects {
		for _, l := range of(s).gone {
			key := string(bytes.TrimSpace(l.text))
			m[key] = 0
			if s.gone() && !s.uncollected() && newTest().Match(clip(l.text)) {
				ran[key] = true // a runner found it by the name of its file
			}
		}
	}
	if len(m) == 0 {
		return m
	}
	for _, s := range subjects {
		if !s.testish() {
			continue
		}
		lost := s.came() && s.uncollected()
		for _, l := range s.added {
			key := bytes.TrimSpace(l.text)
			if n, ok := m[string(key)]; ok && !(lost && ran[string(key)]) {
				m[string(key)] = n + 1
			}
		}
	}
	return m
}

// take says whether a removed line is one of those added elsewhere.
func (m movedLines) take(text []byte) bool {
	key := bytes.TrimSpace(text)
	if m[string(key)] == 0 {
		return false
	}
	m[string(key)]--
	return true
}

func testsRemoved(s *subject, _ picked) (hits []hit) {
	added := s.tests.came
	for _, l := range s.tests.gone {
		if s.set.movedTests.take(l.text) {
			continue
		}
		if added > 0 {
			added-- // renamed or rewritten: the assertions tell
			continue
		}
		hits = append(hits, hit{line: l.no})
	}
	if s.tests.more {
		hits = append(hits, s.tooMany())
	}
	return hits
}

// collectedAs are the names by which test runners find their files, in lower case.
var collectedAs = []struct{ ext, pattern string }{
	{".py", "test_*.py"},
	{".py", "*_test.py"},
	{".go", "*_test.go"},
	{".rb", "*_spec.rb"},
	{".rb", "*_test.rb"},
	{".rb", "test_*.rb"},
	{".php", "*test.php"},
	{".java", "*test.java"},
	{".java", "test*.java"},
	{".java", "*tests.java"},
	{".java", "*testcase.java"},
	{".java", "*it.java"},
	{".exs", "*_test.exs"},
	{".dart", "*_test.dart"},
	{".r", "test*.r"},
}

// uncollected says whether tests in a file are run by nobody for its name.
func (s *subject) uncollected() bool {
	known := false
	for _, c := range collectedAs {
		if s.ext == c.ext {
			if glob(c.pattern, s.base) {
				return false
			}
			known = true
		}
	}
	return known
}

func assertionsRemoved(s *subject, _ picked) (hits []hit) {
	real := 0 // those that ask for more than that a step did not fail
	for _, l := range s.asserts.gone {
		if s.commentLine(l.text) || s.set.movedAsserts.take(l.text) {
			continue
		}
		hits = append(hits, hit{line: l.no})
		if !plumbing().Match(clip(l.text)) {
			real++
		}
	}
	if len(hits) <= s.asserts.came {
		hits = nil
	}
	if real <= s.asserts.came {
		for i := range hits {
			hits[i].severity, hits[i].why = note, "steps on the way to what the test checks may fail unseen"
		}
	}
	if s.asserts.more {
		hits = append(hits, s.tooMany())
	}
	return hits
}

var plumbing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\w+\.(Fatal|Error|Log)\(\s*\w*[eE]rr\s*\)|(require|assert)\.(NoError|Nil)\(\s*\w+,\s*\w*[eE]rr\b.*\)|(self\.)?assertIsNone\(\s*err\w*\s*\)|expect\(\s*err(or)?\s*\)\.(toBeNull|toBeUndefined|toBeFalsy|to\.not\.exist|to\.be\.null).*|assert\.(ifError|isNull)\(\s*err\w*\s*\);?)\s*$`)
})

// assertionsLoosened finds lines that took the place, in their hunk, of an
// assertion that asked for more.
func assertionsLoosened(s *subject, _ picked) (hits []hit) {
	strong := map[*diffreview.Hunk]int{}
	for _, l := range s.asserts.gone {
		if h := s.f.HunkAt(l.no); h != nil && !loose().Match(clip(l.text)) && !s.commentLine(l.text) {
			strong[h]++
		}
	}
	if len(strong) == 0 {
		return nil
	}
	for _, l := range s.added {
		h := s.f.HunkAt(l.no)
		if h == nil || strong[h] == 0 {
			continue
		}
		if weak := loose().Match(clip(l.text)); weak {
			hits = append(hits, hit{line: l.no})
		} else if asserts().Match(clip(l.text)) {
			strong[h]-- // this one may be its successor
		}
	}
	// A weak line beside as many strong ones as there were is one more check.
	return slices.DeleteFunc(hits, func(x hit) bool { return strong[s.f.HunkAt(x.line)] <= 0 })
}

var (
	loose   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(looseLine) })
	asserts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?:" + assertLine + ")") })
)

// testsSkipped finds lines by which a test that was there before no longer runs.
// A new test may be born skipped, and one may need what this system has not: a
// platform, or time.
func testsSkipped(s *subject, with picked) (hits []hit) {
	if s.came() || s.gone() || !s.testish() {
		return nil
	}
	lines, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	skips := map[int]bool{}
	for _, l := range lines {
		skips[l.no] = true
	}
	for i := range s.f.Hunks {
		if len(skips) > 0 {
			hits = append(hits, s.skipsOf(&s.f.Hunks[i], skips)...)
		}
		hits = append(hits, endsAtOnce(&s.f.Hunks[i])...)
	}
	return hits
}

// endsAtOnce finds lines that end a test before it does anything, in a test that
// was there.
func endsAtOnce(h *diffreview.Hunk) (hits []hit) {
	for i, l := range h.Lines {
		if l.Op != '+' || len(l.Text) > longestLeave {
			continue
		}
		if !leaves(bytes.TrimSpace(l.Text)) {
			continue
		}
		if above := aboveIt(h.Lines[:i]); above != nil && above.Op == ' ' && (newTest().Match(clip(above.Text)) || opensTest().Match(bytes.TrimSpace(clip(above.Text)))) {
			hits = append(hits, hit{line: l.New, why: "the test ends here, before it checks anything"})
		}
	}
	return hits
}

// aboveIt is the last line before a place that does something, if it is near.
func aboveIt(lines []diffreview.Line) *diffreview.Line {
	for i := len(lines) - 1; i >= max(0, len(lines)-12); i-- {
		if l := &lines[i]; l.Op != '-' && len(bytes.TrimSpace(l.Text)) > 0 && !preludes().Match(bytes.TrimSpace(clip(l.Text))) {
			return l
		}
	}
	return nil
}

// longestLeave is how long a line that ends a test is at most.
const longestLeave = 80

// leaves says whether a statement ends a function, a program or all that follows.
func leaves(t []byte) bool {
	switch string(bytes.TrimRight(t, "; \t")) {
	case "return", "return nil", "return None", "return null", "return true", "return undefined", "return Ok(())", "return Promise.resolve()",
		"next", "done()", "t.end()", "exit", "exit 0", "exit(0)", "exit()", "_exit(0)", "os.Exit(0)", "os._exit(0)", "process.exit()", "process.exit(0)", "sys.exit()", "sys.exit(0)", "std::process::exit(0)", "System.exit(0)", "runtime.Goexit()",
		"if true {", "if (true) {", "if True:", "if 1:", "if (1) {", "if true { return }", "if (true) return", "if (true) { return; }", "if True: return", "if (1) return":
		return true
	}
	return false
}

var (
	// opensTest is what a test consists of, where its declaration stands above or
	// is no line of its own.
	opensTest = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((pub\s+)?(async\s+)?fn\s+\w+\(\)|((public|private|internal|static|final|override|suspend)\s+)*(void|Task|async\s+Task|fun)\s+[\w` + "`" + ` ]+\(|\w\.Run\()`)
	})
	preludes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([{(]|//.*|#.*|/\*.*|\*.*|"""[^"]*("""|$)|@\w.*|t\.(Parallel|Helper)\(\)|use \w.*;|"use strict";?)$`)
	})
)

// skipsOf goes down a hunk once. Which test a line belongs to is the one that
// began last, as far as the hunk shows; what stands right above one, such as a
// decorator, belongs to the next.
func (s *subject) skipsOf(h *diffreview.Hunk, skips map[int]bool) (hits []hit) {
	inNew := false
	var above []byte
	var waiting []int // hits that are decorators, by index
	for _, l := range h.Lines {
		if l.Op == '-' {
			continue
		}
		begins := newTest().Match(clip(l.Text))
		if begins {
			inNew = l.Op == '+' && len(s.tests.gone) == 0
			for _, i := range waiting {
				if inNew && l.New <= hits[i].line+4 {
					hits[i].severity = note
				}
			}
			waiting = waiting[:0]
		}
		if l.Op == '+' && skips[l.New] {
			x := hit{line: l.New}
			decorates := !begins && isDecorator(l.Text)
			if needsPlatform().Match(clip(l.Text)) || needsPlatform().Match(clip(above)) || inNew && !decorates && !(begins && focusOnly(l.Text)) {
				x.severity = note
			} else if decorates {
				waiting = append(waiting, len(hits))
			}
			hits = append(hits, x)
		}
		above = l.Text
	}
	return hits
}

var (
	needsPlatform = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bif\b.*(\bGOOS\b|\bGOARCH\b|testing\.Short\(\)|process\.platform|sys\.platform|os\.name\b|platform\.system|RUBY_PLATFORM|PHP_OS|\berr != nil\b|_WIN32|target_os)|skip_?if\w*\(\s*(not\s+)?(sys\.platform|os\.name|platform\.|process\.platform|sys\.version|IS_WINDOWS)|cfg_attr\((not\()?(target_|windows|unix|miri)|@(EnabledOn|DisabledOn)Os|EnabledIfEnvironment`)
	})
	newTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(testDecl) })
)

// focusOnly says whether a line makes all other tests stop running.
func focusOnly(text []byte) bool {
	return bytes.Contains(text, []byte(".only")) || bytes.HasPrefix(bytes.TrimSpace(text), []byte("fit")) || bytes.HasPrefix(bytes.TrimSpace(text), []byte("fdescribe"))
}

func isDecorator(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) > 0 && (t[0] == '@' || t[0] == '#' || t[0] == '[')
}
