package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"fumehood/diffreview"
)

// longLine is the length in bytes from which a line is not printed whole: of it
// room bytes are, around what changed.
const (
	longLine = 2000
	room     = 300
)

// diffPrinter prints a change set for a person: nothing in it can act on the
// terminal.
type diffPrinter struct {
	w        *bufio.Writer
	colour   bool // the terminal's own red, green and cyan; nothing is said by colour alone
	width    int  // in columns
	content  func(diffreview.Blob) ([]byte, error)
	comments map[string][]diffreview.Comment // by path
	followed int                             // comments, so far
}

// newDiffPrinter prints to w. Colours are for a terminal, unless NO_COLOR is set
// or TERM is dumb.
func newDiffPrinter(w io.Writer, d *diffreview.Decisions, content func(diffreview.Blob) ([]byte, error)) *diffPrinter {
	p := &diffPrinter{w: bufio.NewWriter(w), width: widthOf(w), content: content, comments: map[string][]diffreview.Comment{}}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	for _, c := range d.Comments {
		p.comments[c.Path] = append(p.comments[c.Path], c)
	}
	return p
}

// widthOf is that of the terminal behind w, or 80.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 80
}

func (p *diffPrinter) paint(s ansi.Style, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return s.Styled(text)
}

// The styles name what a thing is; the terminal's palette says how it looks.
var (
	titleStyle   = ansi.Style{}.Bold()
	placeStyle   = ansi.Style{}.ForegroundColor(ansi.Cyan)
	addedStyle   = ansi.Style{}.ForegroundColor(ansi.Green)
	removedStyle = ansi.Style{}.ForegroundColor(ansi.Red)
	noticeStyle  = ansi.Style{}.ForegroundColor(ansi.Yellow)
)

func (p *diffPrinter) set(cs *diffreview.ChangeSet) error {
	if len(cs.Files) == 0 {
		fmt.Fprintln(p.w, "no changes")
	} else if err := diffreview.WriteStat(p.w, cs, p.width); err != nil {
		return err
	}
	if err := writeRisks(p.w, cs); err != nil {
		return err
	}
	writeLeftOut(p.w, cs)
	here := map[string]bool{"": true}
	for i := range cs.Files {
		p.file(&cs.Files[i])
		here[cs.Files[i].Path] = true
	}
	var rest []diffreview.Comment
	for path, list := range p.comments {
		if path == "" || !here[path] {
			rest = append(rest, list...)
		}
	}
	if len(rest) > 0 {
		slices.SortStableFunc(rest, func(a, b diffreview.Comment) int { return a.At.Compare(b.At) })
		fmt.Fprintln(p.w)
		for _, c := range rest {
			on := "of the change set"
			if c.Path != "" {
				on = "on " + diffreview.SafeName(c.Path) + ", which is not changed any more"
			}
			p.comment(c, on)
		}
	}
	return p.w.Flush()
}

func (p *diffPrinter) file(f *diffreview.File) {
	title := string(f.Status) + " " + diffreview.SafeName(f.Path)
	if f.OldPath != "" {
		title = string(f.Status) + " " + diffreview.SafeName(f.OldPath) + " -> " + diffreview.SafeName(f.Path)
	}
	fmt.Fprintf(p.w, "\n%s", p.paint(titleStyle, title))
	if f.Old.Mode() != f.New.Mode() {
		fmt.Fprintf(p.w, " (mode %s -> %s)", orNone(f.Old.Mode()), orNone(f.New.Mode()))
	}
	if d := f.Decision(); d != diffreview.Undecided {
		fmt.Fprintf(p.w, " [%s]", decisionWord(d))
	}
	fmt.Fprintln(p.w)
	if f.Lapsed != diffreview.Undecided {
		fmt.Fprintln(p.w, p.paint(noticeStyle, "  what was decided here has lapsed: the bytes have changed since"))
	}
	if f.Old.Kind == diffreview.KindSymlink {
		fmt.Fprintf(p.w, "  was a link to %s\n", diffreview.SafeName(f.Old.Target))
	}
	if f.New.Kind == diffreview.KindSymlink {
		fmt.Fprintf(p.w, "  link to %s\n", diffreview.SafeName(f.New.Target))
	}
	if f.Ends > 0 {
		fmt.Fprintf(p.w, "  line endings changed on %s: %s -> %s%s\n", countText(f.Ends, "line"), f.EndsFrom, f.EndsTo, p.wholeMark(f))
	} else if f.Status == diffreview.Renamed && len(f.Hunks) > 0 {
		fmt.Fprintf(p.w, "  the move itself%s\n", p.wholeMark(f))
	} else if f.Status == diffreview.Modified && f.Whole != "" && !f.Binary && f.Old.Exec != f.New.Exec {
		fmt.Fprintf(p.w, "  the mode%s\n", p.wholeMark(f))
	}
	if f.Unshown != "" {
		fmt.Fprintln(p.w, p.paint(noticeStyle, "  NOT SHOWN: "+f.Unshown+", "+sizesText(f)+"; to approve it is to take it unseen"))
	}
	pending := p.placed(f)
	for i := range f.Hunks {
		p.hunk(f, &f.Hunks[i], pending)
	}
}

// wholeMark says what was decided of a file's part that is not in hunks, where
// these may be decided otherwise.
func (p *diffPrinter) wholeMark(f *diffreview.File) string {
	if f.WholeMark.Decision == diffreview.Undecided || len(f.Hunks) == 0 {
		return ""
	}
	return " [" + string(f.WholeMark.Decision) + "]"
}

func decisionWord(v diffreview.Verdict) string {
	if v == diffreview.Mixed {
		return "approved in part"
	}
	return string(v)
}

func (p *diffPrinter) hunk(f *diffreview.File, h *diffreview.Hunk, pending map[place][]diffreview.Comment) {
	where := fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	fmt.Fprint(p.w, p.paint(placeStyle, where))
	letters := ""
	switch {
	case h.Edit != "" && h.Decision == diffreview.Undecided:
		fmt.Fprint(p.w, " [undecided, as edited below]")
	case h.Edit != "":
		fmt.Fprint(p.w, " [approved as edited, below]")
	case h.Part != nil:
		letters = h.Letters()
		fmt.Fprintf(p.w, " [line by line: %d of %d approved, %d rejected]", strings.Count(letters, "a"), len(letters), strings.Count(letters, "r"))
	case h.Decision != diffreview.Undecided && h.ID != f.Whole:
		fmt.Fprintf(p.w, " [%s]", h.Decision)
	}
	fmt.Fprintln(p.w)
	for i, l := range h.Lines {
		mark := ""
		if h.Part != nil {
			mark = "    "
			if l.Op != ' ' {
				mark, letters = "["+strings.ReplaceAll(letters[:1], ".", " ")+"] ", letters[1:]
			}
		}
		p.line(mark, l.Op, l.Text, partnerOf(h, i))
		if l.NoEOL {
			fmt.Fprintln(p.w, `\ No newline at end of file`)
		}
		for _, c := range pending[placeOf(l)] {
			p.comment(c, "")
		}
	}
	if h.Edit != "" {
		p.edit(h.Edit)
	}
}

// line prints one line. Of a long one it prints what differs from its partner, and
// says what is not shown.
func (p *diffPrinter) line(mark string, op byte, text, partner []byte) {
	from, to := 0, len(text)
	if len(text) > longLine {
		from, to = excerpt(text, partner)
	}
	out := string(op) + visible(string(text[from:to]))
	switch op {
	case '+':
		out = p.paint(addedStyle, out)
	case '-':
		out = p.paint(removedStyle, out)
	}
	fmt.Fprintln(p.w, mark+out)
	if to-from < len(text) {
		fmt.Fprintln(p.w, p.paint(noticeStyle, fmt.Sprintf(`\ bytes %d to %d of a line of %d; the others are NOT SHOWN`, from+1, to, len(text))))
	}
}

// excerpt gives the part of a long line to print, on rune boundaries: about room
// bytes around the first that differs from the partner's.
func excerpt(text, partner []byte) (from, to int) {
	for from < len(text) && from < len(partner) && text[from] == partner[from] {
		from++
	}
	if from == len(text) || len(partner) == 0 {
		from = 0
	}
	from = min(max(0, from-room/3), len(text)-room)
	to = from + room
	for range utf8.UTFMax {
		if from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		if to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
	}
	return from, to
}

// partnerOf gives the line that a changed one replaces or is replaced by: the one
// as far into the lines of the other kind. Nil for context and where there is
// none.
func partnerOf(h *diffreview.Hunk, i int) []byte {
	op := h.Lines[i].Op
	if op == ' ' || len(h.Lines[i].Text) <= longLine {
		return nil
	}
	first := i // of the run of its kind
	for first > 0 && h.Lines[first-1].Op == op {
		first--
	}
	start := first // of the run of the other
	if op == '+' {
		for start > 0 && h.Lines[start-1].Op == '-' {
			start--
		}
	} else {
		for start < len(h.Lines) && h.Lines[start].Op == '-' {
			start++
		}
	}
	other := start + i - first
	if other >= len(h.Lines) || other < 0 || h.Lines[other].Op == op || h.Lines[other].Op == ' ' {
		return nil
	}
	return h.Lines[other].Text
}

func (p *diffPrinter) edit(blob diffreview.Blob) {
	b, err := p.content(blob)
	if err != nil {
		fmt.Fprintf(p.w, "the edit can't be read: %s\n", oneLine(err.Error()))
		return
	}
	if len(b) == 0 {
		fmt.Fprintln(p.w, "as edited: no line at all")
		return
	}
	fmt.Fprintln(p.w, "as edited, context included:")
	for line := range bytes.Lines(b) {
		text, eol := bytes.CutSuffix(line, []byte{'\n'})
		p.line("", '|', text, nil)
		if !eol {
			fmt.Fprintln(p.w, `\ No newline at end of file`)
		}
	}
}

func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sizesText(f *diffreview.File) string {
	switch {
	case f.Old.Kind == diffreview.KindAbsent:
		return fmt.Sprintf("%d bytes", f.New.Size)
	case f.New.Kind == diffreview.KindAbsent:
		return fmt.Sprintf("%d bytes, deleted", f.Old.Size)
	}
	return fmt.Sprintf("%d -> %d bytes", f.Old.Size, f.New.Size)
}

func writeRisks(w io.Writer, cs *diffreview.ChangeSet) error {
	for i := range cs.Files {
		f := &cs.Files[i]
		for _, r := range f.Risks() {
			at := lineSuffix(r.Line)
			if r.Edit != "" {
				at += " as edited"
			}
			if _, err := fmt.Fprintf(w, "%-6s %s%s  %s: %s\n", r.Severity, diffreview.SafeName(f.Path), at, r.Rule, oneLine(r.Why)); err != nil {
				return err
			}
		}
	}
	return nil
}

func lineSuffix(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(":%d", n)
}

func writeLeftOut(w io.Writer, cs *diffreview.ChangeSet) {
	for _, l := range cs.LeftOut {
		fmt.Fprintf(w, "left out %s: %s\n", diffreview.SafeName(l.Path), oneLine(l.Reason))
	}
	if cs.Ignored.Count > 0 {
		fmt.Fprintf(w, "%d changes below ignored paths are not part of the change set\n", cs.Ignored.Count)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
