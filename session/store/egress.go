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
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"fumehood/isolate/egress/record"
)

// Egress is where every attempt to reach the network is written down.
func (d Dir) Egress() string { return filepath.Join(string(d), "egress.jsonl") }

// Trust is the folder of the session's certificates, shown inside.
func (d Dir) Trust() string { return filepath.Join(string(d), "trust") }

// EgressLog appends to egress.jsonl. Only the session's supervisor has one.
type EgressLog struct {
	mu   sync.Mutex
	f    *os.File
	prev [sha256.Size]byte
}

// OpenEgress opens the record for appending.
func (d Dir) OpenEgress() (*EgressLog, error) {
	f, err := os.OpenFile(d.Egress(), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open egress record: %w", err)
	}
	last, err := lastLine(f)
	if err == nil {
		_, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read egress record: %w", err), f.Close())
	}
	return &EgressLog{f: f, prev: sha256.Sum256(last)}, nil
}

// Append writes one attempt.
func (l *EgressLog) Append(a record.Attempt) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Prev = hex.EncodeToString(l.prev[:])
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode attempt: %w", err)
	}
	l.prev = sha256.Sum256(b)
	if _, err := l.f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("append to egress record: %w", err)
	}
	return nil
}

// Close closes it.
func (l *EgressLog) Close() error { return l.f.Close() }

// ReadEgress reads the record from a byte offset on; next is where it ended. A
// last line that is half-written is left for the next time.
func (d Dir) ReadEgress(offset int64) (attempts []record.Attempt, next int64, err error) {
	f, err := os.Open(d.Egress())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, offset, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, err
	}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return attempts, offset, nil
		}
		if err != nil {
			return attempts, offset, err
		}
		offset += int64(len(line))
		var a record.Attempt
		if json.Unmarshal(line, &a) == nil {
			attempts = append(attempts, a)
		}
	}
}

func (d Dir) placeholders() string { return filepath.Join(string(d), "placeholders") }

// SavePlaceholders keeps the hashes of the session's placeholders, of this life
// and of earlier ones.
func (d Dir) SavePlaceholders(sums []string) error {
	var have []string
	err := readJSON(d.placeholders(), &have)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have = append(have, sums...)
	return writeJSON(d.placeholders(), have[max(0, len(have)-maxPlaceholders):])
}

// maxPlaceholders bounds how many are kept of one session.
const maxPlaceholders = 1024

// PlaceholderOwner tells which other session of the account a placeholder's
// hash belongs to.
func (d Dir) PlaceholderOwner(sum string) (id string, ok bool) {
	all, err := Root(filepath.Dir(string(d))).List()
	if err != nil {
		return "", false // it is refused all the same, under another name
	}
	for _, other := range append(all, d) {
		var have []string
		if readJSON(other.placeholders(), &have) == nil && slices.Contains(have, sum) {
			return other.ID(), true
		}
	}
	return "", false
}
