package apply

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// journalBytes gives a whole journal of an apply with every kind of move.
func journalBytes(t testing.TB) []byte {
	t.Helper()
	s := crashSite(t)
	s.apply(crashTargets(s.store)...)
	data, err := os.ReadFile(filepath.Join(s.journal, "000001.jsonl"))
	must(t, err)
	return data
}

func TestTornJournalIsReadUpToItsLastWholeLine(t *testing.T) {
	data := journalBytes(t)
	whole, err := parse(data)
	if err != nil || whole == nil || whole.state != recDone {
		t.Fatalf("whole: got %+v, %v", whole, err)
	}
	rank := map[string]int{"": 0, recBegin: 1, recCommit: 2, recMoved: 3, recDone: 4}
	last := 0
	for n := range len(data) {
		got, err := parse(data[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		state := ""
		if got != nil {
			state = got.state
			if int(got.size) > n || len(got.moves) != got.Moves {
				t.Fatalf("cut at %d: got size %d, %d of %d moves", n, got.size, len(got.moves), got.Moves)
			}
		}
		if rank[state] < last {
			t.Fatalf("cut at %d: got state %q after a later one", n, state)
		}
		last = rank[state]
	}
	if last != 3 {
		t.Errorf("all but the last byte: got rank %d, want 3", last)
	}
}

func TestRecoverContinuesATornJournal(t *testing.T) {
	s := crashSite(t)
	before := s.snap()
	if step := s.crash("apply", 30, false); step == "" {
		t.Fatal("apply came to its end, want it killed")
	}
	f, err := os.OpenFile(s.journal+"/000001.jsonl", os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"version":2,"rec`)
	must(t, err)
	must(t, f.Close())
	rec, err := Recover(context.Background(), s.options())
	if err != nil || len(rec.RolledBack) != 1 {
		t.Fatalf("got %+v, %v, want it rolled back", rec, err)
	}
	s.wantSame(before)
	h, err := History(s.journal)
	if err != nil || len(h) != 1 || h[0].State != recRolledBack {
		t.Errorf("history: got %+v, %v, want one that was rolled back", h, err)
	}
}

func TestDamagedJournalIsRefused(t *testing.T) {
	data := journalBytes(t)
	lines := bytes.SplitAfter(data, []byte{'\n'})
	lines = lines[:len(lines)-1]
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	tests := map[string][]byte{
		"a byte changed":    bytes.Replace(data, []byte(`"path":"mod"`), []byte(`"path":"mop"`), 1),
		"a line gone":       join(join(lines[:3]...), join(lines[4:]...)),
		"two lines swapped": join(lines[0], lines[2], lines[1], join(lines[3:]...)),
		"the first gone":    join(lines[1:]...),
		"garbage inside":    join(lines[0], []byte("garbage\n"), join(lines[1:]...)),
		"newer version":     bytes.ReplaceAll(data, []byte(`"version":2`), []byte(`"version":3`)),
		"unknown key":       bytes.Replace(data, []byte(`{"version"`), []byte(`{"more":1,"version"`), 1),
		"unknown record":    append(bytes.Clone(data), []byte(`{"version":2,"record":"more","prev":""}`+"\n")...),
	}
	for name, d := range tests {
		if got, err := parse(d); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
	s := newSite(t)
	must(t, os.MkdirAll(s.journal, 0o700))
	must(t, os.WriteFile(s.journal+"/000001.jsonl", tests["a byte changed"], 0o600))
	_, err := Apply(context.Background(), s.options(), []Target{{Path: "a", Want: s.store.file("a")}})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("apply on a damaged journal: got %v, want an error that says so", err)
	}
	s.wantSame(snap{})
}

func TestForgedJournalCannotReachOutside(t *testing.T) {
	base := journalBytes(t)
	for _, forged := range []struct{ old, new string }{
		{`"path":"mod"`, `"path":"../mod"`},
		{`"path":"mod"`, `"path":".git/hooks/x"`},
		{`"path":"mod"`, `"path":"/etc/passwd"`},
		{`"temp":".fumehood-`, `"temp":"../.fumehood-`},
		{`"temp":".fumehood-`, `"temp":".git/.fumehood-`},
		{`"temp":".fumehood-`, `"temp":"x`},
		{`"path":"new/dir"`, `"path":"../new"`},
	} {
		data := rechain(t, bytes.Replace(base, []byte(forged.old), []byte(forged.new), 1))
		if got, err := parse(data); err == nil {
			t.Errorf("%s: got %+v, want an error", forged.new, got)
		}
	}
	if _, err := parse(rechain(t, base)); err != nil {
		t.Errorf("chained anew without a change: %v", err)
	}
}

// rechain gives a changed journal the hashes that fit.
func rechain(t testing.TB, data []byte) []byte {
	t.Helper()
	var out []byte
	prev := ""
	for _, line := range bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'}) {
		i := bytes.Index(line, []byte(`"prev":"`)) + len(`"prev":"`)
		j := i + bytes.IndexByte(line[i:], '"')
		line = append(append(bytes.Clone(line[:i]), prev...), line[j:]...)
		prev = lineHash(line)
		out = append(append(out, line...), '\n')
	}
	return out
}

func FuzzParse(f *testing.F) {
	data := journalBytes(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data)
		if err != nil || got == nil {
			return
		}
		for _, m := range got.moves {
			if m.valid() != nil {
				t.Errorf("took an invalid move %+v", m)
			}
		}
		if got.size > int64(len(data)) {
			t.Errorf("counts %d bytes of %d", got.size, len(data))
		}
	})
}
