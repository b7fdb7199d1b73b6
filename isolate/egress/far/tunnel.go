package far

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Tunnel answers a CONNECT, to any host, with a connection to one address.
func Tunnel(w http.ResponseWriter, r *http.Request, to string) {
	h, ok := w.(http.Hijacker)
	if r.Method != http.MethodConnect || !ok {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	near, early, err := h.Hijack()
	if err != nil {
		_ = far.Close() // nothing was sent
		return
	}
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n") // the copies below notice
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, early)
		_ = far.Close() // the other way ends with it
	})
	both.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	both.Wait()
}
