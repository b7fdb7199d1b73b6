package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A check that can't fail shows nothing: each of the scripts' own commands is
// given what it must refuse.
func TestScriptChecksCanFail(t *testing.T) {
	requireStatic(t)
	for name, script := range map[string]string{
		"status":         "status 0 false",
		"status of none": "status 0 no-such-program",
		"json":           "exec echo '{\"a\": [1]}'\njson a.0 2",
		"json negated":   "exec echo '{\"a\": 1}'\n! json a 1",
		"json absent":    "exec echo '{}'\njson a null",
		"jsonkeys":       "exec echo '{\"a\": {\"b\": 1}}'\njsonkeys a b c",
		"jsondoc":        "exec echo '{\"no_such_field\": 1}'\njsondoc 'ls --json'",
		"same, content":  "write d/f a\ntreesum n d\nwrite d/f b\nsame n d",
		"same, time":     "write d/f a\ntreesum n d\nexec touch d/f\nsame n d",
		"same, mode":     "write d/f a\ntreesum n d\nexec chmod 600 d/f\nsame n d",
		"same, new":      "write d/f a\ntreesum n d\nwrite d/g a\nsame n d",
		"same, gone":     "write d/f a\nwrite d/g a\ntreesum n d\nrm d/g\nsame n d",
		"same, negated":  "write d/f a\ntreesum n d\n! same n d",
		"equal":          "write d/f a\ntreesum n d\nexec chmod 600 d/f\nequal n d",
		"treesum":        "mkdir d\ntreesum n d",
		"contains":       "write f 'a\\n'\ncontains f a",
		"names, more":    "write d/f a\nwrite d/g a\nnames d f",
		"names, fewer":   "write d/f a\nnames d f g",
		"alive":          "victim P\nsignal KILL $P\n! alive $P\nalive $P",
		"children":       "victim P\nchildren $P",
		"pidof":          "pidof P abcdefgh",
		"heard, more":    "listen L tcp 127.0.0.1:0\nexec $PROBE tcp $L\nheard L 0",
		"heard, fewer":   "listen L unix sock\nheard L 1",
		"within":         "within 1ms 0 sleep 0.1",
		"repeat":         "repeat 2 0 echo EN",
		"ttyend":         "ttystart t false\nttyend t 0",
		"ttysaw":         "ttystart t echo a\nttyend t 0\n! ttysaw t a",
		"ttymodes, on":   "ttystart t printf '\\033[?1049h'\nttyend t 0\nttymodes t",
		"ttymodes, key":  "ttystart t printf '\\033[>1u'\nttyend t 0\nttymodes t",
		"ttymodes, tty":  "ttystart t stty -echo\nttyend t 0\nttymodes t",
		"left over":      "write .tmp/x a",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "script.txtar")
			if err := os.WriteFile(file, []byte(script+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			f := &failing{}
			done := make(chan struct{})
			go func() { // FailNow ends its goroutine
				defer close(done)
				testscript.RunT(f, testscript.Params{Files: []string{file}, Setup: setup, Cmds: scriptCommands, Condition: condition})
			}()
			<-done
			if !f.failed {
				t.Errorf("got success, want a failure of:\n%s", script)
			}
		})
	}
}

// failing is a test that only remembers how it ended.
type failing struct{ failed bool }

func (f *failing) Skip(...any)  { runtime.Goexit() }
func (f *failing) Fatal(...any) { f.FailNow() }
func (f *failing) Parallel()    {}
func (f *failing) Log(...any)   {}
func (f *failing) FailNow() {
	f.failed = true
	runtime.Goexit()
}

func (f *failing) Run(_ string, run func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(f)
	}()
	<-done
}
func (f *failing) Verbose() bool { return false }
