package risk

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fumehood/diffreview"
)

// realEnv names a folder of consecutive versions of real projects, as
// testdata/real.sh fetches them: PROJECT/NUMBER-VERSION/files.
const realEnv = "FUMEHOOD_RISK_REAL"

// ordinaryExt are the endings of source code; what a tool runs by its name is
// no ordinary source, whatever the ending.
var ordinaryExt = words(".go .rs .java .kt .scala .cs .c .cc .cpp .h .hpp .m .swift .py .pyi .js .ts .mjs .cjs .jsx .tsx .rb .php .lua .pl .pm .sh .ex .erl .hs .ml .zig .vue .svelte .css .scss .less .html .proto .sql .s .y .ml .el .tcl .r")

// tally is what the files of many changes carry.
type tally struct {
	sets, files, loud int
	lines             int
	rules             map[string]int      // files that carry the rule above a note
	places            map[string][]string // some of them
}

// TestOrdinaryChangesAreQuiet: fewer than 5 of 100 ordinary source files of real
// changes carry a finding above a note. docs/risks.md has the figures.
func TestOrdinaryChangesAreQuiet(t *testing.T) {
	dir := os.Getenv(realEnv)
	if dir == "" {
		t.Skipf("got no folder of real projects, want one in %s: testdata/real.sh fetches them", realEnv)
	}
	projects, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv(realEnv + "_ONLY") // a pattern of projects, while a rule is worked on
	kinds := map[string]*tally{}
	all := newTally()
	for _, p := range projects {
		kind, _, ok := strings.Cut(p.Name(), "-")
		if match, err := path.Match(only, p.Name()); !ok || !p.IsDir() || only != "" && (err != nil || !match) {
			continue
		}
		if kinds[kind] == nil {
			kinds[kind] = newTally()
		}
		versions, err := os.ReadDir(filepath.Join(dir, p.Name()))
		if err != nil {
			t.Fatal(err)
		}
		one := newTally()
		var before tree
		for _, v := range versions {
			now := readTree(t, filepath.Join(dir, p.Name(), v.Name()))
			if before != nil {
				cs := look(t, before, now)
				at := p.Name() + " " + v.Name()
				kinds[kind].take(at, cs)
				all.take(at, cs)
				one.take(at, cs)
			}
			before = now
		}
		if one.loud*100 >= one.files*5 {
			t.Logf("%s: %s", p.Name(), one)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%s: %s", kind, kinds[kind])
	}
	t.Logf("all of %d projects: %s", len(projects), all)
	for _, r := range slices.SortedFunc(maps.Keys(all.rules), func(a, b string) int { return cmp.Or(all.rules[b]-all.rules[a], cmp.Compare(a, b)) }) {
		t.Logf("%5d %s\n\t%s", all.rules[r], r, strings.Join(all.places[r], "\n\t"))
	}
	if all.loud*100 >= all.files*5 {
		t.Errorf("got %d of %d ordinary files with a finding above a note, want fewer than 5 of 100", all.loud, all.files)
	}
}

func newTally() *tally { return &tally{rules: map[string]int{}, places: map[string][]string{}} }

func (c *tally) String() string {
	return fmt.Sprintf("%d of %d ordinary source files with a finding above a note, %.2f of 100 (%d change sets, %d lines)", c.loud, c.files, 100*float64(c.loud)/float64(max(c.files, 1)), c.sets, c.lines)
}

func (c *tally) take(at string, cs *diffreview.ChangeSet) {
	c.sets++
	for i := range cs.Files {
		f := &cs.Files[i]
		if !ordinary(f) {
			continue
		}
		c.files++
		c.lines += f.Added + f.Removed
		if f.Severity().Rank() <= note.Rank() {
			continue
		}
		c.loud++
		seen := map[string]bool{}
		for _, x := range f.Findings {
			if x.Severity.Rank() <= note.Rank() || seen[x.Rule] {
				continue
			}
			seen[x.Rule] = true
			c.rules[x.Rule]++
			if n := c.rules[x.Rule]; len(c.places[x.Rule]) < 12 && (n < 4 || n%7 == 0) {
				c.places[x.Rule] = append(c.places[x.Rule], fmt.Sprintf("%s %s:%d %.160s", at, f.Path, x.Line, lineText(f, x.Line)))
			}
		}
	}
}

func lineText(f *diffreview.File, no int) string {
	if h := f.HunkAt(no); h != nil {
		for _, l := range h.Lines {
			if l.New == no && l.Op == '+' {
				return strings.TrimSpace(string(l.Text))
			}
		}
	}
	return ""
}

// ordinary says whether a file is source code that nothing runs by its name, and
// that was written rather than made.
func ordinary(f *diffreview.File) bool {
	if f.Status == diffreview.Deleted || f.Group() == diffreview.GroupGenerated || !ordinaryExt.has(path.Ext(strings.ToLower(f.Path))) {
		return false
	}
	for _, r := range rules().index.covering(newSubject(f, nil, &Env{})) {
		if r.Line == "" && r.Check == nil {
			return false // of interest by its name alone
		}
	}
	return true
}

func readTree(t *testing.T, dir string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil || len(b) > 4<<20 {
			return err
		}
		out[filepath.ToSlash(rel)] = node{data: string(b)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
