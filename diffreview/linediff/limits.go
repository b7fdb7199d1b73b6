package linediff

import (
	"bytes"
	"unicode/utf8"
)

// Limits of what is compared by lines. Above one a file is decided whole.
const (
	MaxBytes = 16 << 20 // of one side
	MaxLines = 400_000  // of one side
)

const (
	sniffBytes = 8000    // git looks for a NUL in as many
	longBinary = 1 << 20 // from this size on undecodable bytes count too
	sniffLong  = 64 << 10
)

// Binary says whether b is no text: a NUL in its first 8000 bytes, as git has
// it, or, from 1 MiB on, more than a third of its first 64 KiB undecodable.
// Old encodings of ordinary text stay text.
func Binary(b []byte) bool {
	if bytes.IndexByte(b[:min(len(b), sniffBytes)], 0) >= 0 {
		return true
	}
	if len(b) < longBinary {
		return false
	}
	b = b[:sniffLong]
	bad := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			bad++
		}
		i += n
	}
	return bad > sniffLong/3
}

// TooLarge says whether b is beyond MaxBytes or MaxLines.
func TooLarge(b []byte) bool {
	return len(b) > MaxBytes || bytes.Count(b, nl) > MaxLines
}
