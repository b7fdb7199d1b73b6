package beneath

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how many names of one folder a visitor gets at once: a folder of
// millions never stands in memory whole.
const batch = 4096

// Visit is called with some of the names of one folder, each folder's names in
// the order of the file system, a large folder's in several calls. dir is open
// during the call only; rel is its path from the start of the walk, "" at the
// start. It is called from several goroutines at once. An error ends the walk.
type Visit func(dir *Dir, rel string, entries []Entry) error

// Walk visits everything beneath d that is on d's device, without recursion,
// and never through a link. What it can't enter and what it would have to
// leave out for a limit is named in the result; an error is only ctx's or the
// visitor's.
func (d *Dir) Walk(ctx context.Context, lim Limits, visit Visit) (*Walked, error) {
	lim = lim.orDefault()
	root, err := d.Stat()
	if err != nil {
		return nil, err
	}
	w := &walker{
		ctx: ctx, root: d, dev: root.Dev, lim: lim, visit: visit,
		end: time.Now().Add(lim.Time), queue: []task{{}}, out: Walked{Complete: true},
	}
	w.cond = sync.NewCond(&w.mu)
	var wg sync.WaitGroup
	for range lim.Workers {
		wg.Go(w.run)
	}
	wg.Wait()
	if w.err != nil {
		return nil, w.err
	}
	return &w.out, nil
}

type task struct {
	rel   string
	depth int
}

type walker struct {
	ctx   context.Context
	root  *Dir
	dev   uint64
	lim   Limits
	visit Visit
	end   time.Time

	mu    sync.Mutex
	cond  *sync.Cond
	queue []task // a stack: depth first keeps it short
	busy  int
	done  bool // set once: an error or a limit
	err   error
	out   Walked
}

func (w *walker) run() {
	buf := make([]byte, 64<<10)
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && w.busy > 0 && !w.done {
			w.cond.Wait()
		}
		if len(w.queue) == 0 || w.done {
			w.mu.Unlock()
			w.cond.Broadcast()
			return
		}
		t := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.busy++
		w.mu.Unlock()

		err := w.folder(t, buf)

		w.mu.Lock()
		w.busy--
		if err != nil && w.err == nil {
			w.err, w.done = err, true
		}
		if w.done || len(w.queue) == 0 {
			w.cond.Broadcast()
		}
		w.mu.Unlock()
	}
}

// folder visits one folder and queues those in it.
func (w *walker) folder(t task, buf []byte) error {
	var dir *Dir
	if t.rel != "" {
		var err error
		if dir, err = w.root.OpenDir(t.rel); err != nil {
			w.find(t.rel, reason(err))
			return nil
		}
		defer dir.Close()
		info, err := dir.Stat()
		if err != nil {
			return err
		}
		if info.Dev != w.dev {
			w.find(t.rel, "another mount")
			return nil
		}
	} else {
		// A descriptor of its own: reading names moves the position of d's.
		fd, err := w.root.open(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
		if err != nil {
			return fmt.Errorf("open folder %q: %w", w.root.path, err)
		}
		dir = &Dir{fd: fd, resolve: w.root.resolve, path: w.root.path}
		defer dir.Close()
	}
	var entries []Entry
	for {
		n, err := getdents(dir.fd, buf)
		if err != nil {
			w.find(t.rel, reason(err))
			return nil
		}
		if n > 0 {
			if entries, err = names(buf[:n], entries); err != nil {
				return fmt.Errorf("read folder %q: %w", t.rel, err)
			}
		}
		if n == 0 || len(entries) >= batch {
			more, err := w.entries(dir, t, entries)
			if err != nil || !more || n == 0 {
				return err
			}
			entries = entries[:0]
		}
	}
}

// entries looks at a batch, hands it to the visitor and queues the folders in
// it. more is false when a limit ended the walk.
func (w *walker) entries(dir *Dir, t task, entries []Entry) (more bool, err error) {
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	kept, vanished := entries[:0], 0
	var st unix.Stat_t
	for _, e := range entries {
		if w.lim.KindsOnly && e.Kind != 0 {
			kept = append(kept, e)
			continue
		}
		if err := fstatat(dir.fd, e.Name, &st); err != nil {
			if errors.Is(err, unix.ENOENT) {
				vanished++
			} else {
				w.find(Join(t.rel, e.Name), reason(err))
			}
			continue
		}
		e.Info = infoOf(&st)
		kept = append(kept, e)
	}
	if !w.count(len(kept), vanished) {
		return false, nil
	}
	if len(kept) > 0 {
		if err := w.visit(dir, t.rel, kept); err != nil {
			return false, err
		}
	}
	var subs []task
	for _, e := range kept {
		if e.Kind != Directory || e.Skip {
			continue
		}
		rel := Join(t.rel, e.Name)
		if t.depth+1 > w.lim.Depth {
			w.find(rel, fmt.Sprintf("more than %d folders deep", w.lim.Depth))
			continue
		}
		subs = append(subs, task{rel, t.depth + 1})
	}
	if len(subs) > 0 {
		w.mu.Lock()
		w.queue = append(w.queue, subs...)
		w.mu.Unlock()
		w.cond.Broadcast()
	}
	return true, nil
}

// count adds n names, and some that were gone, and says whether the walk may go
// on.
func (w *walker) count(n, vanished int) bool {
	late := time.Now().After(w.end)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return false
	}
	w.out.Entries += n
	w.out.Vanished += vanished
	why := ""
	switch {
	case w.out.Entries > w.lim.Entries:
		why = fmt.Sprintf("more than %d names in all: the rest was not looked at", w.lim.Entries)
	case late:
		why = fmt.Sprintf("looking took longer than %v: the rest was not looked at", w.lim.Time)
	default:
		return true
	}
	w.done = true
	w.out.Complete = false
	// In front: it must not be lost behind a thousand others.
	w.out.Findings = append([]Finding{{Path: "", Reason: why}}, w.out.Findings...)
	w.cond.Broadcast()
	return false
}

func (w *walker) find(rel, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n := len(w.out.Findings); {
	case n < maxFindings:
		w.out.Findings = append(w.out.Findings, Finding{rel, why})
	case n == maxFindings:
		w.out.Findings = append(w.out.Findings, Finding{"", fmt.Sprintf("more than %d such places: the rest is not named", maxFindings)})
	}
}

// reason is an error in a few words for an engineer.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.EXDEV):
		return "another mount"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "unreadable: permission denied"
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return "became something else while it was looked at"
	case errors.Is(err, unix.ENOENT):
		return "vanished while it was looked at"
	case errors.Is(err, unix.ENAMETOOLONG):
		return "path is too long to open"
	}
	return err.Error()
}

// Reason says in a few words why an access beneath a folder did not work.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrBusy):
		return ErrBusy.Error()
	case errors.Is(err, ErrNotRegular):
		return ErrNotRegular.Error()
	case errors.Is(err, ErrChanged):
		return ErrChanged.Error()
	}
	return reason(err)
}

func getdents(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Getdents(fd, buf)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// names takes the records of getdents64 apart: inode, offset, length of the
// record (two bytes at 16), type, then the name up to its NUL.
func names(buf []byte, out []Entry) ([]Entry, error) {
	const header = 19
	for len(buf) > 0 {
		if len(buf) < header {
			return out, errors.New("short directory record")
		}
		n := int(binary.NativeEndian.Uint16(buf[16:]))
		if n < header || n > len(buf) {
			return out, errors.New("directory record of a wrong length")
		}
		raw := buf[header:n]
		if i := bytes.IndexByte(raw, 0); i >= 0 {
			raw = raw[:i]
		}
		typ := buf[18]
		buf = buf[n:]
		name := string(raw)
		if name == "." || name == ".." || name == "" {
			continue
		}
		out = append(out, Entry{Name: name, Info: kindOf(typ)})
	}
	return out, nil
}

// kindOf is what a directory record says of a name's type; zero when the file
// system does not tell.
func kindOf(typ byte) Info {
	switch typ {
	case unix.DT_REG:
		return Info{Kind: Regular}
	case unix.DT_DIR:
		return Info{Kind: Directory}
	case unix.DT_LNK:
		return Info{Kind: Symlink}
	case unix.DT_FIFO, unix.DT_SOCK, unix.DT_CHR, unix.DT_BLK:
		return Info{Kind: Other, Mode: uint32(typ) << 12}
	}
	return Info{}
}
