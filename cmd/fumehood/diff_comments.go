package main

import (
	"fmt"
	"strings"

	"fumehood/diffreview"
)

// place is a line of the new or of the old file, from 1; zero is the file.
type place struct{ line, old int }

func placeOf(l diffreview.Line) place {
	if l.Op == '-' {
		return place{old: l.Old}
	}
	return place{line: l.New}
}

// maxFollowed is how many comments are followed through later edits, each of
// which compares the whole file.
const maxFollowed = 200

// placed gives the comments of a file by where they stand now, and prints those
// that no hunk shows.
func (p *diffPrinter) placed(f *diffreview.File) map[place][]diffreview.Comment {
	out := map[place][]diffreview.Comment{}
	if len(p.comments[f.Path]) == 0 {
		return out
	}
	shown := map[place]bool{}
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			shown[placeOf(l)] = true
		}
	}
	for _, c := range p.comments[f.Path] {
		at, said := p.standing(f, c)
		if said == "" && shown[at] {
			out[at] = append(out[at], c)
			continue
		}
		p.comment(c, said)
	}
	return out
}

// standing says which line a comment is on now, or why it is on none.
func (p *diffPrinter) standing(f *diffreview.File, c diffreview.Comment) (place, string) {
	at := place{line: c.Line}
	switch {
	case c.Line == 0 && c.OldLine == 0:
		return at, "on the file"
	case c.Line == 0:
		return place{old: c.OldLine}, ""
	case c.Was == "" || c.Was == f.New.Blob:
		return at, ""
	}
	if p.followed++; p.followed > maxFollowed {
		return at, fmt.Sprintf("on line %d of an earlier text", c.Line)
	}
	was, err := p.content(c.Was)
	if err != nil {
		return at, fmt.Sprintf("on line %d of an earlier text", c.Line)
	}
	var now []byte
	if f.New.Kind == diffreview.KindFile {
		if now, err = p.content(f.New.Blob); err != nil {
			return at, fmt.Sprintf("on line %d of an earlier text", c.Line)
		}
	}
	if _, _, at.line = diffreview.Since(was, now, c.Line); at.line == 0 {
		return at, fmt.Sprintf("on line %d of an earlier text, which is gone or was replaced", c.Line)
	}
	return at, ""
}

// comment prints a comment below the line it is on; on says where else that is.
func (p *diffPrinter) comment(c diffreview.Comment, on string) {
	if on == "" && c.Line > 0 {
		on = fmt.Sprintf("on line %d", c.Line)
	} else if on == "" {
		on = fmt.Sprintf("on old line %d", c.OldLine)
	}
	sent := "not sent yet"
	if !c.Sent.IsZero() {
		sent = "sent"
	}
	head := fmt.Sprintf(">> comment by %s %s (%s)", oneLine(c.By), on, sent)
	fmt.Fprintln(p.w, p.paint(noticeStyle, head))
	for line := range strings.SplitSeq(strings.TrimRight(c.Body, "\n"), "\n") {
		fmt.Fprintln(p.w, ">>   "+visible(line))
	}
}
