package vendortest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A turn is what an agent's own client makes of it; here only that each API asks
// for the command first, answers once its output is there, and serves no
// credential but the one that it was given.
func TestEachAPIAsksForTheCommandAndThenAnswers(t *testing.T) {
	v, err := Start(Script{Command: "echo here", Answer: "all done", Keys: []string{"x-api-key: good", "authorization: Bearer good"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	out, err := url.Parse(v.Proxy())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(v.CA())
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyURL(out), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	post := func(t *testing.T, target, header, value, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, value)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for _, tt := range []struct{ name, url, header, good, ask, after string }{
		{
			"messages", "https://api.anthropic.com/v1/messages?beta=true", "X-Api-Key", "good",
			`{"stream":true,"tools":[{"name":"Bash"}],"messages":[]}`, `{"stream":true,"tools":[{"name":"Bash"}],"messages":[{"type":"tool_result"}]}`,
		},
		{
			"responses", "https://api.openai.com/v1/responses", "Authorization", "Bearer good",
			`{"tools":[{"type":"function","name":"exec_command"}]}`, `{"tools":[{"type":"function","name":"exec_command"}],"input":[{"type":"function_call_output"}]}`,
		},
		{
			"code mode", "https://api.openai.com/v1/responses", "Authorization", "Bearer good",
			`{"input":[{"tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]}]}`, `{"input":[{"type":"custom_tool_call_output"}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if status, got := post(t, tt.url, tt.header, tt.good, tt.ask); status != http.StatusOK || !strings.Contains(got, "echo here") {
				t.Errorf("got %d %q to a first request, want 200 and a call of the command", status, got)
			}
			if status, got := post(t, tt.url, tt.header, tt.good, tt.after); status != http.StatusOK || !strings.Contains(got, "all done") {
				t.Errorf("got %d %q after the tool's output, want 200 and the answer", status, got)
			}
			if status, _ := post(t, tt.url, tt.header, "Bearer other", tt.ask); status != http.StatusUnauthorized {
				t.Errorf("got %d with another credential, want 401", status)
			}
			calls := v.Calls()
			if got := calls[len(calls)-1].Credential; got != strings.ToLower(tt.header)+": Bearer other" {
				t.Errorf("got %q written down as the last credential", got)
			}
		})
	}
}
