package account

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The alphabets of what a format may ask for.
const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	hexes   = "0123456789abcdef"
	digits  = "0123456789"
)

// MarkLen is the length of a session's mark: what {session} stands for, the same
// in each of its lives, so that a tool which remembers the end of a key that it
// was told to trust still knows it after a resume.
const MarkLen = 20

// minRandom is the fewest random characters of a placeholder: as many as no one
// guesses within a session, even if they are digits.
const minRandom = 20

// maxPlaceholder bounds what an environment variable inside has to hold.
const maxPlaceholder = 8 << 10

// defaultFormat is a placeholder of no kind.
const defaultFormat = "fh_{random:40}"

// Placeholder makes one by its format: text in which
//
//	{random:N}  is N letters and digits
//	{hex:N}     is N lower-case hexadecimal digits
//	{digits:N}  is N decimal digits
//	{uuid}      is a random UUID
//	{jwt}       is a token of three parts that expires in ten years
//	{session}   is the session's mark
//
// An empty format is "fh_{random:40}". ShapeOf gives the one that a credential
// asks for.
func Placeholder(format, mark string) (string, error) {
	if format == "" {
		format = defaultFormat
	}
	var out strings.Builder
	random := 0
	for format != "" {
		text, rest, open := strings.Cut(format, "{")
		if err := plainText(text); err != nil {
			return "", err
		}
		out.WriteString(text)
		if !open {
			break
		}
		word, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New(`a "{" without its "}"`)
		}
		format = after
		s, n, err := part(word, mark)
		if err != nil {
			return "", err
		}
		out.WriteString(s)
		random += n
	}
	switch {
	case random < minRandom:
		return "", fmt.Errorf("%d random characters, at least %d are needed", random, minRandom)
	case out.Len() > maxPlaceholder:
		return "", fmt.Errorf("%d characters, at most %d", out.Len(), maxPlaceholder)
	}
	return out.String(), nil
}

// plainText is what may stand around the words. Blanks and controls would make
// two values of one, or a header that no client sends.
func plainText(s string) error {
	for _, c := range []byte(s) {
		switch {
		case c == '}':
			return errors.New(`a "}" without its "{"`)
		case c <= ' ' || c > '~':
			return errors.New("a character that is no printable ASCII one")
		}
	}
	return nil
}

// part is what a word in braces stands for, and how many characters of it are
// random.
func part(word, mark string) (string, int, error) {
	switch word {
	case "session":
		return mark, 0, nil
	case "uuid":
		s, err := uuid()
		return s, 30, err
	case "jwt":
		s, err := jwt(time.Now())
		return s, 43, err
	}
	kind, count, _ := strings.Cut(word, ":")
	alphabet := map[string]string{"random": letters, "hex": hexes, "digits": digits}[kind]
	if alphabet == "" {
		return "", 0, fmt.Errorf("{%s} is none of {random:N}, {hex:N}, {digits:N}, {uuid}, {jwt} and {session}", clip(word))
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > 4096 {
		return "", 0, fmt.Errorf("{%s}: a number from 1 to 4096 has to follow %q", clip(word), kind+":")
	}
	s, err := randomOf(alphabet, n)
	return s, n, err
}

func clip(s string) string {
	if len(s) > 32 {
		s = s[:32] + "..."
	}
	return s
}

// Random gives n random letters and digits.
func Random(n int) (string, error) { return randomOf(letters, n) }

func randomOf(alphabet string, n int) (string, error) {
	out := make([]byte, 0, n)
	fair := 256 - 256%len(alphabet) // above it some characters would be likelier than others
	var b [64]byte
	for len(out) < n {
		if _, err := rand.Read(b[:]); err != nil {
			return "", err
		}
		for _, c := range b {
			if int(c) < fair && len(out) < n {
				out = append(out, alphabet[int(c)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}

// uuid is a version 4 one (RFC 9562, 5.4).
func uuid() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// jwtYears is how long a token says that it is good for. An agent that finds
// one expired, or about to, asks for another before it does anything.
const jwtYears = 10

// jwt looks like a token (RFC 7519) to whoever only reads it. Its signature is
// noise. It names an algorithm all the same: "none" is what a careless server
// would take unverified.
func jwt(now time.Time) (string, error) {
	id, err := uuid()
	if err != nil {
		return "", err
	}
	var signature [32]byte
	if _, err := rand.Read(signature[:]); err != nil {
		return "", err
	}
	claims, err := json.Marshal(struct {
		Expires int64  `json:"exp"`
		Issued  int64  `json:"iat"`
		ID      string `json:"jti"`
	}{now.AddDate(jwtYears, 0, 0).Unix(), now.Unix(), id})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc(claims) + "." + enc(signature[:]), nil
}
