package linediff

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Range is a part [Start,End) of a line, in bytes, on rune boundaries.
type Range struct{ Start, End int }

// maxWords bounds the words that are compared; what is between the equal ends
// of two longer lines is one changed range.
const maxWords = 2000

// Words gives the parts that differ between an old and a new line. Both are nil
// when the lines have so little in common that marks would only be noise.
func Words(old, new []byte) (inOld, inNew []Range) {
	pre, suf := commonEnds(old, new)
	o, n := old[pre:len(old)-suf], new[pre:len(new)-suf]
	if len(o) == 0 && len(n) == 0 {
		return nil, nil
	}
	wo, wn := tokens(o), tokens(n)
	if wo == nil || wn == nil {
		return keep(pre, len(o), pre, len(n), pre+suf, len(old), len(new))
	}
	runs := Diff(wo, wn)
	at := func(words [][]byte) []int {
		sum := make([]int, len(words)+1)
		for i, w := range words {
			sum[i+1] = sum[i] + len(w)
		}
		return sum
	}
	so, sn := at(wo), at(wn)
	changed := 0
	for _, r := range runs {
		if a, b := so[r.A0], so[r.A1]; a < b {
			inOld = append(inOld, Range{pre + a, pre + b})
			changed += b - a
		}
		if a, b := sn[r.B0], sn[r.B1]; a < b {
			inNew = append(inNew, Range{pre + a, pre + b})
			changed += b - a
		}
	}
	// Marks over more than two thirds of both lines say nothing.
	if 3*changed > 2*(len(old)+len(new)) {
		return nil, nil
	}
	return inOld, inNew
}

func keep(ao, no, an, nn, common, lenOld, lenNew int) (inOld, inNew []Range) {
	if 6*common < lenOld+lenNew {
		return nil, nil
	}
	if no > 0 {
		inOld = []Range{{ao, ao + no}}
	}
	if nn > 0 {
		inNew = []Range{{an, an + nn}}
	}
	return inOld, inNew
}

// commonEnds gives the lengths of the equal beginning and end, moved outward to
// word boundaries so that a mark covers whole words.
func commonEnds(a, b []byte) (pre, suf int) {
	limit := min(len(a), len(b))
	for pre < limit && a[pre] == b[pre] {
		pre++
	}
	for suf < limit-pre && a[len(a)-1-suf] == b[len(b)-1-suf] {
		suf++
	}
	cut := func(s []byte, i int) bool { return i > 0 && i < len(s) && inWord(s[i-1]) && inWord(s[i]) }
	for pre > 0 && (cut(a, pre) || cut(b, pre)) {
		pre--
	}
	for suf > 0 && (cut(a, len(a)-suf) || cut(b, len(b)-suf)) {
		suf--
	}
	return pre, suf
}

// inWord holds for bytes that must not be parted: letters, digits, and any part
// of a multi-byte rune.
func inWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// tokens cuts a line into words, runs of space and single other runes; nil when
// there are more than maxWords.
func tokens(b []byte) [][]byte {
	out := [][]byte{}
	for len(b) > 0 {
		if len(out) == maxWords {
			return nil
		}
		n := tokenLen(b)
		out = append(out, b[:n:n])
		b = b[n:]
	}
	return out
}

func tokenLen(b []byte) int {
	r, n := utf8.DecodeRune(b)
	class := func(r rune) int {
		switch {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return 1
		case r == ' ' || r == '\t':
			return 2
		}
		return 0
	}
	c := class(r)
	if c == 0 {
		return n
	}
	end := bytes.IndexFunc(b[n:], func(r rune) bool { return class(r) != c })
	if end < 0 {
		return len(b)
	}
	return n + end
}
