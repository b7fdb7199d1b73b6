// Package vendortest plays the APIs of model vendors for tests, on loopback:
// enough of each for one turn in which the model asks for one shell command and
// then says a sentence. It writes down which host was called with which
// credential. A CONNECT proxy beside it leads every host here, so that a
// test which sets it as the host's proxy reaches nobody else. No shipped code
// imports it.
package vendortest

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fumehood/isolate/egress/far"
)

// Script is what the model does in every conversation, and whom it serves.
type Script struct {
	Command string // what it wants run in the shell
	Answer  string // what it says when it has the command's output
	// Keys are the values of credential headers that are served, with the name
	// in lower case: "x-api-key: KEY". All others have 401 for an answer.
	Keys []string
}

// Call is one request that came.
type Call struct {
	Host, Method, Path string
	Credential         string // "authorization: Bearer X"; empty when none came
	Body               string
}

// Vendor is the servers. Whoever starts it closes it.
type Vendor struct {
	script Script
	ca     *far.Authority
	tls    *http.Server
	proxy  *http.Server
	addr   string // of the TLS server
	out    string // of the proxy
	wg     sync.WaitGroup

	mu    sync.Mutex
	calls []Call
}

// maxBody bounds what is read of a request, in bytes; agents send up to 60 kB
// for a word.
const maxBody = 16 << 20

// Start listens on loopback.
func Start(s Script) (*Vendor, error) {
	ca, err := far.NewAuthority("vendors of the tests")
	if err != nil {
		return nil, err
	}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, secure.Close())
	}
	quiet := log.New(io.Discard, "", 0)
	v := &Vendor{script: s, ca: ca, addr: secure.Addr().String(), out: plain.Addr().String()}
	v.tls = &http.Server{Handler: http.HandlerFunc(v.serve), ReadHeaderTimeout: time.Minute, ErrorLog: quiet, TLSConfig: ca.Config()}
	v.proxy = &http.Server{Handler: http.HandlerFunc(v.tunnel), ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	v.wg.Go(func() { _ = v.tls.ServeTLS(secure, "", "") }) // ends with Close
	v.wg.Go(func() { _ = v.proxy.Serve(plain) })
	return v, nil
}

// Proxy is what HTTPS_PROXY has to be.
func (v *Vendor) Proxy() string { return "http://" + v.out }

// CA is what has to be trusted, in PEM.
func (v *Vendor) CA() []byte { return v.ca.PEM() }

// Calls is what came so far, in order.
func (v *Vendor) Calls() []Call {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]Call(nil), v.calls...)
}

// Close ends the servers and everything that is connected.
func (v *Vendor) Close() error {
	err := errors.Join(v.tls.Close(), v.proxy.Close())
	v.wg.Wait()
	return err
}

// tunnel answers a CONNECT to any host with the TLS server.
func (v *Vendor) tunnel(w http.ResponseWriter, r *http.Request) {
	far.Tunnel(w, r, v.addr)
}

// serve answers a call to an API.
func (v *Vendor) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // it has gone
	}
	c := Call{Host: r.Host, Method: r.Method, Path: r.URL.Path, Body: string(body)}
	for _, name := range []string{"x-api-key", "authorization"} {
		for _, value := range r.Header.Values(name) {
			c.Credential += name + ": " + value
		}
	}
	v.mu.Lock()
	v.calls = append(v.calls, c)
	v.mu.Unlock()
	reply, ok := apis[r.Host+" "+r.Method+" "+r.URL.Path]
	switch {
	case !ok:
		say(w, http.StatusNotFound, `{"error":{"type":"not_found_error","message":"no such path"}}`)
	case !v.serves(c.Credential):
		say(w, http.StatusUnauthorized, `{"error":{"type":"authentication_error","message":"the credential is not known"}}`)
	default:
		reply(w, body, v.script)
	}
}

func (v *Vendor) serves(credential string) bool {
	for _, k := range v.script.Keys {
		if k == credential {
			return true
		}
	}
	return false
}

// apis is what is played, by host, method and path.
var apis = map[string]func(w http.ResponseWriter, body []byte, s Script){
	"api.anthropic.com POST /v1/messages":              messages,
	"api.anthropic.com POST /v1/messages/count_tokens": countTokens,
	"api.openai.com POST /v1/responses":                responses,
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may have gone
}

// events sends server-sent events, each named by its type.
func events(w http.ResponseWriter, list ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		b, err := json.Marshal(e)
		if err != nil {
			return // maps of texts and numbers: cannot be
		}
		name, _ := e["type"].(string)
		if _, err := io.WriteString(w, "event: "+name+"\ndata: "+string(b)+"\n\n"); err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// called tells whether the conversation holds a tool's result already.
func called(body []byte, mark string) bool { return strings.Contains(string(body), mark) }
