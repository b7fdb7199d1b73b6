package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"fumehood/isolate/egress/record"
)

// EgressAt is how far a reader of egress.jsonl has come. The zero value is the
// beginning.
type EgressAt struct {
	Offset int64
	Lines  int
	// Damaged is the 1-based number of the first line that is no attempt or does
	// not follow from the one before; 0 when all do. The chain shows damage; it
	// is no signature.
	Damaged int

	prev [sha256.Size]byte
}

// maxAttempt bounds one line, in bytes: what comes from inside is cut to far
// less before it is written.
const maxAttempt = 64 << 10

// EgressFrom reads the attempts that were written since, and gives each to tell.
// A last line that is half-written is left for the next time. A record that has
// become shorter is damaged, and not read on.
func (d Dir) EgressFrom(at EgressAt, tell func(record.Attempt)) (EgressAt, error) {
	f, err := os.Open(d.Egress())
	if errors.Is(err, fs.ErrNotExist) && at.Offset == 0 {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return at, err
	case fi.Size() < at.Offset && at.Damaged == 0:
		at.Damaged = at.Lines + 1
		return at, nil
	case fi.Size() <= at.Offset:
		return at, nil
	}
	if _, err := f.Seek(at.Offset, io.SeekStart); err != nil {
		return at, err
	}
	r := bufio.NewReaderSize(f, maxAttempt)
	for {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		n := int64(len(line))
		for errors.Is(err, bufio.ErrBufferFull) { // its rest
			var more []byte
			more, err = r.ReadSlice('\n')
			n += int64(len(more))
		}
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		at.Offset += n
		at.Lines++
		at.take(line[:len(line)-1], long, tell)
	}
}

// take reads one line.
func (at *EgressAt) take(line []byte, long bool, tell func(record.Attempt)) {
	if at.Lines == 1 {
		at.prev = sha256.Sum256(nil)
	}
	var a record.Attempt
	ok := !long && json.Unmarshal(line, &a) == nil
	if (!ok || a.Prev != hex.EncodeToString(at.prev[:])) && at.Damaged == 0 {
		at.Damaged = at.Lines
	}
	at.prev = sha256.Sum256(line)
	if ok {
		tell(a)
	}
}
