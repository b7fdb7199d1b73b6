package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"fumehood/diffreview"
)

// printSource is one or more files in memory.
type printSource struct {
	changes []diffreview.Change
	blobs   map[diffreview.Blob]string
}

func (s *printSource) Changes() []diffreview.Change { return s.changes }

func (s *printSource) Content(b diffreview.Blob, _ int64) ([]byte, error) {
	text, ok := s.blobs[b]
	if !ok {
		return nil, fmt.Errorf("no blob %s", b)
	}
	return []byte(text), nil
}

func (s *printSource) put(text string) diffreview.Blob {
	sum := sha256.Sum256([]byte(text))
	b := diffreview.Blob(hex.EncodeToString(sum[:]))
	if s.blobs == nil {
		s.blobs = map[diffreview.Blob]string{}
	}
	s.blobs[b] = text
	return b
}

// change adds a change; "" is absent on that side.
func (s *printSource) change(path, old, new string) {
	entry := func(text string) diffreview.Entry {
		if text == "" {
			return diffreview.Entry{}
		}
		return diffreview.Entry{Kind: diffreview.KindFile, Blob: s.put(text), Size: int64(len(text))}
	}
	s.changes = append(s.changes, diffreview.Change{Path: path, Old: entry(old), New: entry(new)})
}

func (s *printSource) set(t *testing.T) *diffreview.ChangeSet {
	t.Helper()
	cs, err := diffreview.Build(context.Background(), s, diffreview.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func (s *printSource) print(t *testing.T, cs *diffreview.ChangeSet, d *diffreview.Decisions, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	p := newDiffPrinter(&b, d, func(b diffreview.Blob) ([]byte, error) { return s.Content(b, 0) })
	p.colour = colour
	if err := p.set(cs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDiffSaysWhatWasDecidedOfEachLine(t *testing.T) {
	var s printSource
	s.change("f", "a\nb\nc\n", "A\nB\nc\nd\n")
	s.change("g", "one\n", "two\n")
	s.change("h", "1\n", "2\n")
	cs := s.set(t)
	for id, d := range map[string]diffreview.Decision{
		cs.Files[0].Hunks[0].ID: {Lines: "ar.ar"},
		cs.Files[1].Hunks[0].ID: {Verdict: diffreview.Approved, Edit: s.put("mine\x1b\nend")},
		cs.Files[2].Hunks[0].ID: {Verdict: diffreview.Rejected},
	} {
		for i := range cs.Files {
			cs.Files[i].Decide(id, d)
		}
	}
	got := s.print(t, cs, &diffreview.Decisions{}, false)
	for _, want := range []string{
		"modified f\n@@ -1,3 +1,4 @@ [line by line: 2 of 5 approved, 2 rejected]\n[a] -a\n[r] -b\n[ ] +A\n[a] +B\n     c\n[r] +d\n",
		"modified g [approved]\n@@ -1,1 +1,1 @@ [approved as edited, below]\n-one\n+two\nas edited, context included:\n|mine␛\n|end\n\\ No newline at end of file\n",
		"modified h [rejected]\n@@ -1,1 +1,1 @@ [rejected]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", got, want)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("got an escape in %q", got)
	}
}

func TestDiffShowsWhatIsNotInLines(t *testing.T) {
	text := strings.Repeat("line\n", 20)
	var s printSource
	s.change("b", "", text+"new\n")
	s.change("a => c", "x\n", "y\n")
	s.change("crlf", strings.ReplaceAll(text, "\n", "\r\n"), strings.Replace(text, "line", "real", 1))
	s.change("pic.png", "\x00a", "\x00bc")
	s.change("z", text, "")
	for i, c := range s.changes {
		if c.Path == "a => c" {
			s.changes[0], s.changes[i] = s.changes[i], s.changes[0]
		}
	}
	cs := s.set(t)
	for i := range cs.Files {
		if f := &cs.Files[i]; f.Status == diffreview.Renamed {
			f.Decide(f.Hunks[0].ID, diffreview.Decision{Verdict: diffreview.Approved})
			f.Decide(f.Whole, diffreview.Decision{Verdict: diffreview.Rejected})
		}
	}
	got := s.print(t, cs, &diffreview.Decisions{}, false)
	for _, want := range []string{
		" z => b ", ` "a => c" `, "endings CRLF -> LF",
		"renamed z -> b [approved in part]\n  the move itself [rejected]\n@@ -18,3 +18,4 @@ [approved]\n line\n line\n line\n+new\n",
		"modified crlf\n  line endings changed on 20 lines: CRLF -> LF\n@@ -1,4 +1,4 @@\n-line\n+real\n",
		"modified pic.png\n  NOT SHOWN: binary, 2 -> 3 bytes; to approve it is to take it unseen\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it\n%s", got, want)
		}
	}
}

func TestDiffCutsALongLineAndSaysSo(t *testing.T) {
	old := strings.Repeat("é", 2_000_000)
	var s printSource
	s.change("f", old+"\n", old[:2_000_000]+"#"+old[2_000_000:]+"\n")
	s.change("g", "", strings.Repeat("y", 5000))
	begin := time.Now()
	got := s.print(t, s.set(t), &diffreview.Decisions{}, false)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("got it in %v, want under 10s", took)
	}
	if len(got) > 4000 || !strings.Contains(got, "é#é") || strings.Contains(got, "<C3>") || strings.Contains(got, "<A9>") {
		t.Errorf("got %d bytes, want what changed and no more, on whole characters: %.3000s", len(got), got)
	}
	for _, want := range []string{
		"\\ bytes 1999901 to 2000201 of a line of 4000001; the others are NOT SHOWN\n",
		"\\ bytes 1 to 300 of a line of 5000; the others are NOT SHOWN\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %.3000s\nwant in it %s", got, want)
		}
	}
}

func TestDiffPutsCommentsUnderTheirLines(t *testing.T) {
	base := strings.Repeat("-\n", 20)
	var s printSource
	s.change("f", base+"a\nb\n", base+"A\nB\n")
	cs := s.set(t)
	now := cs.Files[0].New.Blob
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	d := &diffreview.Decisions{Comments: []diffreview.Comment{
		{Path: "f", Line: 22, Was: now, Body: "why\x1b[2J\nso?\n", By: "me\n"},
		{Path: "f", OldLine: 21, Body: "keep", By: "me", Sent: at},
		{Path: "f", Line: 3, Was: now, Body: "far", By: "me"},
		{Path: "f", Line: 23, Was: s.put("top\n" + base + "A\nB\n"), Body: "moved", By: "me"},
		{Path: "f", Line: 1, Was: s.put("top\n" + base + "A\nB\n"), Body: "gone", By: "me"},
		{Path: "f", Body: "all of f", By: "me"},
		{Body: "of it all", By: "me", At: at},
		{Path: "elsewhere", Line: 1, Body: "nothing there", By: "me"},
	}}
	got := s.print(t, cs, d, false)
	_, got, _ = strings.Cut(got, "\nmodified f\n")
	want := `>> comment by me on line 3 (not sent yet)
>>   far
>> comment by me on line 1 of an earlier text, which is gone or was replaced (not sent yet)
>>   gone
>> comment by me on the file (not sent yet)
>>   all of f
@@ -18,5 +18,5 @@
 -
 -
 -
-a
>> comment by me on old line 21 (sent)
>>   keep
-b
+A
+B
>> comment by me  on line 22 (not sent yet)
>>   why␛[2J
>>   so?
>> comment by me on line 23 (not sent yet)
>>   moved

>> comment by me on elsewhere, which is not changed any more (not sent yet)
>>   nothing there
>> comment by me of the change set (not sent yet)
>>   of it all
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiffPaintsNothingElse(t *testing.T) {
	var s printSource
	s.change("f", "a\n", "b\x1b[2J\n")
	cs := s.set(t)
	plain, painted := s.print(t, cs, &diffreview.Decisions{}, false), s.print(t, cs, &diffreview.Decisions{}, true)
	for _, sgr := range []string{"\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[m"} {
		if !strings.Contains(painted, sgr) {
			t.Errorf("got %q, want %q in it", painted, sgr)
		}
		painted = strings.ReplaceAll(painted, sgr, "")
	}
	if painted != plain {
		t.Errorf("got %q without its colours, want %q", painted, plain)
	}
}
