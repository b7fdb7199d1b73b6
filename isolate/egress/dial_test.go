package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fumehood/isolate/egress/rule"
)

func TestNameLeadsOnlyWhereItsAddressesMayBe(t *testing.T) {
	public := addrs("93.184.216.34")
	for _, row := range []struct {
		name    string
		answers []netip.Addr
		allowed []string // addresses of the entry
		want    string   // the address reached
		reason  rule.Reason
	}{
		{"public", public, nil, "93.184.216.34", ""},
		{"mapped public", addrs("::ffff:93.184.216.34"), nil, "93.184.216.34", ""},
		{"none", nil, nil, "", rule.NoAddress},
		{"loopback", addrs("127.0.0.1"), nil, "", rule.BadAddress},
		{"mapped loopback", addrs("::ffff:127.0.0.1"), nil, "", rule.BadAddress},
		{"private", addrs("10.1.2.3"), nil, "", rule.BadAddress},
		{"metadata", addrs("169.254.169.254"), nil, "", rule.BadAddress},
		{"this machine's own", addrs("93.184.216.99"), nil, "", rule.BadAddress},
		{"private, as the entry says", addrs("10.1.2.3"), []string{"10.1.0.0/16"}, "10.1.2.3", ""},
		{"private beside what may be", append(addrs("127.0.0.1"), public...), nil, "93.184.216.34", ""},
		{"the first can't be reached", append(addrs("93.184.216.1"), public...), nil, "93.184.216.34", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := entry("name.test:80", "GET /**")
			e.Addresses = row.allowed
			w := newWorld(t, e)
			for _, a := range []string{"93.184.216.34", "10.1.2.3"} {
				w.plain(a+":80", echo)
			}
			var asked atomic.Int64
			w.cfg.Upstream.Resolve = func(context.Context, string) ([]netip.Addr, error) { asked.Add(1); return row.answers, nil }
			w.cfg.Upstream.Own = func() ([]netip.Addr, error) { return addrs("93.184.216.99"), nil }
			w.start()
			status, _ := get(t, w.client(), "http://name.test/")
			a := w.nth(1)
			if a.Address != row.want || a.Reason != string(row.reason) || (status == 200) != (row.reason == "") {
				t.Errorf("got %d, %+v, want address %q, reason %q", status, a, row.want, row.reason)
			}
			if asked.Load() != 1 {
				t.Errorf("got %d lookups, want 1", asked.Load())
			}
			if row.reason != "" {
				return
			}
			get(t, w.client(), "http://name.test/") // on the connection that is open
			if a := w.nth(2); a.Address != row.want || asked.Load() != 1 {
				t.Errorf("again: got %+v and %d lookups, want address %q and no other lookup", a, asked.Load(), row.want)
			}
		})
	}
}

func TestNameThatChangesIsDialledAsItWasChecked(t *testing.T) {
	w := newWorld(t, entry("name.test:80", "GET /**"))
	w.plain("93.184.216.34:80", echo).plain("127.0.0.1:80", echo)
	var n atomic.Int64
	w.cfg.Upstream.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if n.Add(1)%2 == 1 {
			return addrs("93.184.216.34"), nil
		}
		return addrs("127.0.0.1"), nil
	}
	w.start()
	for i := range 10 {
		want := []int{200, 403}[i%2]
		if got, text := get(t, w.client(), "http://name.test/"); got != want {
			t.Errorf("request %d: got %d, %q, want %d", i, got, text, want)
		}
		w.proxy.ways.closeIdle() // so that each is a connection of its own
	}
	for _, a := range w.some(10) {
		if a.Allowed && a.Address != "93.184.216.34" {
			t.Errorf("got %+v, want the address that was checked", a)
		}
	}
}

func TestNobodyIsAskedForANameWithoutAnEntry(t *testing.T) {
	var asked atomic.Int64
	w := newWorld(t, entry("ok.test:443", "GET /**"))
	w.cfg.Upstream.Resolve = func(context.Context, string) ([]netip.Addr, error) { asked.Add(1); return nil, nil }
	w.start()
	get(t, w.client(), "http://evil.test/")
	_, _ = w.client().Get("https://evil.test/")
	w.some(2)
	if asked.Load() != 0 {
		t.Errorf("got %d lookups, want none: a name can carry what nobody should know", asked.Load())
	}
}

func TestLiteralIsJudgedBeforeATunnelIsOpened(t *testing.T) {
	e := entry("*.test.example:443", "GET /**")
	w := newWorld(t, e, entry("93.184.216.34:443", "GET /**"), entry("[2001:db8::5]:8443", "GET /**"))
	w.tls("[2001:db8::5]:8443", echo)
	w.cfg.Upstream.Own = func() ([]netip.Addr, error) { return addrs("93.184.216.34"), nil }
	w.start()
	// An entry for an address names it, so this one is allowed all the same.
	w.tls("93.184.216.34:443", echo)
	if status, text := get(t, w.client(), "https://93.184.216.34/"); status != 200 {
		t.Errorf("got %d, %q, want 200", status, text)
	}
	if status, text := get(t, w.client("h2"), "https://[2001:db8::5]:8443/"); status != 200 {
		t.Errorf("got %d, %q, want 200", status, text)
	}
	p := w.proxy
	if err := p.literal(rule.Reach{Named: true}, rule.Authority{Host: "10.0.0.1", IP: netip.MustParseAddr("10.0.0.1"), Port: 443}); err == nil {
		t.Error("got a private address permitted, want it refused")
	}
}

func TestCertificateOfADestinationIsVerified(t *testing.T) {
	sign := func(ca *authority, change func(*x509.Certificate)) tls.Certificate {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: serial(), DNSNames: []string{"bad.test"}, NotBefore: now().Add(-time.Hour), NotAfter: now().Add(time.Hour)}
		change(c)
		der, err := x509.CreateCertificate(rand.Reader, c, ca.cert, key.Public(), ca.key)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der, ca.cert.Raw}, PrivateKey: key}
	}
	other, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(w *world) tls.Certificate{
		"another authority": func(*world) tls.Certificate { return sign(other, func(*x509.Certificate) {}) },
		"another name": func(w *world) tls.Certificate {
			return sign(w.ca, func(c *x509.Certificate) { c.DNSNames = []string{"good.test"} })
		},
		"expired": func(w *world) tls.Certificate {
			return sign(w.ca, func(c *x509.Certificate) { c.NotAfter = now().Add(-time.Minute) })
		},
		"a fumehood session's own": func(w *world) tls.Certificate {
			c, err := other.certificate(rule.Authority{Host: "bad.test", Port: 443})
			if err != nil {
				t.Fatal(err)
			}
			return *c
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withAccount(entry("bad.test:443", "GET /**")))
			var reached atomic.Int64
			w.tlsWith("bad.test:443", &tls.Config{Certificates: []tls.Certificate{make(w)}}, func(http.ResponseWriter, *http.Request) { reached.Add(1) }).start()
			status, text := get(t, w.client(), "https://bad.test/")
			if status != 502 || !strings.Contains(text, "its certificate is not valid") || reached.Load() != 0 {
				t.Errorf("got %d, %q, %d requests, want 502, the certificate as reason, none", status, text, reached.Load())
			}
			if a := w.nth(1); a.Allowed {
				t.Errorf("got %+v, want it not allowed", a)
			}
		})
	}
}

func TestDestinationThatIsNotThereIsSaidSo(t *testing.T) {
	w := newWorld(t, entry("gone.test:443", "GET /**"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.to["gone.test:443"] = l.Addr().String()
	_ = l.Close()
	w.start()
	status, text := get(t, w.client(), "https://gone.test/")
	if status != 502 || !strings.Contains(text, "no connection") {
		t.Errorf("got %d, %q, want 502, no connection", status, text)
	}
}
