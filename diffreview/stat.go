package diffreview

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteStat writes what "git diff --stat" would: a line for each file with the
// number of changed lines and a bar, then the sums. width is that of the
// terminal in columns; under 40 counts as 80. Names are safe to print.
func WriteStat(w io.Writer, cs *ChangeSet, width int) error {
	if width < 40 {
		width = 80
	}
	type row struct{ name, count, bar string }
	rows := make([]row, len(cs.Files))
	nameLen, countLen, most := 0, 0, 0
	added, removed := 0, 0
	for i := range cs.Files {
		f := &cs.Files[i]
		added, removed = added+f.Added, removed+f.Removed
		most = max(most, f.Added+f.Removed)
		rows[i].name = statName(f, width/2)
		rows[i].count = statCount(f)
		nameLen = max(nameLen, utf8.RuneCountInString(rows[i].name))
		countLen = max(countLen, len(rows[i].count))
	}
	room := max(width-nameLen-min(countLen, 10)-6, 10)
	var b strings.Builder
	for i, r := range rows {
		f := &cs.Files[i]
		plus, minus := scale(f.Added, most, room), scale(f.Removed, most, room)
		line := fmt.Sprintf(" %s%s | %*s %s%s", r.name, strings.Repeat(" ", nameLen-utf8.RuneCountInString(r.name)),
			min(countLen, 10), r.count, strings.Repeat("+", plus), strings.Repeat("-", minus))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&b, " %s, %s(+), %s(-)\n", plural(len(rows), "file")+" changed", plural(added, "insertion"), plural(removed, "deletion"))
	_, err := io.WriteString(w, b.String())
	return err
}

// statName is the file's name, of a rename both as "old => new", in n columns.
func statName(f *File, n int) string {
	safe := func(p string, n int) string {
		s := SafeName(p)
		if strings.Contains(p, " => ") && s[0] != '"' { // else it would read as a rename
			s = `"` + s + `"`
		}
		return cutLeft(s, n)
	}
	if f.OldPath == "" {
		return safe(f.Path, n)
	}
	return safe(f.OldPath, n/2-2) + " => " + safe(f.Path, n/2-2)
}

func statCount(f *File) string {
	mode := "mode " + f.Old.Mode() + " -> " + f.New.Mode()
	switch {
	case f.Status == ModeOnly:
		return mode
	case f.Old.Kind == KindSymlink || f.New.Kind == KindSymlink:
		return "link"
	case f.Binary && f.Unshown != "binary":
		return fmt.Sprintf("NOT SHOWN %d -> %d bytes", f.Old.Size, f.New.Size)
	case f.Binary:
		return fmt.Sprintf("Bin %d -> %d bytes", f.Old.Size, f.New.Size)
	}
	out := fmt.Sprint(f.Added + f.Removed)
	if f.Ends > 0 {
		out += ", endings " + f.EndsFrom + " -> " + f.EndsTo
	}
	if f.Old.Kind == f.New.Kind && f.Old.Exec != f.New.Exec {
		out += ", " + mode
	}
	return out
}

// scale gives how much of room n takes when most fills it; what is there shows.
func scale(n, most, room int) int {
	if n == 0 || most <= room {
		return n
	}
	return max(1, n*room/most)
}

// cutLeft keeps the end of s, the telling part of a path, in n runes.
func cutLeft(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "..." + string(r[len(r)-n+3:])
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
