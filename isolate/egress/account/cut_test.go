package account

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// naive is what a cutter must give, looked for at each place with each form.
func naive(b []byte, secrets ...string) (out []byte, n int) {
	out = bytes.Clone(b)
	past := 0
	var all [][]byte
	for _, s := range secrets {
		all = append(all, forms(s)...)
	}
	for end := 1; end <= len(b); end++ {
		longest := 0
		for _, f := range all {
			if len(f) <= end && len(f) > longest && bytes.Equal(b[end-len(f):end], f) {
				longest = len(f)
			}
		}
		if longest == 0 {
			continue
		}
		if end-longest >= past {
			n++
		}
		past = end
		copy(out[end-longest:end], strings.Repeat("*", longest))
	}
	return out, n
}

// shy gives what it has in pieces of a random length.
type shy struct {
	b   []byte
	rnd *rand.Rand
	max int
}

func (s *shy) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+s.rnd.IntN(s.max))], s.b)
	s.b = s.b[n:]
	return n, nil
}

func TestCutterDoesAsTheNaiveSearchDoes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := []string{"aab", "ab%25", "sk-/+=_9\"\\<&'", "0123456789abcdef"}
	word := func(letters string, n int) string {
		var out strings.Builder
		for range n {
			out.WriteByte(letters[rnd.IntN(len(letters))])
		}
		return out.String()
	}
	for range 400 {
		letters := kinds[rnd.IntN(len(kinds))]
		secrets := []string{word(letters, 8+rnd.IntN(12))}
		if rnd.IntN(2) == 0 {
			secrets = append(secrets, word(letters, 8+rnd.IntN(9)))
		}
		text := []byte(randomText(rnd, secrets, func(n int) string { return word(letters, n) }))
		want, wantN := naive(text, secrets...)
		c := NewCutter(secrets...)
		cut := bytes.Clone(text)
		if n := c.Cut(cut); !bytes.Equal(cut, want) || n != wantN {
			t.Fatalf("Cut of %q for %q: got %q and %d, want %q and %d", text, secrets, cut, n, want, wantN)
		}
		n := 0
		got, err := io.ReadAll(c.Reader(&shy{text, rnd, 1 + rnd.IntN(20)}, func() { n++ }))
		if err != nil || !bytes.Equal(got, want) || n != wantN {
			t.Fatalf("Reader of %q for %q: got %q, %d and %v, want %q and %d", text, secrets, got, n, err, want, wantN)
		}
	}
}

// randomText has whole forms, cut ones and other bytes in it.
func randomText(rnd *rand.Rand, secrets []string, word func(int) string) string {
	var out strings.Builder
	for range rnd.IntN(12) {
		list := forms(secrets[rnd.IntN(len(secrets))])
		f := list[rnd.IntN(len(list))]
		switch rnd.IntN(4) {
		case 0:
			out.WriteString(word(rnd.IntN(40)))
		case 1:
			out.Write(f[:rnd.IntN(len(f))])
		case 2:
			out.Write(f[rnd.IntN(len(f)):])
		default:
			out.Write(f)
		}
	}
	return out.String()
}

// The forms are made by others' encoders here, not by forms.
func TestCutterKnowsTheFormsOfOthers(t *testing.T) {
	secrets := []string{
		"sk-ant-api03-Zm9v_BarBaz0123456789-AA",
		`p4ss/w+rd=&<"quoted">'x'\end~!*()`,
		"two words: a:b@c;d,e?f#g[h]{i}|^`%",
		"p\u00e4ssw\u00f6rter sind gut \U0001f511",
	}
	slashes := func(s string) string { return strings.ReplaceAll(s, "/", `\/`) }
	marshal := func(escape bool) func(string) string {
		return func(s string) string {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(escape)
			if err := enc.Encode(s); err != nil {
				t.Fatal(err)
			}
			return strings.Trim(strings.TrimSpace(b.String()), `"`)
		}
	}
	jsonASCII := func(s string) string {
		var out strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			if u < 0x80 && (u == ' ' || alnum(rune(u))) && u != ' ' {
				out.WriteByte(byte(u))
				continue
			}
			fmt.Fprintf(&out, `\u%04x`, u)
		}
		return out.String()
	}
	utf16s := func(big bool) func(string) string {
		return func(s string) string {
			var out []byte
			for _, u := range utf16.Encode([]rune(s)) {
				if big {
					out = append(out, byte(u>>8), byte(u))
				} else {
					out = append(out, byte(u), byte(u>>8))
				}
			}
			return string(out)
		}
	}
	utf32s := func(order binary.AppendByteOrder) func(string) string {
		return func(s string) string {
			var out []byte
			for _, c := range s {
				out = order.AppendUint32(out, uint32(c))
			}
			return string(out)
		}
	}
	for name, encode := range map[string]func(string) string{
		"as it is":              func(s string) string { return s },
		"query":                 url.QueryEscape,
		"path":                  url.PathEscape,
		"query, lower case":     func(s string) string { return lowerEscapes(url.QueryEscape(s)) },
		"hex":                   func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":                   func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"json":                  marshal(false),
		"json for html":         marshal(true),
		"json, slashes":         func(s string) string { return slashes(marshal(false)(s)) },
		"json, all but letters": jsonASCII,
		"html":                  html.EscapeString,
		"utf-16 le":             utf16s(false),
		"utf-16 be":             utf16s(true),
		"every byte for a URL":  func(s string) string { return everyByte(s, "%%%02X") },
		"every byte in C":       func(s string) string { return everyByte(s, `\x%02x`) },
		"every byte, colons":    func(s string) string { return strings.TrimSuffix(everyByte(s, "%02x:"), ":") },
		"upper case":            strings.ToUpper,
		"utf-32 le":             utf32s(binary.LittleEndian),
		"utf-32 be":             utf32s(binary.BigEndian),
		"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64 within 1":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u" + s + "tail")) },
		"base64 within 2":       func(s string) string { return base64.URLEncoding.EncodeToString([]byte("us" + s + "tail")) },
		"basic":                 func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	} {
		for _, s := range secrets {
			written := encode(s)
			b := []byte(`{"a": "` + written + `"}`)
			n := NewCutter(s).Cut(b)
			want := `{"a": "` + strings.Repeat("*", len(written)) + `"}`
			// Base64's first and last characters are shared with what stands beside.
			if strings.HasPrefix(name, "bas") && strings.Count(string(b), "*") >= (len(s)*8-8)/6 {
				want = string(b)
			}
			if n < 1 || string(b) != want {
				t.Errorf("%s of %q: got %q (%d cut), want %q", name, s, b, n, want)
			}
		}
	}
}

func everyByte(s, format string) string {
	var out strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&out, format, s[i])
	}
	return out.String()
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:i+3], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// An event of a stream passes when it is there, not when the next one comes.
func TestReaderPassesWholeMessagesAtOnce(t *testing.T) {
	const secret = "sk-ant-api03-0123456789"
	for _, row := range []struct{ name, in, want string }{
		{"an event", "data: {\"text\":\"hello\"}\n\n", "data: {\"text\":\"hello\"}\n\n"},
		{"JSON without a line", `{"text":"hello"}`, `{"text":"hello"}`},
		{"a list", `["hello"]`, `["hello"]`},
		{"the beginning of a secret", "data: sk-ant-a", "data: "},
		{"what looked like one", "data: sk-ant-ap1", "data: "},
		{"a secret and a line", "data: " + secret + "\n", "data: " + strings.Repeat("*", len(secret)) + "\n"},
	} {
		pr, pw := io.Pipe()
		r := NewCutter(secret).Reader(pr, func() {})
		go func() { _, _ = pw.Write([]byte(row.in)) }()
		got := make([]byte, len(row.want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != row.want {
			t.Errorf("%s: got %q and %v, want %q at once", row.name, got, err, row.want)
		}
		_ = pw.Close()
		rest, err := io.ReadAll(r)
		if err != nil || len(got)+len(rest) != len(row.in) {
			t.Errorf("%s: got %d bytes and %v in all, want %d", row.name, len(got)+len(rest), err, len(row.in))
		}
	}
}

// pieces gives one of its texts a read.
type pieces []string

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// Whoever chooses what comes back sees how long the pieces are. A guess that
// begins a form of the secret must look like one that does not.
func TestPiecesTellNothingOfTheSecret(t *testing.T) {
	const secret = "real-Secret-0123456789"
	c := NewCutter(secret)
	b := make([]byte, chunk)
	lengths := func(guess string) (out []int) {
		r := c.Reader(&pieces{"|" + guess, "|", guess, " " + guess, "\n", guess + "\n", strings.Repeat("x", 3000) + guess, "."}, func() {})
		for {
			n, err := r.Read(b)
			if err != nil {
				return out
			}
			out = append(out, n)
		}
	}
	for _, f := range forms(secret) {
		for n := 1; n < len(f); n++ {
			right, wrong := f[:n], bytes.Clone(f[:n])
			for wrong[n-1]++; c.breaks[wrong[n-1]] || wrong[n-1] == 0; wrong[n-1]++ {
			}
			if got, want := lengths(string(right)), lengths(string(wrong)); !slices.Equal(got, want) {
				t.Fatalf("%q: got pieces of %v, want %v as of %q", right, got, want, wrong)
			}
		}
	}
}

// The kind of a byte decides on what is held back, and how much is bounded.
func TestHoldingBackIsBounded(t *testing.T) {
	c := NewCutter("two words }]>\" and more")
	for s, want := range map[string]int{
		"a b}": 4, "a\nb": 1, "a\tb": 1, "a\xffb": 1, "": 0, strings.Repeat("x", 5000): minHold,
	} {
		if got := c.held([]byte(s)); got != want {
			t.Errorf("%.20q: got %d held back, want %d", s, got, want)
		}
	}
	if got, want := NewCutter(strings.Repeat("s", 1000)).hold, 8192; got != want {
		t.Errorf("of a long secret: got %d, want %d", got, want)
	}
}

// An answer that began before a secret was attached may bring it all the same.
func TestReaderTakesANewSecretUp(t *testing.T) {
	const first, second = "first-secret-0123", "second-secret-012"
	source := pieces{"before " + first + " ", "| sec", "ond-secret-012 " + first[:4], first[4:] + "."}
	cutters := []*Cutter{NewCutter(), NewCutter(first), NewCutter(second), NewCutter(first, second)}
	r := NewReader(&source, func() *Cutter { return cutters[min(max(len(cutters)-len(source)-1, 0), 3)] }, func() {})
	stars := strings.Repeat("*", len(first))
	want := "before " + first + " | " + stars + " " + stars + "."
	if got, err := io.ReadAll(r); err != nil || string(got) != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

func TestReaderHandsErrorsOn(t *testing.T) {
	const secret = "0123456789abcdef"
	broken := errors.New("broken")
	r := NewCutter(secret).Reader(io.MultiReader(strings.NewReader("x"+secret+"\n0123"), iotest.ErrReader(broken)), func() {})
	got, err := io.ReadAll(r)
	if want := "x****************\n"; string(got) != want || !errors.Is(err, broken) {
		t.Errorf("got %q and %v, want %q and the error", got, err, want)
	}
	if _, err := io.ReadAll(NewCutter(secret).Reader(silent{}, func() {})); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("of a reader that gives nothing: got %v, want %v", err, io.ErrNoProgress)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestCutterWithoutSecretsChangesNothing(t *testing.T) {
	c := NewCutter("", "")
	b := []byte("anything")
	if n := c.Cut(b); !c.Empty() || n != 0 || string(b) != "anything" {
		t.Errorf("got %t, %d, %q, want nothing to cut", c.Empty(), n, b)
	}
	if NewCutter("0123456789").Empty() {
		t.Error("got an empty cutter of a secret, want one that cuts")
	}
}

// A stream costs its buffer and nothing per chunk.
func TestReaderAllocatesNothingPerChunk(t *testing.T) {
	c := NewCutter("sk-ant-api03-0123456789abcdef")
	text := bytes.Repeat([]byte("data: sk-ant-api03-0123456789abcdef sk-a\n"), 100_000)
	got := testing.AllocsPerRun(3, func() {
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{c.Reader(bytes.NewReader(text), func() {})}); err != nil {
			t.Fatal(err)
		}
	})
	if got > 10 {
		t.Errorf("got %v allocations for %d chunks, want at most 10", got, len(text)/chunk)
	}
}

func FuzzCutter(f *testing.F) {
	f.Add("sk-ant-api03-abc", []byte("x sk-ant-api03-abc sk-ant"), uint8(3))
	f.Add("aaaaaaaa", []byte("aaaaaaaaaaaaaaaaaaaaaaaaab"), uint8(1))
	f.Add("abababac", []byte("YWJhYmFiYWM=abababababac%61"), uint8(7))
	f.Fuzz(func(t *testing.T, secret string, text []byte, piece uint8) {
		if len(secret) < 8 || len(secret) > 64 || len(text) > 2048 {
			return
		}
		want, wantN := naive(text, secret)
		c := NewCutter(secret)
		n := 0
		rnd := rand.New(rand.NewPCG(uint64(piece), 7))
		got, err := io.ReadAll(c.Reader(&shy{text, rnd, 1 + int(piece)}, func() { n++ }))
		if err != nil || !bytes.Equal(got, want) || n != wantN {
			t.Fatalf("got %q, %d and %v, want %q and %d", got, n, err, want, wantN)
		}
	})
}

func BenchmarkCutter(b *testing.B) {
	const secret = "sk-ant-api03-Zm9vYmFyQmF6MDEyMzQ1Njc4OS1BQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWmFiY2RlZmdoaWprbG1ub3A-AA"
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	event := `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the key sk-ant is not here"}}` + "\n\n"
	for _, row := range []struct {
		name string
		text []byte
	}{
		{"events", bytes.Repeat([]byte(event), 1<<20/len(event))},
		{"noise", noise},
		{"base64", []byte(base64.StdEncoding.EncodeToString(noise))},
		{"beginnings", bytes.Repeat([]byte(secret[:40]), 1<<20/40)},
		{"secrets", bytes.Repeat([]byte(secret), 1<<20/len(secret))},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := NewCutter(secret)
			b.SetBytes(int64(len(row.text)))
			for b.Loop() {
				_, _ = io.Copy(io.Discard, struct{ io.Reader }{c.Reader(bytes.NewReader(row.text), func() {})})
			}
		})
	}
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewCutter(secret)
		}
	})
}
