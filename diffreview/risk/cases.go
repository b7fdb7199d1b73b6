package risk

import (
	"bytes"
	"regexp"
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
	if s.came() || s.gone() || !s.test || s.prose || s.data {
		return nil
	}
	for i := range s.f.Hunks {
		h := &s.f.Hunks[i]
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
			case caseLine().Match(text) || caseRow().Match(text):
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
		row := caseLine().Match(clip(l.Text)) || caseRow().Match(clip(l.Text))
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
		was = was || bytes.Contains(l.text, []byte("go:build")) || bytes.Contains(l.text, []byte("+build"))
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
func toleranceWidened(s *subject, with picked) (hits []hit) {
	if s.came() || s.gone() || !s.test {
		return nil
	}
	was := map[string]float64{}
	gone, _ := with.removed()
	for _, l := range gone {
		if key, _, n, ok := toleranceOf(l.text); ok {
			was[key] = n
		}
	}
	if len(was) == 0 {
		return nil
	}
	came, _ := with.added()
	for _, l := range came {
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
