package screen

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// TTY is the terminal of stdin and stdout.
type TTY struct {
	In, Out *os.File

	mu    sync.Mutex
	saved *term.State // as it was before; nil while it is not ours
}

// Raw has every key come as it is.
func (t *TTY) Raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		return nil
	}
	st, err := term.MakeRaw(int(t.In.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal up: %w", err)
	}
	t.saved = st
	return nil
}

// Restore puts the terminal's settings back. It can be called more than once.
func (t *TTY) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return
	}
	_ = term.Restore(int(t.In.Fd()), t.saved) // a terminal that is gone needs none
	t.saved = nil
}

// Size is the window's, in cells; one that tells none is taken as 80x24.
func (t *TTY) Size() (w, h int) {
	w, h, err := term.GetSize(int(t.Out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// Watch tells the program of new sizes, and has it end when the terminal goes
// away: SIGHUP would otherwise end the process before it has tidied up. It ends
// when done is closed; the returned function waits for that.
func (t *TTY) Watch(p *tea.Program, done <-chan struct{}) (wait func()) {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGHUP, syscall.SIGWINCH)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer signal.Stop(sig)
		for {
			select {
			case s := <-sig:
				if s == syscall.SIGHUP {
					p.Quit()
					continue
				}
				w, h := t.Size()
				p.Send(tea.WindowSizeMsg{Width: w, Height: h})
			case <-done:
				return
			}
		}
	}()
	return func() { <-ended }
}
