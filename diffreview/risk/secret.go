package risk

import (
	"bytes"
	"math"
	"regexp"
	"sync"
)

// knownLine are shapes that only a credential has.
const knownLine = `\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{40,}|\bglpat-[\w-]{20,}|\bgl(cbt|dt|ft|imt|oas|ptt|rt|soat|agent)-[\w-]{16,}|\b(AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b|\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{20,}|\b[rsp]k_(live|prod)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{20,}|\bsk-(ant-|proj-|svcacct-|or-v1-|admin-)?[A-Za-z0-9_-]{32,}|\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-AgE[\w-]{20,}|\brubygems_[a-f0-9]{40,}|\bdckr_(pat|oat)_[\w-]{20,}|\bhf_[A-Za-z0-9]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bkey-[0-9a-f]{32}\b|\bdop_v1_[a-f0-9]{40,}|\bshp(at|ca|pa|ss)_[a-fA-F0-9]{32}|\bEAA[A-Za-z0-9]{60,}|\blin_api_[A-Za-z0-9]{30,}|\bsq0(atp|csp)-[\w-]{20,}|\bEAAA[\w-]{60}|\bPMAK-[\w-]{50,}|\bfigd_[\w-]{30,}|\bntn_[A-Za-z0-9]{40,}|\bsecret_[A-Za-z0-9]{40,}|\bhvs\.[\w-]{20,}|\bpul-[a-f0-9]{40}|\bdapi[a-f0-9]{32}|\btskey-[\w-]{20,}|\brnd_[A-Za-z0-9]{28,}|\bsbp_[a-f0-9]{40}|\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|\bNRAK-[A-Z0-9]{27}|\bgsk_[A-Za-z0-9]{48,}|\.atlasv1\.[\w-]{60,}|\bcio[A-Za-z0-9]{32}\b|\bSK[a-f0-9]{32}\b|\bxai-[A-Za-z0-9]{70,}|\bpplx-[a-f0-9]{48}|\bATATT3[\w=-]{50,}|\bsntry[su]_[\w+/=-]{40,}|\bdp\.(pt|st|ct)\.\w{40,}|\bCFPAT-[\w-]{40,}|\bphx_\w{40,}|\bnfp_[A-Za-z0-9]{36,}|\bsgp_\w{40,}|\bpscale_(tkn|pw|oauth)_[\w-]{32,}|\bCCIPAT_\w{30,}|\bbkua_[a-f0-9]{40}|\br8_[A-Za-z0-9]{36,}|\bAGE-SECRET-KEY-1[A-Z0-9]{40,}|\bxkeysib-[a-f0-9]{60,}|-----BEGIN (RSA |DSA |EC |OPENSSH |ENCRYPTED |PGP |SSH2 ENCRYPTED )?PRIVATE KEY( BLOCK)?-----|PuTTY-User-Key-File|hooks\.slack\.com/services/T\w+/B\w+/\w+|discord(app)?\.com/api/webhooks/\d+/[\w-]{30,}|\beyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}|AccountKey=[A-Za-z0-9+/=]{60,}|SharedAccessSignature|_authToken\s*=\s*[^\s$]{16,}|\bapi\.telegram\.org/bot\d+:[\w-]{30,}|\b\d{8,10}:AA[\w-]{32,}`

// namedLine is a value given to something that is called a secret, or a password
// in an address.
const namedLine = `(?i)(pass(word|wd|phrase)?|secret|token|api_?-?key|access_?-?key|auth_?-?key|private_?-?key|(encrypt\w*|signing|sign|master|session|cookie|hmac|jwt|aes|crypto?|license|account|storage|service|root|admin)_?-?key|credential|authorization|client_?-?secret|conn(ection)?_?-?string)\w*["']?\s*(:=|=>|=|:)\s*["']?(?:(?:bearer|basic|token)\s+)?([A-Za-z0-9+/=_.!@#%^&*~-]{16,})|[a-z][a-z0-9+]*://[^\s:/@"'<>${}]+:([^\s:/@"'<>${}*]{8,})@`

// A line is a secret's when one of the two matches: the tables join them.
var (
	knownSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(knownLine) })
	namedSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(namedLine) })
)

// placeholder are words that real credentials do not hold.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)example|sample|dummy|fake|placeholder|changeme|change_me|your[_-]?|xxxx|test[_-]?(key|token|secret|password)|redacted|\.\.\.|<[^>]*>|\$\{|\{\{|process\.env|os\.environ|getenv|secrets\.|env\.|config\.|settings\.|0{8}|1234567|abcdef|notreal|insecure|localhost|foo|bar[^a-z]`)
})

func secrets(s *subject, with picked) (hits []hit) {
	if s.gone() || s.lock {
		return nil
	}
	lines, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	for _, l := range lines {
		t := clip(l.text)
		if m := knownSecret().Find(t); m != nil {
			if bytes.Contains(m, []byte("EXAMPLE")) {
				continue
			}
			h := hit{line: l.no}
			if s.test && bytes.HasPrefix(m, []byte("eyJ")) {
				h.severity = note // tests of tokens are full of them
			}
			if bytes.HasPrefix(m, []byte("-----BEGIN")) && len(bytes.TrimSpace(t)) > len(m)+12 && s.prose {
				h.severity = note // prose that quotes the first line
			}
			hits = append(hits, h)
			continue
		}
		m := namedSecret().FindSubmatch(t)
		if m == nil {
			continue
		}
		value, inAddress := m[len(m)-2], m[len(m)-1]
		if len(value) == 0 {
			value = inAddress
		}
		// That a host is one of an example says nothing of what is generated.
		generated := random(value) || len(inAddress) > 0 && mixed(value)
		if placeholder().Match(t) && !(generated && !placeholder().Match(exampleHost().ReplaceAll(t, nil))) {
			continue
		}
		if len(inAddress) > 0 && !s.prose || random(value) {
			h := hit{line: l.no}
			if s.test || s.prose {
				h.severity = note
			}
			hits = append(hits, h)
		}
	}
	return hits
}

// exampleHost is a host name that is kept for examples.
var exampleHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)([/@.-])([\w-]+\.)*(example(\.(com|org|net|test|invalid))?|[\w-]+\.(example|test|invalid))\b`)
})

// mixed says whether a value has digits and letters of both cases among each other.
func mixed(v []byte) bool {
	return bytes.ContainsAny(v, "0123456789") && bytes.ContainsAny(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && bytes.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz")
}

// random says whether a value looks generated: digits and letters of both cases
// or of hexadecimal, spread evenly.
func random(v []byte) bool {
	var count [256]int
	digit, upper, lower := 0, 0, 0
	for _, c := range v {
		count[c]++
		switch {
		case c >= '0' && c <= '9':
			digit++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		}
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return digit >= 3 && lower+upper >= 3 && bits > 3.2 && (upper > 0 && lower > 0 || bits > 3.4)
}
