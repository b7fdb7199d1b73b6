package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAJobIsDoneAndToldOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	job, err := json.Marshal(Job{Actions: []Action{
		{Seq: 0, Steps: []Step{{Call: "openat", Args: []string{"-100", "s:" + file, "0"}, Save: "fd"}, {Call: "read", Args: []string{"$fd", "z:64", "len:1"}}}},
		{Seq: 1, Steps: []Step{{Call: "openat", Args: []string{"-100", "s:" + file + "/none", "0"}, Save: "fd"}, {Call: "read", Args: []string{"$fd", "z:64", "64"}}, {Call: "getpid", Always: true}}},
		{Seq: 2, Do: "no such action"},
		{Seq: 3, Steps: []Step{{Call: "mkdir", Args: []string{"bad", "0"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(bytes.NewReader(append(job, '\n')), &out); err != nil {
		t.Fatal(err)
	}
	said, hello, done := map[int]Said{}, false, false
	for line := range strings.Lines(out.String()) {
		if m, ok := Parse(line); ok {
			hello, done = hello || m.Hello != nil, done || m.Done
			if m.Said != nil {
				said[m.Said.Seq] = *m.Said
			}
		}
	}
	if !hello || !done || len(said) != 4 {
		t.Fatalf("got hello %v, done %v, %v", hello, done, said)
	}
	if s := said[0]; s.Errno != 0 || string(s.Got) != "content" {
		t.Errorf("got %+v, want the file's content", s)
	}
	if s := said[1]; s.Step != 1 || s.Errno != int(unix.ENOTDIR) || len(s.Got) != 0 {
		t.Errorf("got %+v, want the first step refused and the second not made", s)
	}
	if said[2].Err == "" {
		t.Error("an unknown action is not told of")
	}
	if said[3].Errno != int(unix.EFAULT) {
		t.Errorf("got %+v, want EFAULT for the address that is never there", said[3])
	}
}

func TestWhatIsNoJobIsAnError(t *testing.T) {
	for _, text := range []string{"{", "[]", `{"actions": 7}`} {
		if err := run(strings.NewReader(text+"\n"), &bytes.Buffer{}); err == nil {
			t.Errorf("%q was taken for a job", text)
		}
	}
	if err := run(strings.NewReader(""), &bytes.Buffer{}); err != nil {
		t.Errorf("got %v, want a probe that only stands there to end well", err)
	}
}

func TestArgumentsThatMeanNothingAreErrors(t *testing.T) {
	for _, a := range []string{"", "x", "$nobody", "d:!", "z:0", "z:99999999999", "len:9", "-", "0x"} {
		if s := steps([]Step{{Call: "getpid", Args: []string{a}}}); s.Err == "" {
			t.Errorf("%q was taken for an argument", a)
		}
	}
	if s := steps([]Step{{Call: "no_such_call"}}); s.Err == "" {
		t.Error("an unknown call was made")
	}
}

func TestOtherLinesAreNotTheProbes(t *testing.T) {
	for _, line := range []string{"", "hello", Line, Line + "{", "x" + Line + `{"done":true}`} {
		if m, ok := Parse(line); ok {
			t.Errorf("%q: got %+v", line, m)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Line + `{"said":{"seq":1}}`)
	f.Fuzz(func(_ *testing.T, line string) { Parse(line) })
}
