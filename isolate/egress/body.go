package egress

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fumehood/isolate/egress/rule"
)

var now = time.Now

// upload is a request's body on its way out. It counts each byte as it passes,
// for all requests of the entry together, and ends where the entry's max_upload
// does.
type upload struct {
	r       io.ReadCloser
	caps    caps
	entry   *rule.Entry
	n       atomic.Int64
	refused atomic.Pointer[refusal]
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if n > 0 && !u.caps.spend(u.entry, int64(n)) {
		ref := refusal{reason: rule.Upload, rule: u.entry.Name, status: http.StatusRequestEntityTooLarge}
		u.refused.Store(&ref)
		return 0, ref
	}
	u.n.Add(int64(n))
	return n, err
}

func (u *upload) Close() error { return u.r.Close() }

// pool lends the buffers that bodies are copied through.
type pool struct{ p sync.Pool }

var buffers pool

func (b *pool) get() *[]byte {
	if v, ok := b.p.Get().(*[]byte); ok {
		return v
	}
	v := make([]byte, copyBuffer)
	return &v
}

func (b *pool) put(v *[]byte) { b.p.Put(v) }
