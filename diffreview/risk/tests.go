package risk

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// movedLines counts test declarations and assertions over the whole change, so
// that what moves from one file to another is not taken for gone.
type movedLines map[string]int

var testDecl = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(func\s+(\([^)]*\)\s*)?(Test|Benchmark|Fuzz|Example)\w*\s*\(|(async\s+)?def\s+test\w*|class\s+\w*Tests?\w*\s*[(:]|(it|test|specify|scenario|describe|context|suite|Scenario|Deno\.test|test\.describe)(\.each\S*)?\s*[("'` + "`" + `]|#\[(\w+::)*test\b|@(Test|ParameterizedTest|RepeatedTest|Property)\b|\[(Fact|Theory|Test|TestMethod|TestCase)|TEST(_F|_P|_CASE)?\s*\(|BOOST_AUTO_TEST_CASE|public\s+function\s+test\w+|(public\s+)?void\s+test\w+|test\s+"|test\s+'|@test\s+"|func\s+test\w+\s*\(|SCENARIO\(|let%test|prop_\w+\s*::|fn\s+test_\w+)`)
})

var assertLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bassert\w*|\bexpect\w*\s*[({!]|\bt\.(error|fatal|fail)\w*\(|\brequire\.\w+\(\s*t\b|\bshould(\.|\b)|\b(CHECK|EXPECT|ASSERT|REQUIRE)(_\w+)?\s*\(|\bverify\(|\bXCTAssert|\bmust\w*\(|->assert|\bpanics?\b.*\(|\bis\.(equal|true|noerr)\(|\bqt\.assert|cmp\.diff\(|raises\(|toThrow|\bok\(|\bis_deeply\(|\bcmp_ok\(`)
})

// gather counts what is added anywhere.
func (r *run) gather() (decls, asserts movedLines) {
	decls, asserts = movedLines{}, movedLines{}
	removes := func(s *subject) bool { return s.testish() && len(s.removed) > 0 }
	if !slices.ContainsFunc(r.subjects, removes) {
		return decls, asserts // nothing could have moved
	}
	for _, s := range r.subjects {
		if !s.testish() {
			continue
		}
		for _, l := range s.added {
			key := string(bytes.TrimSpace(l.text))
			if testDecl().Match(clip(l.text)) {
				decls[key]++
			}
			if assertLine().Match(clip(l.text)) {
				asserts[key]++
			}
		}
	}
	return decls, asserts
}

// take says whether a removed line is one of those added elsewhere.
func (m movedLines) take(text []byte) bool {
	key := string(bytes.TrimSpace(text))
	if m[key] == 0 {
		return false
	}
	m[key]--
	return true
}

// testish says whether tests are expected in the file: by its name, or since the
// language keeps them beside the code.
func (s *subject) testish() bool {
	return (s.test || s.ext == ".rs" || s.ext == ".zig" || s.ext == ".feature") && !s.prose && !s.data
}

func testsRemoved(s *subject, with picked) (hits []hit) {
	if !s.testish() || len(with.removed) == 0 {
		return nil
	}
	added := 0
	for _, l := range with.added {
		if testDecl().Match(clip(l.text)) {
			added++
		}
	}
	for _, l := range with.removed {
		if !testDecl().Match(clip(l.text)) || s.run.movedTests.take(l.text) {
			continue
		}
		if added > 0 {
			added-- // renamed or rewritten: the assertions tell
			continue
		}
		hits = append(hits, hit{line: l.no})
	}
	return hits
}

func assertionsRemoved(s *subject, with picked) (hits []hit) {
	if !s.testish() || len(with.removed) == 0 {
		return nil
	}
	added := 0
	for _, l := range with.removed {
		if !assertLine().Match(clip(l.text)) || s.commentLine(l.text) || s.run.movedAsserts.take(l.text) {
			continue
		}
		hits = append(hits, hit{line: l.no})
	}
	for _, l := range with.added {
		if assertLine().Match(clip(l.text)) && !s.commentLine(l.text) {
			added++
		}
	}
	if len(hits) <= added {
		return nil
	}
	return hits
}
