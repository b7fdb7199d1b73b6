package egress

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// memory is a destination that keeps the credential it saw, and shows it in
// every part of a later answer.
func memory() http.HandlerFunc {
	var last atomic.Value
	return func(w http.ResponseWriter, r *http.Request) {
		if v := r.Header.Get("Authorization"); v != "" {
			last.Store(v)
		}
		v, _ := last.Load().(string)
		if r.URL.Path == "/pub/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = io.WriteString(z, "last: "+v)
			return
		}
		w.Header().Set("X-Last", v)
		w.Header().Set("Trailer", "X-Late")
		_, _ = fmt.Fprintf(w, "last: %s, asked %q", v, r.Header.Get("Range")+r.Header.Get("Accept-Encoding"))
		w.Header().Set("X-Late", v)
	}
}

func TestSecretIsCutOutOfEveryLaterAnswer(t *testing.T) {
	store := withAccount(entry("mine.test:443", "POST /ok/**"))
	returns := withAccount(entry("other.test:443", "GET /returns"))
	returns.Account, returns.ReturnsSecret = "second", true
	w := newWorld(t, store, entry("mine.test:443", "GET /pub/**"), returns)
	w.cfg.Accounts = append(w.cfg.Accounts, account.Account{Name: "second", Attach: w.cfg.Accounts[0].Attach, Placeholder: "zz_" + placeholder})
	var n atomic.Int64
	w.cfg.Secret = func(_ context.Context, name string) (string, error) {
		if name == "second" {
			return "second-" + secret, nil
		}
		return fmt.Sprintf("%s-%d", secret, n.Add(1)), nil // rotated each time
	}
	w.tls("mine.test:443", memory())
	w.tls("other.test:443", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s and %s-1.", r.Header.Get("Authorization"), secret)
	}).start()
	c := w.client()
	first, _ := get(t, c, "https://mine.test/pub/last")
	if status, _ := do(t, c, http.MethodPost, "https://mine.test/ok/store", nil, "Authorization", "Bearer "+placeholder); first != 200 || status != 200 {
		t.Fatalf("got %d and %d, want 200", first, status)
	}
	stars := strings.Repeat("*", len(secret)+2)
	for path, want := range map[string]string{
		"last": "last: Bearer " + stars + `, asked "identity"`,
		"gzip": "last: Bearer " + stars,
	} {
		req, _ := http.NewRequest(http.MethodGet, "https://mine.test/pub/"+path, nil)
		req.Header.Set("Range", "bytes=0-9")
		resp, err := c.Do(req)
		text := body(t, resp, err)
		if text != want || leaks(fmt.Sprint(resp.Header, resp.Trailer)) {
			t.Errorf("%s: got %q, %v, %v, want %q and no secret", path, text, resp.Header, resp.Trailer, want)
		}
	}
	if status, _ := do(t, c, http.MethodPost, "https://mine.test/ok/store", nil, "Authorization", "Bearer "+placeholder); status != 200 {
		t.Fatalf("got %d, want 200", status)
	}
	// Its own secret may come back there, the other account's old one may not.
	if _, text := get(t, c, "https://other.test/returns"); text != "Bearer second-"+secret+" and "+stars+"." {
		t.Errorf("got %q, want the entry's own secret alone", text)
	}
}

func TestSecretAttachedMeanwhileIsCutOut(t *testing.T) {
	next := make(chan string)
	w := newWorld(t, withAccount(entry("mine.test:443", "POST /ok")), entry("mine.test:443", "GET /pub"))
	w.tls("mine.test:443", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			return
		}
		for text := "begun\n"; text != ""; text = <-next {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}).start()
	c := w.client()
	resp, err := c.Get("https://mine.test/pub")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, b); err != nil {
		t.Fatal(err)
	}
	_, _ = do(t, c, http.MethodPost, "https://mine.test/ok", nil)
	next <- "now " + secret + "\n"
	next <- ""
	if got, want := body(t, resp, nil), "now "+strings.Repeat("*", len(secret))+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAttachedSecretsAreBounded(t *testing.T) {
	var c cutters
	for i := range maxAttached + 1 {
		c.add(attached{"me", fmt.Sprintf("secret-number-%03d", i), ""})
	}
	c.add(attached{"me", "secret-number-001", ""}) // used again, so not the oldest
	c.add(attached{"you", "secret-number-999", ""})
	for s, want := range map[string]int{"secret-number-000": 0, "secret-number-001": 1, "secret-number-002": 0, "secret-number-064": 1, "secret-number-999": 1} {
		if got := c.but("").Cut([]byte(s)); got != want {
			t.Errorf("%s: got %d cut, want %d", s, got, want)
		}
	}
	if got := c.but("you").Cut([]byte("secret-number-999 secret-number-064")); got != 1 {
		t.Errorf("got %d cut, want the other account's alone", got)
	}
}

// The inside may choose in which charset a destination answers.
func TestCharsetsThatCantBeSearched(t *testing.T) {
	w := newWorld(t, withAccount(entry("mine.test:443", "GET /**")))
	w.tls("mine.test:443", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain;"+r.URL.RawQuery)
		_, _ = fmt.Fprintf(w, "%s|%s", r.Header.Get("Accept"), r.Header.Get("Accept-Charset"))
	}).start()
	c := w.client()
	for query, want := range map[string]int{
		"": 200, "charset=utf-8": 200, "charset=UTF-16LE": 200, "charset=%22x": 502, "Charset=cp037": 502, "charset=utf-7": 502, "charset=ISO-8859-1": 200,
	} {
		status, text := get(t, c, "https://mine.test/?"+query, "Accept", "text/plain;charset=UTF-32;q=0.5, a/b", "Accept-Charset", "cp037")
		if status != want || status == 200 && text != "text/plain;q=0.5, a/b|" {
			t.Errorf("%s: got %d, %q, want %d, no charset asked for", query, status, text, want)
		}
	}
	if a := w.nth(1); a.Status != 200 && a.Reason != string(rule.Unsearchable) {
		t.Errorf("got %+v, want %q", a, rule.Unsearchable)
	}
	if got, want := noCharset(`a/b;x="c;charset=utf-32"`), "*/*"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadersThatServersReadByAnotherNameAreDropped(t *testing.T) {
	h := outHeader(http.Header{
		"Content_length": {"1"}, "Transfer_encoding": {"chunked"}, "X-Rewrite-Url": {"/no"}, "X-Ms-Range": {"bytes=0-1"}, "Request-Range": {"bytes=0-1"},
		"Accept_charset": {"cp037"}, "A_b": {"1"}, "X-Forwarded-Host": {"evil.test"},
	}, "")
	readsAll(h)
	if len(h) != 3 || h.Get("A_b") != "1" || h.Get("Accept-Encoding") != "identity" {
		t.Errorf("got %v, want A_b, Accept-Encoding and User-Agent alone", h)
	}
}

// What comes inside of a file that the inside put there must be of the same
// sizes whatever the file's text has to do with the secret.
func TestPiecesOfAnAnswerTellNothing(t *testing.T) {
	w := newWorld(t, withAccount(entry("mine.test:443", "GET /**"))).start()
	w.proxy.cutters.add(attached{account: "me", secret: secret})
	lengths := func(guess string) string {
		to := &sizes{ResponseRecorder: httptest.NewRecorder()}
		trip := &trip{p: w.proxy, out: &permit{entry: &rule.Entry{}}, said: &record.Attempt{}, w: to}
		text := strings.Repeat("|", 5000) + guess
		if err := trip.stream(trip.reader(iotest.OneByteReader(strings.NewReader(text + "\n" + text)))); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(to.list)
	}
	right, wrong := lengths(secret[:8]), lengths("xeal-sec")
	if right != wrong || len(right) < 4 {
		t.Errorf("got pieces of %s for a beginning of the secret, want %s as for any text", right, wrong)
	}
}

type sizes struct {
	*httptest.ResponseRecorder
	list []int
}

func (s *sizes) Write(b []byte) (int, error) {
	s.list = append(s.list, len(b))
	return s.ResponseRecorder.Write(b)
}

func TestQueryLeavesAsASCII(t *testing.T) {
	var got atomic.Value
	w := newWorld(t, entry("ok.test:443", "GET /**"))
	w.tls("ok.test:443", func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.URL.RawQuery)
		w.Header().Set("X-Fumehood-Refused", "operation not allowed")
	}).start()
	req, _ := http.NewRequest(http.MethodGet, "https://ok.test/", nil)
	req.URL.RawQuery = "q=\u00e0&a=%20"
	resp, err := w.client("h2").Do(req)
	body(t, resp, err)
	if want := "q=%C3%A0&a=%20"; got.Load() != want || resp.Header.Get("X-Fumehood-Refused") != "" {
		t.Errorf("got %q, %v, want %q and no word of the proxy's", got.Load(), resp.Header, want)
	}
	req, _ = http.NewRequest(http.MethodGet, "https://ok.test/", nil)
	req.URL.RawQuery = "q=1 HTTP/1.0"
	if resp, err := w.client("h2").Do(req); err == nil && resp.StatusCode != http.StatusForbidden {
		t.Errorf("a blank in a query: got %d, want %d", resp.StatusCode, http.StatusForbidden)
	}
}
