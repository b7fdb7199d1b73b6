package egress

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"fumehood/isolate/egress/rule"
)

var discard = log.New(io.Discard, "", 0)

func TestRequestLeavesOnlyAsAnEntrySays(t *testing.T) {
	ok := entry("ok.test:443", "GET /api/**", "POST /api/**")
	clear := entry("plain.test:80", "GET /**")
	w := newWorld(t, ok, clear, withAccount(entry("mine.test:443", "GET /**")), withAccount(entry("mine.test:80", "GET /**")))
	var reached atomic.Int64
	count := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { reached.Add(1); h(w, r) }
	}
	w.tls("ok.test:443", count(echo)).plain("plain.test:80", count(echo)).tls("mine.test:443", count(echo)).plain("mine.test:80", count(echo)).start()
	for _, row := range []struct {
		name, method, url string
		header            []string
		status            int
		reason            rule.Reason
	}{
		{"allowed", "GET", "https://ok.test/api/1?q=2", nil, 200, ""},
		{"plain", "GET", "http://plain.test/x", nil, 200, ""},
		{"other operation", "GET", "https://ok.test/admin", nil, 403, rule.Operation},
		{"other method", "DELETE", "https://ok.test/api/1", nil, 403, rule.Operation},
		{"trace", "TRACE", "https://ok.test/api/1", nil, 403, rule.Operation},
		{"no entry", "GET", "http://other.test/", nil, 403, rule.NoEntry},
		{"no entry for the port", "GET", "http://ok.test/api/1", nil, 403, rule.NoEntry},
		{"credential of its own", "GET", "https://ok.test/api/1", []string{"Authorization", "Bearer sk-mine"}, 403, rule.Foreign},
		{"userinfo", "GET", "http://me:pw@plain.test/", nil, 403, rule.Foreign},
		{"cookie of its own", "GET", "https://ok.test/api/1", []string{"Cookie", "sid=1"}, 403, rule.Foreign},
		{"placeholder where it has no entry", "GET", "https://ok.test/api/1", []string{"Authorization", "Bearer " + placeholder}, 403, rule.Elsewhere},
		{"placeholder of another session", "GET", "https://mine.test/", []string{"Authorization", "Bearer another-sessions-placeholder-000000000000"}, 403, rule.Other},
		{"placeholder", "GET", "https://mine.test/", []string{"Authorization", "Bearer " + placeholder}, 200, ""},
		{"account without the placeholder", "GET", "https://mine.test/", nil, 200, ""},
		{"account in the clear", "GET", "http://mine.test/", nil, 403, rule.Clear},
		{"upgrade", "GET", "https://ok.test/api/1", []string{"Connection", "Upgrade", "Upgrade", "websocket"}, 403, rule.Upgrade},
		{"upgrade to h2c, which is left out", "GET", "http://plain.test/", []string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"}, 200, ""},
		{"password for the proxy", "GET", "http://plain.test/", []string{"Proxy-Authorization", "Basic eDp5"}, 403, rule.Foreign},
		{"fumehood's own password for it", "GET", "http://plain.test/", []string{"Proxy-Authorization", "Basic ZnVtZWhvb2Q6eA=="}, 200, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, n := reached.Load(), len(w.some(0))
			status, text := do(t, w.client(), row.method, row.url, nil, row.header...)
			if status != row.status {
				t.Errorf("got status %d and %q, want %d", status, text, row.status)
			}
			a := w.nth(n + 1)
			if got, want := rule.Reason(a.Reason), row.reason; got != want || a.Allowed != (want == "") || a.Status != row.status {
				t.Errorf("got %+v, want reason %q, status %d", a, want, row.status)
			}
			if got, want := reached.Load()-before, map[bool]int64{true: 1, false: 0}[row.reason == ""]; got != want {
				t.Errorf("got %d requests at the destination, want %d", got, want)
			}
			if strings.Contains(a.Path, "?") || strings.Contains(fmt.Sprintf("%+v", a), secret) {
				t.Errorf("got %+v, want no query and no secret", a)
			}
		})
	}
}

func TestAccountIsAttachedInPlaceOfWhateverWasThere(t *testing.T) {
	w := newWorld(t, withAccount(entry("mine.test:443", "GET /**")))
	var got atomic.Value
	w.tls("mine.test:443", func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header.Clone()) }).start()
	get(t, w.client(), "https://mine.test/", "X-Api-Key", placeholder, "X-Http-Method-Override", "DELETE", "X_HTTP_Method", "PUT",
		"Connection", "close, Authorization", "X-Forwarded-For", "192.0.2.1", "Range", "bytes=0-3", "Accept-Encoding", "br")
	h, _ := got.Load().(http.Header)
	for name, want := range map[string]string{
		"Authorization": "Bearer " + secret, "X-Api-Key": "", "X-Http-Method-Override": "", "X_http_method": "", "X_HTTP_Method": "",
		"X-Forwarded-For": "", "Range": "", "Accept-Encoding": "identity", "Proxy-Authorization": "", "User-Agent": "Go-http-client/1.1",
	} {
		if got := strings.Join(h[name], "|"); got != want && !(name == "User-Agent" && strings.HasPrefix(got, "Go-http-client")) {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
	if a := w.nth(1); a.Account != "me" {
		t.Errorf("got account %q, want %q", a.Account, "me")
	}
}

func TestCookiesOfTheDestinationComeBackToIt(t *testing.T) {
	w := newWorld(t, entry("a.test:443", "GET /**"), entry("b.test:443", "GET /**"))
	set := func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "of-the-session-1"})
		_, _ = io.WriteString(w, r.Header.Get("Cookie"))
	}
	w.tls("a.test:443", set).tls("b.test:443", set).start()
	c := w.client()
	get(t, c, "https://a.test/")
	if status, text := get(t, c, "https://a.test/", "Cookie", "sid=of-the-session-1"); status != 200 || text != "sid=of-the-session-1" {
		t.Errorf("got %d, %q, want the cookie at the destination", status, text)
	}
	if status, _ := get(t, c, "https://b.test/", "Cookie", "sid=of-the-session-1"); status != 403 {
		t.Errorf("another destination: got %d, want 403", status)
	}
}

func TestTooManyRequestsAreToldWhenToComeBack(t *testing.T) {
	e := entry("ok.test:443", "GET /**")
	e.PerMinute = 3
	w := newWorld(t, e).tls("ok.test:443", echo).start()
	c := w.client()
	for range 3 {
		if status, _ := get(t, c, "https://ok.test/"); status != 200 {
			t.Fatalf("got %d, want 200", status)
		}
	}
	req, _ := http.NewRequest(http.MethodGet, "https://ok.test/", nil)
	resp, err := c.Do(req)
	text := body(t, resp, err)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %d, %v, %q, want 429 with Retry-After", resp.StatusCode, resp.Header, text)
	}
}
