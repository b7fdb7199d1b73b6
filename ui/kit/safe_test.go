package kit

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSafeLineLetsColourThroughAndNothingElse(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain", "a b", "a b"},
		{"colour", "\x1b[1;38;5;208mx", "\x1b[1;38;5;208mx\x1b[m"},
		{"colons", "\x1b[4:3m\x1b[58:2::1:2:3mx\x1b[0m", "\x1b[4:3m\x1b[58:2::1:2:3mx\x1b[0m\x1b[m"},
		{"cursor", "a\x1b[2;3Hb\x1b[2Jc", "abc"},
		{"private m", "a\x1b[>4;2mb\x1b[?1049hc", "abc"},
		{"intermediate", "a\x1b[1$mb", "ab"},
		{"clipboard", "a\x1b]52;c;eA==\x07b", "ab"},
		{"link", "a\x1b]8;;http://files.example.test\x1b\\b", "ab"},
		{"device string", "a\x1bPq#0\x1b\\b", "ab"},
		{"string without end", "a\x1b]0;rest", "a"},
		{"csi without end", "a\x1b[31", "a"},
		{"escape at the end", "a\x1b", "a"},
		{"csi broken by control", "a\x1b[3\x1b[1mb", "a\x1b[1mb\x1b[m"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"c1", "a\u009b31mb\u0085c", "a31mbc"},
		{"controls", "a\rb\nc\td\x08\x7fe", "abcde"},
		{"bidi", "a\u202eb\u2066c", "abc"},
		{"invalid", "a\xffb", "a\ufffdb"},
		{"emoji", "👩\u200d🚀 ✔\ufe0f", "👩\u200d🚀 ✔\ufe0f"},
		{"endless sgr", "\x1b[" + strings.Repeat("1;", 100) + "mx", "x"},
	}
	for _, c := range cases {
		if got := SafeLine(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSafeShowsThatSomethingWasThere(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb": "a\ufffd[31mb", "a\u202eb": "a\ufffdb", "a\nb\tc": "a b c", "a\xffb": "a\ufffdb", "\u200b": "\ufffd", "\u3164": "\ufffd", "é 字": "é 字",
	} {
		if got := Safe(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31mx", "\x1b]8;;x\x07", "\u202e", "\x1b[\x1b[m", "\xc2", "\u009b1m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{Safe(s), SafeText(s), strip(t, SafeLine(s))} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q: got invalid text %q", s, out)
			}
			for _, r := range out {
				if r != '\n' && unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) {
					t.Fatalf("%q: got %q in %q", s, r, out)
				}
			}
		}
	})
}

// strip takes SGR sequences away, by rules of its own: ESC [ digits ; : m.
func strip(t *testing.T, s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		rest := s[i+1:]
		j := strings.IndexByte(rest, 'm')
		if j < 1 || rest[0] != '[' || strings.Trim(rest[1:j], "0123456789;:") != "" {
			t.Fatalf("got a sequence that is no SGR in %q", s)
		}
		s = rest[j+1:]
	}
}
