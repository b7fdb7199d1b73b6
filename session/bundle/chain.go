package bundle

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// Chain is what a look at a chained record finds.
type Chain struct {
	Lines int `json:"lines"`
	// Broken is the 1-based number of the first line that does not follow from the
	// one before; 0 when all do.
	Broken int `json:"broken"`
	// Cleaned counts lines out of which host paths were taken. Each has the hash of
	// what it was, so that the chain holds; that it says the same is not shown.
	Cleaned int `json:"cleaned"`
}

// links is what the chain needs of a line.
type links struct {
	Prev string `json:"prev"`
	Was  string `json:"was"`
}

// walk reads the lines of a record and checks its chain: the hash of each line
// stands in the next. tell gets each line.
func walk(ctx context.Context, r io.Reader, tell func(line []byte)) (Chain, error) {
	var c Chain
	prev := hexSum(nil)
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	sc.Split(wholeLines)
	for sc.Scan() {
		line := sc.Bytes()
		if c.Lines++; c.Lines%1024 == 0 && ctx.Err() != nil {
			return c, ctx.Err()
		}
		var l links
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		ok := json.Unmarshal(body, &l) == nil && ended && l.Prev == prev
		switch {
		case l.Was == "":
			sum := sha256.Sum256(body)
			prev = hex.EncodeToString(sum[:])
		case isSum(l.Was):
			c.Cleaned++
			prev = l.Was
		default:
			ok = false
		}
		if !ok && c.Broken == 0 {
			c.Broken = c.Lines
		}
		tell(body)
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		if c.Broken == 0 {
			c.Broken = c.Lines + 1
		}
		return c, nil
	}
	return c, sc.Err()
}

// wholeLines splits at newlines and keeps them: a record that ends without one
// was cut.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// hide takes the host's own paths out of texts that leave this machine.
type hide struct{ from, to [][]byte }

// hideOf hides the repository's folder and the account's home, longest first:
// one may lie in the other.
func hideOf(repo, home string) *hide {
	h := &hide{}
	for _, x := range []struct{ path, as string }{{repo, "(repository)"}, {home, "~"}} {
		if len(x.path) < 2 {
			continue // "/" is everywhere, and says nothing
		}
		h.add(x.path, x.as)
	}
	return h
}

func (h *hide) add(path, as string) {
	h.from, h.to = append(h.from, []byte(path)), append(h.to, []byte(as))
	// As JSON writes it.
	if b, err := json.Marshal(path); err == nil && string(b[1:len(b)-1]) != path {
		h.from, h.to = append(h.from, b[1:len(b)-1]), append(h.to, []byte(as))
	}
}

// text gives b without the paths; b itself when none is in it.
func (h *hide) text(b []byte) []byte {
	for i := range h.from {
		if bytes.Contains(b, h.from[i]) {
			b = bytes.ReplaceAll(b, h.from[i], h.to[i])
		}
	}
	return b
}

// record gives the lines of a chained record without the paths. A line that had
// one gets the hash of what it was.
func (h *hide) record(raw []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(raw) {
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		now := h.text(body)
		if !bytes.Equal(now, body) && bytes.HasSuffix(now, []byte("}")) {
			out.Write(now[:len(now)-1])
			out.WriteString(`,"was":"` + hexSum(body) + `"}`)
		} else {
			out.Write(now)
		}
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
