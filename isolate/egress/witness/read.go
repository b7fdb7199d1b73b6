package witness

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Answer is what came back to a client that wrote requests by hand.
type Answer struct {
	Status  int
	Header  http.Header
	Body    []byte // without chunks
	Trailer http.Header
}

// ReadAnswer reads the first answer of a connection's bytes. A body that was cut
// off is given as far as it came.
func ReadAnswer(b []byte) (*Answer, error) {
	r := bufio.NewReader(bytes.NewReader(b))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, fmt.Errorf("read an answer of %d bytes: %w", len(b), err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) // cut off or not
	if resp.StatusCode == http.StatusSwitchingProtocols {
		body, _ = io.ReadAll(r)
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, Trailer: resp.Trailer}, nil
}

// Everything is all of an answer that a program inside could read, with what is
// compressed besides.
func (a *Answer) Everything() []byte {
	var b bytes.Buffer
	for _, h := range []http.Header{a.Header, a.Trailer} {
		for k, vs := range h {
			fmt.Fprintf(&b, "%s: %s\n", k, strings.Join(vs, "\n"))
		}
	}
	b.Write(a.Body)
	if z, err := gzip.NewReader(bytes.NewReader(a.Body)); err == nil {
		plain, _ := io.ReadAll(io.LimitReader(z, 1<<20)) // as far as it goes
		b.Write(plain)
	}
	return b.Bytes()
}
