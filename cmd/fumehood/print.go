package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"fumehood/diffreview"
	"fumehood/session"
)

// printJSON writes one value as the data printing commands do: indented, one
// newline at the end.
func printJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeRest(b), '\n'))
	return err
}

// escapeRest escapes what the encoder leaves as it is though a terminal obeys
// or hides it: the control characters from DEL on (one of them begins escape
// sequences), and the format characters that reorder text or have no width.
// Outside of strings JSON is ASCII, so each can be replaced where it stands.
func escapeRest(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case r == utf8.RuneError, r < 0x7f, r > 0x9f && !unicode.Is(unicode.Cf, r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// visible makes any text safe for a terminal: what it would obey, hide or draw
// as nothing is shown instead. Newlines stay.
func visible(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, sp := range diffreview.Visible([]byte(line)) {
			switch sp.Kind {
			case diffreview.Trailing, diffreview.Tab:
				b.Write(sp.Raw)
			default:
				b.WriteString(sp.Text)
			}
		}
	}
	return b.String()
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// ago says how long ago t was, short.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// stateText is a session's state in one or two words.
func stateText(s session.Summary) string {
	switch {
	case s.Limit != nil:
		return fmt.Sprintf("limit %s %s", s.Limit.Name, s.Limit.Value)
	case s.State == session.StateExited && s.Signal != "":
		return s.Signal
	case s.State == session.StateExited && s.ExitCode != nil:
		return fmt.Sprintf("exit %d", *s.ExitCode)
	}
	return string(s.State)
}

// changesText is the counts of a session's newest snapshot.
func changesText(s session.Summary) string {
	if s.ChangedFiles < 0 {
		return "-"
	}
	if s.ChangedFiles == 0 {
		return "none"
	}
	return fmt.Sprintf("+%d -%d %df", s.Added, s.Removed, s.ChangedFiles)
}

// sizeText is a size in binary units.
func sizeText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.0f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// plural counts things: "1 file", "2 files", "3 processes".
func plural(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	case strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
