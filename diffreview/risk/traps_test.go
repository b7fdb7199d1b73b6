package risk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fumehood/diffreview"
)

// A trap is a small change with what must be said of it, written by us beside
// those of cases.json.gz. testdata/traps holds an archive for each kind: a line
// "trap NAME SEVERITY why" or "quiet NAME why" begins one, its files are
// NAME/old/PATH and NAME/new/PATH. What an archive can't hold follows that line:
// "new file PATH TEXT", "new exec PATH TEXT", "new link PATH TARGET", quoted.
// "at PATH" says where the finding belongs when that is not the one new path.
// "{}" in a text stands for nothing: it keeps what only looks like a key apart.
type trap struct {
	name, why string
	want      diffreview.Severity // of the path at; "" for quiet ones
	at        []string
	old, new  tree
}

func readTraps(file string) ([]*trap, error) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	var all []*trap
	byName := map[string]*trap{}
	for l := range strings.Lines(string(a.Comment)) {
		l = strings.TrimSpace(l)
		word, rest, _ := strings.Cut(l, " ")
		switch word {
		case "":
		case "trap", "quiet":
			x := &trap{old: tree{}, new: tree{}}
			x.name, x.why, _ = strings.Cut(rest, " ")
			if word == "trap" {
				var sev string
				sev, x.why, _ = strings.Cut(x.why, " ")
				x.want = diffreview.Severity(sev)
			}
			if byName[x.name] != nil || x.why == "" {
				return nil, fmt.Errorf("line %q: twice, or without reason", l)
			}
			byName[x.name] = x
			all = append(all, x)
		default:
			if len(all) == 0 || !all[len(all)-1].line(word, rest) {
				return nil, fmt.Errorf("line %q: not understood", l)
			}
		}
	}
	for _, f := range a.Files {
		p := strings.SplitN(f.Name, "/", 3)
		if len(p) != 3 || byName[p[0]] == nil {
			return nil, fmt.Errorf("file %q: of no trap", f.Name)
		}
		x := byName[p[0]]
		side := map[string]tree{"old": x.old, "new": x.new}[p[1]]
		if side == nil {
			return nil, fmt.Errorf("file %q: of no side", f.Name)
		}
		side[p[2]] = node{data: strings.ReplaceAll(string(f.Data), "{}", "")}
	}
	return all, nil
}

func (x *trap) line(word, rest string) bool {
	if word == "at" {
		p, err := strconv.Unquote(rest)
		x.at = append(x.at, p)
		return err == nil
	}
	side := map[string]tree{"old": x.old, "new": x.new}[word]
	kind, rest, _ := strings.Cut(rest, " ")
	q, err := strconv.QuotedPrefix(rest)
	if err != nil || side == nil {
		return false
	}
	path, err1 := strconv.Unquote(q)
	text, err2 := strconv.Unquote(strings.TrimSpace(rest[len(q):]))
	side[path] = node{data: strings.ReplaceAll(text, "{}", ""), exec: kind == "exec", link: kind == "link"}
	return err1 == nil && err2 == nil && (kind == "file" || kind == "exec" || kind == "link")
}

// places are where the finding belongs.
func (x *trap) places() []string {
	if len(x.at) > 0 {
		return x.at
	}
	var out []string
	for p := range x.new {
		if x.old[p] != x.new[p] {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		for p := range x.old {
			out = append(out, p)
		}
	}
	return out
}

func TestOwnTraps(t *testing.T) {
	files, err := filepath.Glob("testdata/traps/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	traps, found, quiet, loud := 0, 0, 0, 0
	for _, name := range files {
		all, err := readTraps(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kind := strings.TrimSuffix(filepath.Base(name), ".txtar")
		of, missed := 0, 0
		for _, x := range all {
			cs := look(t, x.old, x.new)
			if x.want == "" {
				quiet++
				for i := range cs.Files {
					if f := &cs.Files[i]; f.Severity().Rank() > note.Rank() {
						loud++
						t.Logf("%s/%s (%s): got %v at %q, want nothing above a note", kind, x.name, x.why, f.Findings[0], f.Path)
					}
				}
				continue
			}
			traps++
			of++
			ok := true
			for _, at := range x.places() {
				f := file(cs, at)
				if f == nil || f.Severity().Rank() < x.want.Rank() {
					ok = false
					t.Logf("%s/%s (%s): got %v at %q, want %s", kind, x.name, x.why, f, at, x.want)
				}
			}
			if ok {
				found++
			} else {
				missed++
			}
		}
		if os.Getenv("V") != "" {
			t.Logf("%s: %d of %d", kind, of-missed, of)
		}
		if of < 8 || len(all)-of < 4 {
			t.Errorf("%s: got %d traps and %d quiet changes, want 8 and 4", kind, of, len(all)-of)
		}
	}
	t.Logf("%d of %d traps found, %d false alarms in %d ordinary changes", found, traps, loud, quiet)
	if found*100 < traps*98 {
		t.Errorf("got %d of %d traps, want 98 of 100", found, traps)
	}
	if loud > 0 {
		t.Errorf("got %d false alarms, want 0", loud)
	}
}
