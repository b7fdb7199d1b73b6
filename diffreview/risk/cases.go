package risk

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"fumehood/diffreview"
)

var (
	// caseList is where the list of a test's cases begins, caseLine a line that is
	// one case, and caseRow a row of a table.
	caseList = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`parametrize\(|\.each(\s*\(|\s*<.*>\s*\()|@(ValueSource|CsvSource|EnumSource)\(|\bhypothesis\.example|@Parameters|#\[values\(|@TestWith|\[Values\(|rstest|\bwhere:|arguments:\s*\[`)
	})
	caseLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(\[(InlineData|TestCase|DataRow|Arguments|Values)\(|#\[(case|test_case)\b|@(CsvSource|TestWith|Example|example)\b|- \{|@pytest\.param|pytest\.param\(|Arguments\.(of|arguments)\()`)
	})
	caseRow = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(\{.*\}|\(.*\)|\[.*\]|\|.*\|),?\s*$`)
	})
)

// casesRemoved finds lists and tables of cases in tests that got shorter. What is
// written anew in the same hunk counts as the same cases.
func casesRemoved(s *subject, _ picked) (hits []hit) {
	if s.came() || s.gone() || !s.test || s.prose || s.data || len(s.removed) == 0 {
		return nil
	}
	for i := range s.f.Hunks {
		h := &s.f.Hunks[i]
		if h.OldLines == 0 || !slices.ContainsFunc(h.Lines, func(l diffreview.Line) bool { return l.Op == '-' }) {
			continue
		}
		gone, came := 0, 0
		at, was := 0, -1
		for _, l := range h.Lines {
			text := clip(l.Text)
			switch {
			case l.Op == ' ':
				at = l.New
			case caseList().Match(text):
				n := commas(text)
				if l.Op == '-' {
					was = n
				} else if was > n && was >= 0 {
					hits = append(hits, hit{line: l.New})
					was = -1
				}
			case isCase(text):
				if l.Op == '-' {
					gone++
				} else {
					came++
				}
			case l.Op == '+' && len(bytes.TrimSpace(text)) > 0:
				came++
			}
			if l.Op == '+' {
				at = l.New
			}
		}
		if gone > 0 && came == 0 && onlyCases(h) {
			hits = append(hits, hit{line: at})
		}
	}
	return hits
}

// onlyCases says whether a hunk takes out cases and nothing else, and leaves some:
// a table that goes as a whole goes with its test.
func onlyCases(h *diffreview.Hunk) bool {
	left := false
	for _, l := range h.Lines {
		row := isCase(clip(l.Text))
		switch {
		case l.Op == '+':
			return false
		case l.Op == ' ':
			left = left || row
		case !row && len(bytes.TrimSpace(l.Text)) > 0:
			return false
		}
	}
	return left
}

// isCase says whether a line is one case. Most lines begin with a letter.
func isCase(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) > 0 && bytes.IndexByte([]byte("{([|#@-pA"), t[0]) >= 0 && (caseLine().Match(text) || caseRow().Match(text))
}

// commas counts what a list on one line has, roughly.
func commas(text []byte) int { return bytes.Count(text, []byte(",")) }

// testsConditional finds conditions under which tests that were there are no
// longer built.
func testsConditional(s *subject, with picked) (hits []hit) {
	if s.came() || s.gone() || !s.testish() {
		return nil
	}
	was := false // a condition was there and is another now
	for _, l := range s.removed {
		was = was || bytes.Contains(l.text, []byte("go:build"))
	}
	cfg := false
	for _, l := range s.removed {
		cfg = cfg || bytes.Contains(l.text, []byte("cfg(test)"))
	}
	lines, _ := with.added()
	for _, l := range lines {
		switch {
		case bytes.Contains(l.text, []byte("cfg(")):
			if cfg {
				hits = append(hits, hit{line: l.no})
			}
		case bytes.Contains(l.text, []byte("build")):
			if !was && s.test {
				hits = append(hits, hit{line: l.no})
			}
		case s.test:
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

var tolerance = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(rel|abs|places|delta|precision|tol|tolerance|eps|epsilon|within|atol|rtol|rel_tol|abs_tol|max_?diff\w*|threshold|decimal|digits|toBeCloseTo\([^,]*)\b?\s*[=:(,]\s*(\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)`)
})

// finer are the tolerances of which a smaller number asks for less.
var finer = words("places precision decimal digits")

// toleranceWidened finds numbers that say how near is near enough, and that take
// the place of stricter ones on a line that is else the same.
func toleranceWidened(s *subject, _ picked) (hits []hit) {
	if s.came() || s.gone() || !s.test || s.prose || s.data {
		return nil
	}
	was := map[string]float64{}
	for _, l := range s.removed[:min(len(s.removed), maxLook)] {
		if key, _, n, ok := toleranceOf(l.text); ok {
			was[key] = n
		}
	}
	if len(was) == 0 {
		return nil
	}
	for _, l := range s.added[:min(len(s.added), maxLook)] {
		key, word, n, ok := toleranceOf(l.text)
		before, there := was[key]
		if !ok || !there {
			continue
		}
		if loose := n > before; loose != finer.has(word) && n != before {
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

// toleranceOf gives a line without its tolerance, the word for it and the number.
func toleranceOf(text []byte) (key, word string, n float64, ok bool) {
	text = clip(text)
	if bytes.IndexByte(text, '(') < 0 {
		return "", "", 0, false
	}
	at := tolerance().FindSubmatchIndex(text)
	if at == nil {
		return "", "", 0, false
	}
	n, err := strconv.ParseFloat(string(bytes.ReplaceAll(text[at[4]:at[5]], []byte("_"), nil)), 64)
	word = string(bytes.ToLower(text[at[2]:at[3]]))
	if bytes.HasPrefix(text[at[2]:at[3]], []byte("toBeCloseTo")) {
		word = "digits"
	}
	return string(text[:at[4]]) + "\x00" + string(bytes.TrimSpace(text[at[5]:])), word, n, err == nil
}

var compared = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bexpect\((?P<a>[^()]+|[^()]*\([^()]*\)[^()]*)\)\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.eql|to\.be)\((?P<b>[^()]+|[^()]*\([^()]*\)[^()]*)\)|` +
		`^\s*assert!?\s*\(?\s*(?P<c>[^=!<>,]+?)\s*===?\s*(?P<d>[^=!<>,]+?)\s*\)?\s*;?\s*$|` +
		`\b(?:assert_?[eE]quals?|assert_?[sS]ame|assert_eq!?|Equal|StrictEqual|strictEqual|deepEqual|deepStrictEqual|EqualValues|AreEqual|(?:EXPECT|ASSERT|CHECK|REQUIRE)_EQ)\(\s*(?:t\s*,\s*)?(?P<e>[^,()"']+)\s*,\s*(?P<f>[^,()"']+?)\s*[,)]`)
})

// comparing are words of calls that compare two things.
var comparing = sync.OnceValue(func() *wordSet { return newWordSet([]string{"ssert", "xpect(", "qual(", "_EQ("}) })

// selfCompared finds assertions whose two sides are the same text. That a thing
// equals itself is worth a test only where equality is what is tested.
func selfCompared(s *subject, _ picked) (hits []hit) {
	if !s.testish() {
		return nil
	}
	tried := 0
	for _, l := range s.added {
		if !comparing().in(l.text) ||
			bytes.IndexByte(l.text, ',') < 0 && !bytes.Contains(l.text, []byte("==")) && !bytes.Contains(l.text, []byte(").to")) {
			continue
		}
		if tried++; tried > maxLook {
			return append(hits, s.tooMany())
		}
		at := compared().FindSubmatch(clip(l.text))
		if at == nil || s.commentLine(l.text) {
			continue
		}
		for g := 1; g+1 < len(at); g += 2 {
			a, b := bytes.TrimSpace(at[g]), bytes.TrimSpace(at[g+1])
			if len(a) > 0 && bytes.Equal(a, b) {
				hits = append(hits, hit{line: l.no})
			}
		}
	}
	return hits
}
