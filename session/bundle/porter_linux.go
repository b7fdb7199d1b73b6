package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/wire"
)

// porterArg is the word after the program's name that makes it a porter.
const porterArg = "__porter"

// porterFD is a porter's end of the socket.
const porterFD = 3

// Limits of a message, in bytes: the content is written as base64.
const (
	maxErrand = (maxDecided+2)/3*4 + 4096
	maxDone   = (maxEdit+2)/3*4 + 4096
)

// errand is what a porter is asked for. Where it writes, what it runs and what it
// signs with was settled before: nothing of that is in it.
type errand struct {
	Do   task
	Text []byte `json:",omitempty"`
	Path string `json:",omitempty"` // one that it gave itself
}

type task string

const (
	doSave  task = "save"
	doOpen  task = "open"
	doEdit  task = "edit"
	doClose task = "close"
	doSign  task = "sign"
)

// errands are the only one of its kind: the first message to a porter.
type errands struct{ Decisions, Key string }

// done answers an errand.
type done struct {
	Text []byte `json:",omitempty"`
	Path string `json:",omitempty"`
	Err  string `json:",omitempty"`
	Hint string `json:",omitempty"`
}

// porterError is an error out of another process: only its words came over.
type porterError struct{ text, hint string }

func (e *porterError) Error() string { return e.text }

// Hint is what to do about it, or "".
func (e *porterError) Hint() string { return e.hint }

// Porter is a process beside the one that reads a bundle, which can't write a
// file or start a program itself. It does three things and no other: it writes
// the file with the decisions, it opens the person's editor on a text in a private
// folder, and it signs the decisions, if a key was named before the bundle was
// read. It reads nothing of the bundle. It ends when its socket closes.
type Porter struct {
	cmd *exec.Cmd

	mu   sync.Mutex // one errand at a time
	conn *wire.Conn
}

// StartPorter starts one for the file with the decisions. key signs them; "" is
// none.
func StartPorter(decisions, key string) (*Porter, error) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, fmt.Errorf("start the porter: %w", err)
	}
	file := os.NewFile(uintptr(theirs), "porter")
	conn, err := wire.New(ours, "porter", maxDone)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the porter: %w", err), unix.Close(ours), file.Close())
	}
	cmd := exec.Command("/proc/self/exe", porterArg)
	cmd.Args[0] = "fumehood"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr // the terminal, for the editor
	cmd.ExtraFiles = []*os.File{file}
	err = cmd.Start()
	_ = file.Close() // the porter has its own, and its end must be seen
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the porter: %w", err), conn.Close())
	}
	p := &Porter{cmd: cmd, conn: conn}
	if err := conn.Send(errands{decisions, key}); err != nil {
		return nil, errors.Join(fmt.Errorf("start the porter: %w", err), p.Close())
	}
	return p, nil
}

func (p *Porter) run(e errand) (done, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var d done
	err := p.conn.Send(e)
	if err == nil {
		var fds []int
		if fds, err = p.conn.Recv(&d); err == nil && len(fds) > 0 {
			for _, fd := range fds {
				_ = unix.Close(fd) // nobody asked for it
			}
			err = errors.New("a descriptor came with its answer")
		}
	}
	switch {
	case err != nil:
		return done{}, fmt.Errorf("the process that writes decisions and opens the editor does not answer: %w", err)
	case d.Err != "":
		return d, &porterError{d.Err, d.Hint}
	}
	return d, nil
}

// Save has the file with the decisions replaced.
func (p *Porter) Save(b []byte) error {
	_, err := p.run(errand{Do: doSave, Text: b})
	return err
}

// OpenEdit has text put into a file for an editor.
func (p *Porter) OpenEdit(text []byte) (string, error) {
	d, err := p.run(errand{Do: doOpen, Text: text})
	return d.Path, err
}

// Edit has the person's editor opened on the file that OpenEdit gave, and returns
// when it has ended.
func (p *Porter) Edit(path string) error {
	_, err := p.run(errand{Do: doEdit, Path: path})
	return err
}

// CloseEdit has the file read and taken away.
func (p *Porter) CloseEdit(path string) ([]byte, error) {
	d, err := p.run(errand{Do: doClose, Path: path})
	return d.Text, err
}

// Sign has the decisions signed, and gives the signature's path.
func (p *Porter) Sign() (string, error) {
	d, err := p.run(errand{Do: doSign})
	return d.Path, err
}

// Close has the porter take away what was made for an editor, and end.
func (p *Porter) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.conn.Close()
	return errors.Join(err, p.cmd.Wait())
}

// Dispatch becomes a porter when this process was started as one, and never
// returns then; else it returns at once. It belongs in the first lines of main.
// edit opens the person's editor on a file.
func Dispatch(edit func(path string) error) {
	if len(os.Args) == 2 && os.Args[1] == porterArg {
		if err := carry(edit); err != nil {
			fmt.Fprintln(os.Stderr, "fumehood: the porter of a review:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// carry runs errands until nobody has one any more.
func carry(edit func(path string) error) (err error) {
	// What ends the review reaches this process too. It goes when the review has,
	// for it tidies up. A program that it starts has none of this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	conn, err := wire.New(porterFD, "porter", maxErrand)
	if err != nil {
		return err
	}
	var set errands
	if _, err := conn.Recv(&set); err != nil {
		return err
	}
	c := &carrier{files: files{decisions: set.Decisions}, key: set.Key, edit: edit}
	defer func() { err = errors.Join(err, c.Close()) }()
	for {
		var e errand
		if fds, err := conn.Recv(&e); err != nil || len(fds) > 0 {
			return nil // the other end closed, or is none of ours
		}
		if conn.Send(c.do(e)) != nil {
			return nil
		}
	}
}

// maxLeft bounds the texts that stay with an editor: one that could not be taken
// back, as it was too long, stays until the review ends.
const maxLeft = 64

// carrier is a porter from the inside.
type carrier struct {
	files
	key    string
	edit   func(path string) error
	open   string // the path that the editor may be opened on
	left   int    // texts that were given to an editor and not taken back
	signed bool
}

func (c *carrier) do(e errand) (d done) {
	var err error
	switch e.Do {
	case doSave:
		err = c.Save(e.Text)
	case doOpen:
		if err = fmt.Errorf("a text for the editor: the limits are %d bytes, and %d texts", maxEdit, maxLeft); len(e.Text) <= maxEdit && c.left < maxLeft {
			d.Path, err = c.OpenEdit(e.Text)
			c.open, c.left = d.Path, c.left+1
		}
	case doEdit:
		if err = errors.New("no text was given to the editor"); c.open != "" && c.open == e.Path {
			err = c.edit(c.open)
		}
	case doClose:
		if d.Text, err = c.CloseEdit(e.Path); err == nil {
			c.left--
		}
		c.open = ""
	case doSign:
		if err = errors.New("no key was named to sign with, or it is done"); c.key != "" && !c.signed {
			c.signed = true
			d.Path, err = Sign(context.Background(), c.decisions, c.key)
		}
	default:
		err = fmt.Errorf("no such errand: %q", e.Do)
	}
	if err != nil {
		d = done{Err: err.Error()}
		var h interface{ Hint() string }
		if errors.As(err, &h) {
			d.Hint = h.Hint()
		}
	}
	return d
}
