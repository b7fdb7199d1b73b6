package kit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"fumehood/ui/style"
)

// Width is how many cells s takes.
func Width(s string) int { return ansi.StringWidth(s) }

// Cut shortens s to w cells; what was cut shows as a mark.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w && plain(s) {
		return s
	}
	if Width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, "…")
}

// Fit is s in exactly w cells.
func Fit(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		s += strings.Repeat(" ", n)
	}
	return s
}

// Right is s in exactly w cells, at the right end.
func Right(s string, w int) string {
	s = Cut(s, w)
	if n := w - Width(s); n > 0 {
		s = strings.Repeat(" ", n) + s
	}
	return s
}

// Ends puts left and right at the two ends of w cells; left gives way.
func Ends(left, right string, w int) string {
	rw := Width(right)
	if rw >= w {
		return Cut(right, w)
	}
	return Fit(left, w-rw) + right
}

// Block is s as exactly h lines; a wider line is cut at w cells.
func Block(s string, w, h int) []string {
	lines := strings.Split(s, "\n")
	if len(lines) > h {
		lines = lines[:h]
	}
	for i, l := range lines {
		if Width(l) > w {
			lines[i] = ansi.Truncate(l, w, "")
		}
	}
	for len(lines) < h {
		lines = append(lines, "")
	}
	return lines
}

// Wrap breaks plain text at spaces into lines of at most w cells.
func Wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, w, " "), "\n")
}

// Hang wraps text behind lead, which stands before the first line only.
func Hang(lead, text string, w int) []string {
	n := Width(lead)
	out := Wrap(text, max(10, w-n))
	for i := range out {
		if i > 0 {
			lead = strings.Repeat(" ", n)
		}
		out[i] = lead + out[i]
	}
	return out
}

// Rule is a line across w cells with a heading in it, which can be read where
// the line itself is meant to be faint.
func Rule(st *style.Styles, heading string, w int) string {
	text := Cut(" "+heading+" ", max(0, w-2))
	return st.Border.Render("──") + st.Muted.Render(text) + st.Border.Render(strings.Repeat("─", max(0, w-2-Width(text))))
}

// WrapLines wraps each line of a text, the rest of one as far to the right as
// its beginning and two more.
func WrapLines(s string, w int) []string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		text := strings.TrimLeft(l, " ")
		in := l[:len(l)-len(text)]
		for i, part := range Wrap(text, max(10, w-len(in)-2)) {
			switch {
			case Width(l) <= w:
				out = append(out, l)
			case i == 0:
				out = append(out, in+part)
			default:
				out = append(out, in+"  "+part)
			}
			if Width(l) <= w {
				break
			}
		}
	}
	return out
}

// wrapItem wraps one line of a question; what begins indented goes on deeper
// than it began.
func wrapItem(l string, w int) []string {
	if strings.HasPrefix(l, " ") {
		return WrapLines(l, w)
	}
	return Wrap(l, w)
}

// Indent puts p before each line.
func Indent(lines []string, p string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = p + l
	}
	return out
}

// Count writes n with thousands apart: 1,204.
func Count(n int) string {
	s := strconv.Itoa(n)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		return "-" + s
	}
	return s
}

// Plural is "1 file", "2 files".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}

// Bytes writes a size: 412 B, 18 MiB, 1.5 GiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, units := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for i, u := range units {
		f /= 1024
		if f < 1023.5 || i == len(units)-1 {
			if f < 9.95 {
				return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + u
			}
			return fmt.Sprintf("%.0f %s", f, u)
		}
	}
	return ""
}

// Age writes a span of time in one or two characters of number: 40s 12m 3h 2d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Keep is the first w cells of a line with styles, without a mark. It may be
// one cell short where a wide character would be cut in two.
func Keep(s string, w int) string { return ansi.Truncate(s, w, "") }

// Drop is a line with styles without its first n cells, or one cell more.
func Drop(s string, n int) string { return ansi.TruncateLeft(s, n, "") }
