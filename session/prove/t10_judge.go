package prove

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"fumehood/diffreview"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// told is what was told of one captured run, beside what the supervisor stored
// of it and what lies on the host.
type told struct {
	res    *session.Result
	code   int  // the exit status of "run", where there is one
	began  bool // as the supervisor's last word has it
	stored []byte
	gap    int64 // bytes that are no longer stored
	chars  int   // the caps of the policy; 0 is none
	bytes  int64
	word   string // part of what the run wrote
	file   string // what the host has in the file that it wrote
}

// line is the evidence.
func (t told) line() string {
	code := "null"
	if t.res.ExitCode != nil {
		code = fmt.Sprint(*t.res.ExitCode)
	}
	return fmt.Sprintf("result: started %v, exit_code %s, signal %q, limit %v, error %q, stdout chars %d, omitted %d; status of run %d; stored %d bytes, %d no longer stored",
		t.res.Started, code, t.res.Signal, t.res.Limit, t.res.Error, t.res.Stdout.Chars, t.res.Stdout.Omitted, t.code, len(t.stored), t.gap)
}

func (t told) wrong(format string, args ...any) outcome {
	return failed(fmt.Sprintf(format, args...), walls.Supervisor, t.line())
}

// head and tail are what of a first and a last word a small cap leaves.
func (t told) head(word string) string {
	if t.chars == 0 {
		return word
	}
	return word[:min(len(word), t.chars-t.chars/2)]
}

func (t told) tail(word string) string {
	if t.chars == 0 {
		return word
	}
	return word[len(word)-min(len(word), t.chars/2):]
}

// judgeEndOf compares how a command ended; code -1 is none.
func judgeEndOf(t told, code int, signal string) outcome {
	switch {
	case !t.res.Started || !t.began:
		return t.wrong("it is not told that it began")
	case t.res.Signal != signal:
		return t.wrong("the signal is told as %q, it was %q", t.res.Signal, signal)
	case code < 0 && t.res.ExitCode != nil:
		return t.wrong("an exit status %d is told of a command that has none", *t.res.ExitCode)
	case code >= 0 && (t.res.ExitCode == nil || *t.res.ExitCode != code || t.code != code):
		return t.wrong("the exit status is not told as %d", code)
	case t.res.Limit != nil || t.res.Error != "":
		return t.wrong("a limit or an error of fumehood's is told")
	}
	return held("told as it was", walls.Supervisor, t.line())
}

// judgeNotBegun wants fumehood's own status, and that nothing began.
func judgeNotBegun(t told, code int) outcome {
	switch {
	case t.res.Started || t.began || t.res.ExitCode != nil:
		return t.wrong("it is told as if it had begun")
	case t.code != code:
		return t.wrong("the status is %d, want %d", t.code, code)
	case t.res.Error == "":
		return t.wrong("no reason is told")
	}
	return held("told as never begun", walls.Supervisor, t.line())
}

// judgeMuch compares the cut text with what the run is known to write.
func judgeMuch(t told, total int64) outcome {
	out := t.res.Stdout
	kept := utf8.RuneCount(t.stored)
	switch {
	case int64(len(t.stored))+t.gap != total:
		return t.wrong("%d bytes were counted, %d were written", int64(len(t.stored))+t.gap, total)
	case t.bytes > 0 && int64(len(t.stored)) > t.bytes+t.bytes/4:
		return t.wrong("%d bytes are stored, the cap is %d", len(t.stored), t.bytes)
	case t.bytes > 0 && total > t.bytes+t.bytes/4 && t.gap == 0:
		return t.wrong("nothing is said to be missing of what is stored")
	case t.gap == 0 && out.Chars != kept:
		return t.wrong("%d characters are told, %d are stored", out.Chars, kept)
	case t.chars > 0 && out.Chars > t.chars && out.Chars-out.Omitted > t.chars:
		return t.wrong("%d characters are given back, the cap is %d", out.Chars-out.Omitted, t.chars)
	case t.chars > 0 && !strings.Contains(out.Text, fmt.Sprintf("%d characters left out here", out.Omitted)):
		return t.wrong("the cut is not announced with its amount of %d", out.Omitted)
	case t.gap > 0 && !strings.Contains(out.Text, fmt.Sprintf("%d bytes are no longer stored", t.gap)):
		return t.wrong("what is no longer stored is not announced with its amount of %d", t.gap)
	case !strings.HasPrefix(out.Text, t.head("first word\n")) || !strings.HasSuffix(out.Text, t.tail("last word\n")):
		return t.wrong("first or last words are missing: %q ... %q", out.Text[:min(len(out.Text), 20)], out.Text[max(0, len(out.Text)-20):])
	}
	// The middle of the text is what is longest in it; the announcement is far
	// from as long as what was left out.
	if t.chars > 0 && utf8.RuneCountInString(out.Text) > 3*t.chars+200 {
		return t.wrong("the text has %d characters for a cap of %d", utf8.RuneCountInString(out.Text), t.chars)
	}
	for _, r := range out.Text {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
			return t.wrong("the character %U is given back as it is", r)
		}
	}
	return judgeCaps(t)
}

// judgeCaps says which of the caps there are.
func judgeCaps(t told) outcome {
	text := "cut, and both cuts announced"
	switch {
	case t.chars == 0 && t.bytes == 0:
		text = "whole, since the policy caps no output"
	case t.chars == 0:
		text = "all that is stored is given back, since the policy sets output_chars to none"
	case t.bytes == 0:
		text = "cut and announced; all is stored, since the policy sets output_bytes to none"
	}
	return held(text, walls.Supervisor, t.line())
}

// judgeLast wants every byte of a command that was gone before it was read.
func judgeLast(t told) outcome {
	switch {
	case len(t.stored) != 60<<10 || !bytes.HasSuffix(t.stored, []byte(probe.LastWord)):
		return t.wrong("%d bytes are stored, %d were written", len(t.stored), 60<<10)
	case !strings.HasSuffix(t.res.Stdout.Text, t.tail(probe.LastWord)) || t.res.Stdout.Chars != 60<<10:
		return t.wrong("the last word is not given back")
	}
	return judgeEndOf(t, 0, "")
}

// judgeFile wants the one file that was written.
func judgeFile(t told) outcome {
	if o := judgeEndOf(t, 0, ""); o.verdict != walls.Held {
		return o
	}
	var paths []string
	for _, f := range t.res.Files {
		paths = append(paths, f.Path)
	}
	line := fmt.Sprintf("result: files %q; the host has %q in it", paths, t.file)
	switch {
	case t.file != t.word+"\n":
		return errored("the file does not lie in the workspace: " + line)
	case len(t.res.Files) != 1 || t.res.Files[0].Path != "written-"+t.word+".txt" || t.res.Files[0].Status != diffreview.Added || t.res.Files[0].Added != 1:
		return failed("it is not told as it is", walls.Filesystem, line)
	}
	return held("listed as added, with one line", walls.Filesystem, line)
}
