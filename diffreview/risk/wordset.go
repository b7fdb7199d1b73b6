package risk

import "bytes"

// wordSet tells whether a text holds one of some words, as they are written, in
// one pass: on most lines it meets no two letters that one of them begins with.
type wordSet struct {
	begins        [256][]string // by their first byte
	first, second [256]uint8    // bits of bytes that words begin with
}

// newWordSet is for words of two bytes at least.
func newWordSet(words []string) *wordSet {
	w := &wordSet{}
	for _, s := range words {
		bit := uint8(1) << (s[0] % 8)
		w.begins[s[0]] = append(w.begins[s[0]], s)
		w.first[s[0]] |= bit
		w.second[s[1]] |= bit
	}
	return w
}

func (w *wordSet) in(text []byte) bool {
	before := uint8(0) // what the byte before may be the first of
	for i, c := range text {
		if before&w.second[c] != 0 {
			for _, s := range w.begins[text[i-1]] {
				if bytes.HasPrefix(text[i-1:], []byte(s)) {
					return true
				}
			}
		}
		before = w.first[c]
	}
	return false
}
