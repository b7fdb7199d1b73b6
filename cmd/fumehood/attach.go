package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/term"
	"fumehood/session/wire"
)

// followSession connects this process to a session's command until its end.
func followSession(cmd *cobra.Command, d store.Dir, tty bool) (*wire.End, error) {
	return connect(tty, func(st session.Streams) (*wire.End, error) {
		return session.Attach(cmd.Context(), d, st)
	})
}

// followExec runs another command in a live session until its end.
func followExec(cmd *cobra.Command, d store.Dir, x session.Execed) (*wire.End, error) {
	return connect(x.TTY, func(st session.Streams) (*wire.End, error) {
		return session.Exec(cmd.Context(), d, x, st)
	})
}

func connect(tty bool, run func(session.Streams) (*wire.End, error)) (*wire.End, error) {
	if tty {
		return connectTerminal(run)
	}
	return connectStreams(run)
}

// connectStreams passes stdin, stdout and stderr through byte for byte, and
// signals on to the command. What of them is a terminal after all, as stderr is
// in "fumehood run -- CMD | less", gets filtered output: nobody else is there
// to keep the inside from the user's clipboard and keyboard.
func connectStreams(run func(session.Streams) (*wire.End, error)) (*wire.End, error) {
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(sigs)
	pass := make(chan unix.Signal, 8)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-sigs:
				if n, ok := s.(unix.Signal); ok {
					select {
					case pass <- n:
					case <-done:
						return
					}
				}
			case <-done:
				return
			}
		}
	}()
	out, restoreOut := guarded(os.Stdout)
	defer restoreOut()
	errOut, restoreErr := guarded(os.Stderr)
	defer restoreErr()
	return run(session.Streams{
		In: os.Stdin, Out: out, Err: errOut, Sigs: pass,
		Notice: func(s string) { fmt.Fprintf(os.Stderr, "fumehood: %s\n", visible(s)) },
	})
}

// guarded is f for bytes from inside, and what undoes their effects at the end.
func guarded(f *os.File) (w io.Writer, restore func()) {
	if !isTerminal(f) {
		return f, func() {}
	}
	filter := term.NewFilter(f)
	return filter, func() { _, _ = f.Write(filter.Restore()) } // the terminal may be gone
}

// connectTerminal gives the command this terminal: raw input in, filtered
// output out. On every way out the terminal is as it was.
func connectTerminal(run func(session.Streams) (*wire.End, error)) (end *wire.End, err error) {
	restore, err := term.Raw(os.Stdin)
	if err != nil {
		return nil, fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	out := term.NewFilter(os.Stdout)
	var clips clipboard
	defer func() {
		_, _ = os.Stdout.Write(out.Restore()) // the terminal may be gone
		if rerr := restore(); rerr != nil && err == nil {
			err = fmt.Errorf("restore the terminal: %w", rerr)
		}
		clips.report()
	}()
	size := terminalSize()
	detach := make(chan struct{})
	in := scanInput(os.Stdin, detach)
	sizes := make(chan isolate.Size, 1)
	sigs := make(chan os.Signal, 8)
	signal.Notify(sigs, unix.SIGWINCH, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	defer signal.Stop(sigs)
	done := make(chan struct{})
	defer close(done)
	left := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-sigs:
				if s == unix.SIGWINCH {
					select {
					case sizes <- terminalSize():
					case <-done:
						return
					}
					continue
				}
				close(left) // the terminal goes away or we are told to: the session lives on
				return
			case <-detach:
				close(left)
				return
			case <-done:
				return
			}
		}
	}()
	return run(session.Streams{
		In: in, Out: out, Size: &size, Sizes: sizes, Detach: left,
		Clip:   clips.take,
		Notice: func(string) {}, // a line would fall into the program's picture; the workbench shows it
	})
}

// clipboard is what the inside wanted in the clipboard of an attached terminal.
// Where the policy asks, there is no screen here to ask on: it is refused, and
// told once the terminal is the user's own again.
type clipboard struct{ refused, bytes int }

func (c *clipboard) take(clip wire.Clip) {
	if !clip.Allow {
		c.refused, c.bytes = c.refused+1, clip.Bytes
		return
	}
	_, _ = os.Stdout.Write(term.SetClipboard(clip.Text)) // the terminal may be gone
}

func (c *clipboard) report() {
	if c.refused > 0 {
		fmt.Fprintf(os.Stderr, "fumehood: the inside asked to set your clipboard (%s, the last of %d bytes), refused: only the workbench can ask you; terminal.clipboard = \"allow\" passes them on\n", plural(c.refused, "time"), c.bytes)
	}
}

// scanInput takes the reserved key out of raw input. What it gives ends when
// the terminal does.
func scanInput(tty *os.File, detach chan<- struct{}) io.Reader {
	r, w := io.Pipe()
	chunks := make(chan []byte)
	go func() {
		defer close(chunks)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			if n > 0 {
				chunks <- append([]byte(nil), buf[:n]...)
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer w.Close()
		var sc term.Scanner
		var left bool
		handle := func(evs []term.Event) {
			for _, e := range evs {
				switch {
				case e.Command == 'd' && !left:
					left = true
					close(detach)
				case len(e.Bytes) > 0:
					_, _ = w.Write(e.Bytes) // the session ended; nobody reads any more
				}
			}
		}
		for {
			var late <-chan time.Time
			if sc.Pending() {
				late = time.After(escapeWait)
			}
			select {
			case p, ok := <-chunks:
				if !ok {
					handle(sc.Flush())
					if !left {
						left = true
						close(detach) // end of the terminal
					}
					return
				}
				handle(sc.Scan(p))
			case <-late:
				handle(sc.Flush())
			}
		}
	}()
	return r
}

// escapeWait is how long the rest of a key's sequence may take to arrive.
const escapeWait = 20 * time.Millisecond

func sizeOf(f *os.File) (cols, rows uint16, ok bool) {
	c, r, err := term.TTYSize(f)
	if err != nil || c <= 0 || r <= 0 {
		return 0, 0, false
	}
	return uint16(min(c, 1000)), uint16(min(r, 500)), true
}
