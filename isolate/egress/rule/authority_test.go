package rule

import (
	"strings"
	"testing"
)

func TestParseAuthorityGivesOneForm(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Example.TEST", "example.test:443"},
		{"example.test.", "example.test:443"},
		{"example.test:8443", "example.test:8443"},
		{"_dmarc.x.test", "_dmarc.x.test:443"},
		{"a--b.x.test", "a--b.x.test:443"},
		{"r3---sn.example.test", "r3---sn.example.test:443"},
		{"3host", "3host:443"},
		{"b\u00fccher.test", "xn--bcher-kva.test:443"},
		{"B\u00dcCHER.test", "xn--bcher-kva.test:443"},
		{"XN--BCHER-KVA.test", "xn--bcher-kva.test:443"},
		{"fa\u00df.test", "xn--fa-hia.test:443"},      // not "fass": IDNA 2008
		{"a\u3002example.test", "a.example.test:443"}, // ideographic full stop
		{"\uff45xample.test", "example.test:443"},     // fullwidth
		{"ex\u00adample.test", "example.test:443"},    // soft hyphen
		{"_a.b\u00fccher.test", "_a.xn--bcher-kva.test:443"},
		{"127.0.0.1", "127.0.0.1:443"},
		{"[::1]", "[::1]:443"},
		{"[2001:DB8:0:0::1]:8443", "[2001:db8::1]:8443"},
		{"[::ffff:10.0.0.1]", "10.0.0.1:443"},
		{"[::ffff:a00:1]", "10.0.0.1:443"},
	} {
		a, err := ParseAuthority(tt.in, 443)
		if err != nil || a.String() != tt.want {
			t.Errorf("%q: got %v, %v, want %s", tt.in, a, err, tt.want)
			continue
		}
		if again, err := ParseAuthority(a.String(), 0); err != nil || again != a {
			t.Errorf("%q: got %v, %v from its own form, want %v", tt.in, again, err, a)
		}
	}
}

// Each is one thing to a resolver and another to a TLS stack, a URL parser or a
// server, or nothing that can be reached at all.
func TestParseAuthorityRefusesWhatIsReadInMoreThanOneWay(t *testing.T) {
	for name, in := range map[string]string{
		"nothing": "", "a dot": ".", "two dots behind": "a.test..", "an empty label": "a..test", "a dot in front": ".a.test",
		"decimal": "2130706433", "hexadecimal": "0x7f000001", "hexadecimal end": "a.0x7f", "0x alone": "127.0x", "two parts": "127.1",
		"hexadecimal part": "0x7f.1", "octal": "0177.0.0.1", "leading zero": "127.0.0.01", "a dot behind an address": "127.0.0.1.",
		"five parts": "1.2.3.4.5", "too large": "256.256.256.256", "fullwidth address": "\uff11\uff12\uff17.0.0.1", "circled digits": "\u2460.0.0.1",
		"zone": "[fe80::1%25eth0]", "zone unescaped": "[fe80::1%eth0]", "no brackets": "::1", "IPv4 in brackets": "[127.0.0.1]",
		"a name in brackets": "[a.test]", "half a bracket": "[::1", "bytes behind": "[::1]x", "future address": "[v1.a:b]",
		"userinfo": "u@a.test", "password": "u:p@a.test", "escape": "a%2etest", "NUL": "a.test\x00.b.test", "space": "a test", "newline": "a\n.test",
		"slash": "a.test/b", "backslash": `a.test\b`, "fullwidth slash": "a\uff0fb.test", "care of": "\u2105.test", "query": "a.test?b", "fragment": "a.test#b",
		"fullwidth at": "a\uff20b.test", "fullwidth percent": "a\uff05b.test", "question as a double": "a\u2047b.test",
		"hyphen first": "-a.test", "hyphen last": "a-.test", "not UTF-8": "a\xff.test", "emoji joiner": "a\u200db.test", "right to left": "a\u202eb.test",
		"bad punycode": "xn--zzzzzzzz.test", "empty punycode": "xn--.test", "punycode of ASCII": "xn--a-.test", "punycode of a dot": "xn--a.b-xn.test",
		"punycode not its own form": "xn--abc-4l9.test\u3002", "long label": strings.Repeat("a", 64) + ".test", "long name": strings.Repeat("a.", 126) + "test",
		"very long": strings.Repeat("a", 5000), "port 0": "a.test:0", "no port": "a.test:", "port with a zero": "a.test:0443", "port with a sign": "a.test:+443",
		"large port": "a.test:65536", "port in words": "a.test:https", "two ports": "a.test:1:2", "port behind": "[::1]:", "wildcard": "*.a.test", "comma": "a.test,b.test",
	} {
		if a, err := ParseAuthority(in, 443); err == nil || a != (Authority{}) {
			t.Errorf("%s: got %q, %v, want nothing and an error", name, a, err)
		} else if strings.ContainsAny(err.Error(), "\x00\n%\\") {
			t.Errorf("%s: got %q, want none of the input's bytes", name, err)
		}
	}
	if _, err := ParseAuthority("a.test", 0); err == nil {
		t.Error("got no error without any port, want one")
	}
}

func FuzzParseAuthority(f *testing.F) {
	for _, s := range []string{
		"example.test", "example.test:443", "[::1]:443", "127.0.0.1", "0x7f.1", "xn--bcher-kva.test.", "b\u00fccher.test", "_a.test", "a\u3002test", "[::ffff:1.2.3.4]",
		"[fe80::1%25lo]", "u@a.test:1", "a\x00.test", "\uff11.test", "xn--a.test", "\u2100.test", "1.1.1.1 &@2.2.2.2# @3.3.3.3", "a.test:443:80", "\u0660.test",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAuthority(s, 443)
		if err != nil {
			if a != (Authority{}) {
				t.Fatalf("%q: got %v beside an error, want nothing", s, a)
			}
			return
		}
		again, err := ParseAuthority(a.String(), 0)
		if err != nil || again != a {
			t.Fatalf("%q: got %v, %v from its own form, want %v", s, again, err, a)
		}
		if a.IP.IsValid() != (a.IP.IsValid() && a.IP.String() == a.Host && a.IP.Zone() == "" && !a.IP.Is4In6()) {
			t.Fatalf("%q: got the address %v for the host %q, want one", s, a.IP, a.Host)
		}
		if strings.Trim(a.Host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" && !a.IP.Is6() {
			t.Fatalf("%q: got the host %q, want a lower-case ASCII name", s, a.Host)
		}
		if up, err := ParseAuthority(strings.ToUpper(a.Host), a.Port); !a.IP.Is6() && (err != nil || up != a) {
			t.Fatalf("%q: got %v, %v in upper case, want %v", s, up, err, a)
		}
	})
}
