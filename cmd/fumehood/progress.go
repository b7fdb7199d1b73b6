package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progressLine shows a long copy on a terminal: one line, rewritten at most
// ten times a second, first after a third of a second, gone at the end.
func progressLine(w io.Writer) (func(done, total int, bytes int64), func()) {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return func(int, int, int64) {}, func() {}
	}
	begin, last, shown := time.Now(), time.Time{}, false
	update := func(done, total int, bytes int64) {
		now := time.Now()
		if now.Sub(begin) < 300*time.Millisecond || now.Sub(last) < 100*time.Millisecond {
			return
		}
		last, shown = now, true
		if total > 0 {
			fmt.Fprintf(w, "\r\x1b[Kcopying in: %d of %d files, %s  (ctrl+c cancels)", done, total, sizeText(bytes))
		} else {
			fmt.Fprintf(w, "\r\x1b[Klooking at the repository: %d files", done)
		}
	}
	return update, func() {
		if shown {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
