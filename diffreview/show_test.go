package diffreview

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func shown(t *testing.T) *ChangeSet {
	t.Helper()
	cs := build(t, newSource(
		tree{"a.go": text(numbered(9, nil)), "run.sh": text("x\n"), "logo.png": text("\x00a"), "old": text("x\ny\n")},
		tree{
			"a.go": text(numbered(9, map[int]string{5: "five\n"})), "run.sh": {data: "x\n", exec: true},
			"logo.png": text("\x00bc"), "bad\xff\x1b.md": text("hi\n"), "link": {data: "a.go", link: true},
		},
	))
	cs.Session, cs.Repo, cs.SnapshotAt = "s1", "/src/app", time.Unix(0, 0)
	cs.Ignored = IgnoredChanges{Count: 2, Paths: []string{"dist/a", "dist/\xff"}}
	cs.LeftOut = []LeftOut{{Path: "run/pipe", Reason: "named pipe"}}
	for i := range cs.Files {
		if f := &cs.Files[i]; f.Path == "run.sh" {
			f.Findings = []Finding{{Rule: "executable-bit", Severity: Warn, Why: "it can be run"}}
		}
	}
	return cs
}

func TestWriteJSON(t *testing.T) {
	cs := shown(t)
	for i := range cs.Files {
		cs.Files[i].Whole = "w"
		for j := range cs.Files[i].Hunks {
			cs.Files[i].Hunks[j].ID = "h"
		}
	}
	cs.Files = cs.Files[:2]
	cs.Files[0].Hunks[0].Decision = Approved
	cs.Files[0].WholeMark.Decision = Approved
	var b bytes.Buffer
	if err := WriteJSON(&b, cs, &Decisions{}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/changeset.json")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestWriteStat(t *testing.T) {
	var b bytes.Buffer
	if err := WriteStat(&b, shown(t), 80); err != nil {
		t.Fatal(err)
	}
	const want = ` a.go             |          2 +-
 link             |       link
 logo.png         | Bin 2 -> 3 bytes
 old              |          2 --
 run.sh           | mode 100644 -> 100755
 "bad\xff\x1b.md" |          1 +
 6 files changed, 2 insertions(+), 3 deletions(-)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestJSONIsDocumented: every field that can be printed is named on the page.
func TestJSONIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "## `diff --json`")
	if !ok {
		t.Fatal("docs/json.md has no section on diff --json")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	known := map[string]bool{"path_b64": true} // of every path, said once at the top
	for _, w := range regexp.MustCompile(`[a-z][a-z0-9_]*`).FindAllString(section, -1) {
		known[w] = true
	}
	fields := 0
	var walk func(reflect.Type)
	walk = func(v reflect.Type) {
		switch {
		case v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice:
			walk(v.Elem())
		case v.Kind() == reflect.Struct && v != reflect.TypeFor[time.Time]():
			for i := range v.NumField() {
				f := v.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" {
					fields++
				}
				if name != "" && !known[name] {
					t.Errorf("%s.%s is printed as %q, and docs/json.md does not say so", v.Name(), f.Name, name)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[jsonSet]())
	if fields < 50 {
		t.Errorf("got %d fields, want them all: the test does not test", fields)
	}
}
