package diffreview

import (
	"bytes"

	"fumehood/diffreview/linediff"
)

// Since says what became of a line that was commented on: was is the file as it
// was then, now as it is, and line counts in was from 1; line 0 is the file as a
// whole. changed holds when something differs within the context of the line
// (anywhere, for the whole file); hunks are these differences, without IDs and
// decisions. nowLine is where the same line stands now, 0 when it is gone, was
// replaced, or can't be followed: what is no text or too large to compare has
// neither hunks nor, unless it is the same, a line.
func Since(was, now []byte, line int) (changed bool, hunks []Hunk, nowLine int) {
	if bytes.Equal(was, now) {
		if line < 0 || line > lineCount(was) {
			line = 0
		}
		return false, nil, line
	}
	for _, b := range [][]byte{was, now} {
		if linediff.Binary(b) || linediff.TooLarge(b) {
			return true, nil, 0
		}
	}
	a, b := linediff.Split(was), linediff.Split(now)
	if line < 0 || line > len(a) {
		return true, nil, 0
	}
	runs := linediff.Diff(a, b)
	if line > 0 {
		nowLine = follow(runs, line)
	}
	for len(runs) > 0 {
		n := near(runs)
		if line == 0 || around(runs[:n], line) {
			hunks = append(hunks, cutHunk(a, b, runs[:n]))
		}
		runs = runs[n:]
	}
	return len(hunks) > 0, hunks, nowLine
}

func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// follow gives the new number of an old line, 0 when it is in a run.
func follow(runs []linediff.Run, line int) int {
	shift := 0
	for _, r := range runs {
		if line-1 < r.A0 {
			break
		}
		if line-1 < r.A1 {
			return 0
		}
		shift = r.B1 - r.A1
	}
	return line + shift
}

// around tells whether one of the runs is within the context of an old line.
func around(runs []linediff.Run, line int) bool {
	for _, r := range runs {
		if line-1 >= r.A0-contextLines && line-1 < r.A1+contextLines {
			return true
		}
	}
	return false
}
