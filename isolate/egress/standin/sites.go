package standin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sites are the hosts that do more than answer.
var sites = map[string]func(s *Server, w http.ResponseWriter, r *http.Request){
	"packages.example.test": packages,
	"git.example.test":      git,
	"stream.example.test":   stream,
}

// answer says who was asked for what, when it has read all that came.
func answer(_ *Server, w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return // it has gone
	}
	_, _ = fmt.Fprintf(w, "answer %s %s %d\n", r.Host, r.URL.Path, n) // the client may have gone
}

// packages gives files out, and would take whatever is sent.
func packages(s *Server, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		answer(s, w, r)
		return
	}
	if !strings.Contains(filepath.Base(r.URL.Path), ".") {
		w.Header().Set("Content-Type", "application/json")
	}
	http.ServeFileFS(w, r, os.DirFS(filepath.Join(s.Root, "packages")), strings.TrimPrefix(r.URL.Path, "/"))
}

// git serves the repositories below git/, pushes too: what is refused, somebody
// else has refused.
func git(s *Server, w http.ResponseWriter, r *http.Request) {
	h := cgi.Handler{Path: "/usr/lib/git-core/git-http-backend", Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Join(s.Root, "git"), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=true", "GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
	}, Stderr: io.Discard}
	h.ServeHTTP(w, r)
}

const (
	events    = 3
	eventGap  = time.Second
	idleFor   = 8 * time.Second
	magicSize = 4
)

// stream sends events a second apart, answers after a long silence, and speaks
// another protocol when asked to: bytes come back as they are.
func stream(s *Server, w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	tick := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-r.Context().Done():
			return false
		}
	}
	switch r.URL.Path {
	case "/events":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
			if out.Flush() != nil || !tick(eventGap) {
				return
			}
		}
	case "/idle":
		if tick(idleFor) {
			answer(s, w, r)
		}
	case "/socket":
		conn, rw, err := out.Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		b := make([]byte, magicSize)
		if _, err := io.ReadFull(rw, b); err == nil {
			_, _ = conn.Write(b)
		}
	default:
		answer(s, w, r)
	}
}
