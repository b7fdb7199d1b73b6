package risk

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// asLatin maps letters of other scripts, and other forms of Latin ones, to the
// Latin letter that they look like. It holds what fonts draw nearly or quite the
// same; the ones that only resemble are left out, since words of real languages
// would be full of them.
const asLatin = "аaеeоoрpсcуyхxіiјjѕsԁdһhԛqԝwѵvӏlАAВBЕEЗ3КKМMНHОOРPСCТTУYХXІIЈJЅSԌGԚQԜWѴVӀIгrпnкkтtмmвBнH" + // Cyrillic
	"οoνvρpϲcϳjιiΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹC" + // Greek
	"օoոnսuհhցgզqԼLՍUՏSյj" + // Armenian
	"ᎪAᏴBᏟCᎠDᎬEᎻHᎫJᏦKᏞLᎷMᏢPᏒRᏚSᎢTᏙVᎳWᏃZ" + // Cherokee
	"ꓐBꓚCꓓDꓰEꓝFꓖGꓧHꓲIꓙJꓗKꓡLꓟMꓠNꓳOꓑPꓣRꓢSꓔTꓴUꓦVꓪWꓫXꓬYꓜZ" + // Lisu
	"ⲟoⲣpⲥcⲨYⲎHⲘMⲚNⲞOⲢPⲤCⲦTⲬX" + // Coptic
	"ɡgɑaſsʟLʀRᴀaᴄcᴏoᴜuᴠvᴡwᴢzꜱsǃ!ⅼlⅽcⅾdⅿmⅰiⅴvⅹxⅠIⅤVⅩXⅬLⅭCⅮDⅯMℓlKK" // Latin forms

var latinTable = sync.OnceValue(func() map[rune]rune {
	table := map[rune]rune{}
	rs := []rune(asLatin)
	for i := 0; i+1 < len(rs); i += 2 {
		table[rs[i]] = rs[i+1]
	}
	return table
})

// lookalikes gives the Latin letter, or sign, that r looks like.
func lookalikes(r rune) (rune, bool) {
	switch {
	case r < utf8.RuneSelf:
		return 0, false
	case r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a, r >= 0xff10 && r <= 0xff19:
		return r - 0xfee0, true // full-width
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical alphabets
		i := (r - 0x1d400) % 52
		if i < 26 {
			return 'A' + i, true
		}
		return 'a' + i - 26, true
	}
	l, ok := latinTable()[r]
	return l, ok
}

// skeleton is what a name looks like.
func skeleton(p string) string {
	return strings.Map(func(r rune) rune {
		if l, ok := lookalikes(r); ok {
			r = l
		}
		switch r {
		case '0':
			return 'o'
		case '1', 'I', '|':
			return 'l'
		}
		return unicode.ToLower(r)
	}, hfsPlain(p))
}

// mixedWord finds a word that mixes Latin letters with letters of another script
// that look like Latin, or, when alone is true or what touches the word on
// either side is ASCII code, one that is made of nothing but such letters.
func mixedWord(s string, alone bool) (string, bool) {
	if ascii(s) {
		return "", false
	}
	foreign := false // a letter of the look-alikes' scripts that looks like itself
	for _, r := range s {
		if _, ok := lookalikes(r); !ok && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Coptic) {
			foreign = true
		}
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) {
			i += n
			continue
		}
		start := i
		latin, like, other, signs := 0, 0, 0, 0
		foreignLike := false // one of another script, not just another form of Latin
		for i < len(s) {
			r, n = utf8.DecodeRuneInString(s[i:])
			if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && !(unicode.IsDigit(r) && r < utf8.RuneSelf) {
				break
			}
			if strings.ContainsRune("νρικ", r) {
				signs++ // formulas set these beside one or two Latin letters
			}
			if _, ok := lookalikes(r); ok {
				like++
				foreignLike = foreignLike || !unicode.Is(unicode.Latin, r) || r >= 0xff00 // full-width
			} else if r < utf8.RuneSelf || unicode.Is(unicode.Latin, r) {
				if !unicode.IsDigit(r) {
					latin++
				}
			} else if unicode.IsLetter(r) {
				other++
			}
			i += n
		}
		word := s[start:i]
		if latin > 0 && like > 0 && (other == 0 || latin > 1) && (like > signs || latin > 2) && (foreignLike || latin > 2) {
			return word, true
		}
		if like > 0 && latin == 0 && other == 0 && !foreign && (alone && like > 1 || touches(s, start, i)) {
			return word, true
		}
	}
	return "", false
}

// touches says whether code, rather than a space, stands beside a word: a host
// name or identifier of nothing but look-alikes.
func touches(s string, start, end int) bool {
	if utf8.RuneCountInString(s[start:end]) < 2 {
		return false // one letter is a sign of a formula
	}
	// Signs that join the parts of a name do so only between two of them: a full
	// stop or a slash beside a quote or a space is punctuation.
	name := func(i int) bool {
		return i >= 0 && i < len(s) && (s[i] == '/' || s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z')
	}
	if start > 0 && (s[start-1] == '@' || strings.IndexByte("._-/", s[start-1]) >= 0 && name(start-2)) {
		return true
	}
	return end < len(s) && (strings.IndexByte("(=[", s[end]) >= 0 || strings.IndexByte("._-@", s[end]) >= 0 && name(end+1))
}
