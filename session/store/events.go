package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Event is one line of events.jsonl. Prev is the hash of the line before, so
// that damage shows; it is no signature.
type Event struct {
	Time   time.Time      `json:"time"`
	Tenant string         `json:"tenant"` // the policy's, else the account's name
	Kind   string         `json:"kind"`
	Text   string         `json:"text"`
	Fields map[string]any `json:"fields,omitempty"`
	Prev   string         `json:"prev"`
}

var appendMu sync.Mutex

// AppendEvent adds one line to the session's log. It may be called by the
// supervisor and by deciding processes at once: the file lock orders them.
func (d Dir) AppendEvent(now time.Time, kind, text string, fields map[string]any) error {
	appendMu.Lock()
	defer appendMu.Unlock()
	f, err := os.OpenFile(d.Events(), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("open event log: %w", err)
	}
	defer f.Close()
	if err := flockFile(f); err != nil {
		return fmt.Errorf("lock event log: %w", err)
	}
	last, err := lastLine(f)
	if err != nil {
		return fmt.Errorf("read event log: %w", err)
	}
	tenant, err := os.ReadFile(d.Tenant())
	if err != nil {
		return fmt.Errorf("read the session's tenant: %w", err)
	}
	if fields, err = fit(fields); err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	sum := sha256.Sum256(last)
	b, err := json.Marshal(Event{Time: now.UTC(), Tenant: string(tenant), Kind: kind, Text: text, Fields: fields, Prev: hex.EncodeToString(sum[:])})
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	return nil
}

// maxEventLine bounds one line of the log, in bytes.
const maxEventLine = 1 << 20

func lastLine(f *os.File) ([]byte, error) {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return nil, err
	}
	n := min(fi.Size(), maxEventLine)
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, fi.Size()-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	end := len(buf)
	if buf[end-1] == '\n' {
		end--
	}
	start := end
	for start > 0 && buf[start-1] != '\n' {
		start--
	}
	return buf[start:end], nil
}

// ReadEvents reads the log and checks its chain. broken is the 1-based number
// of the first line that does not fit the one before, 0 when all do.
func (d Dir) ReadEvents() (events []Event, broken int, err error) {
	f, err := os.Open(d.Events())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, maxEventLine)
	prev := sha256.Sum256(nil)
	for n := 1; sc.Scan(); n++ {
		var e Event
		if json.Unmarshal(sc.Bytes(), &e) != nil || e.Prev != hex.EncodeToString(prev[:]) {
			if broken == 0 {
				broken = n
			}
		}
		prev = sha256.Sum256(sc.Bytes())
		events = append(events, e)
	}
	return events, broken, sc.Err()
}
