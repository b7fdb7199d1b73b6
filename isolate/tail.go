package isolate

import (
	"io"
	"os"
	"strings"
)

// tail keeps the last words of the stage.
type tail struct {
	done chan struct{}
	buf  []byte
}

const tailBytes = 4 << 10

func readTail(r *os.File) *tail {
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer r.Close()
		t.buf, _ = io.ReadAll(io.LimitReader(r, tailBytes)) // what came before an error is what there is
		_, _ = io.Copy(io.Discard, r)                       // so that it can't block on a full pipe
	}()
	return t
}

func (t *tail) text() string {
	<-t.done
	return strings.TrimSpace(string(t.buf))
}
