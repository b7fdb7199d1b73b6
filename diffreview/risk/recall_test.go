package risk

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"fumehood/diffreview"
)

// A kase is a small change with what must be said of it: of a trap a finding at
// each of the paths, at least as severe; of a look-alike nothing above a note.
type kase struct {
	ID, Kind, Severity, Why string
	At                      []string
	Optional                bool // is tried and reported, not counted
	Absent                  bool // also right when it can't come to the host at all
	Base, Change            map[string]*struct {
		Kind, Text, Base64, Target string
		Executable                 bool
	}
}

func cases(t *testing.T) []kase {
	t.Helper()
	f, err := os.Open("testdata/cases.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []kase
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func realPath(t *testing.T, p string) string {
	t.Helper()
	enc, ok := strings.CutPrefix(p, "base64:")
	if !ok {
		return p
	}
	b, err := base64.StdEncoding.DecodeString(enc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (k kase) trees(t *testing.T) (old, new tree) {
	t.Helper()
	old, new = tree{}, tree{}
	for p, e := range k.Base {
		n := node{data: e.Text, exec: e.Executable, link: e.Kind == "symlink"}
		if e.Base64 != "" {
			b, err := base64.StdEncoding.DecodeString(e.Base64)
			if err != nil {
				t.Fatal(err)
			}
			n.data = string(b)
		}
		old[realPath(t, p)], new[realPath(t, p)] = n, n
	}
	for p, e := range k.Change {
		if e == nil {
			delete(new, realPath(t, p))
			continue
		}
		n := node{data: e.Text, exec: e.Executable, link: e.Kind == "symlink"}
		if e.Base64 != "" {
			b, err := base64.StdEncoding.DecodeString(e.Base64)
			if err != nil {
				t.Fatal(err)
			}
			n.data = string(b)
		}
		new[realPath(t, p)] = n
	}
	return old, new
}

func TestTrapsAreFoundAndLookalikesAreNot(t *testing.T) {
	traps, found, quiet, loud := 0, 0, 0, 0
	for _, k := range cases(t) {
		cs := look(t, first(k.trees(t)), second(k.trees(t)))
		if k.Kind == "benign" {
			quiet++
			for i := range cs.Files {
				f := &cs.Files[i]
				if f.Severity().Rank() <= diffreview.Note.Rank() {
					continue
				}
				t.Logf("%s (%s): got %v at %s, want nothing above a note", k.ID, k.Why, f.Findings[0], f.Path)
				if !k.Optional {
					loud++
				}
			}
			continue
		}
		ok := true
		for _, at := range k.At {
			f := file(cs, realPath(t, at))
			if f == nil {
				ok = ok && k.Absent
				continue
			}
			want := diffreview.Severity(k.Severity)
			if want == "shown" {
				continue // it is there to be seen
			}
			if f.Severity().Rank() < want.Rank() {
				t.Logf("%s (%s): got %v at %s, want %s", k.ID, k.Why, f.Findings, at, want)
				ok = false
			}
		}
		if k.Optional {
			continue
		}
		traps++
		if ok {
			found++
		}
	}
	t.Logf("%d of %d traps found, %d false alarms in %d look-alikes", found, traps, loud, quiet)
	if found*100 < traps*98 {
		t.Errorf("got %d of %d traps, want 98 of 100", found, traps)
	}
	if loud > 0 {
		t.Errorf("got %d false alarms, want 0", loud)
	}
	if traps < 100 || quiet < 40 {
		t.Errorf("got %d traps and %d look-alikes: the file of cases is not whole", traps, quiet)
	}
}

func first(a, _ tree) tree  { return a }
func second(_, b tree) tree { return b }
