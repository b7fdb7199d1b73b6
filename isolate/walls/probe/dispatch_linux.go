package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/trace"
)

// Dispatch becomes a probe, or one of its helpers, when this program was
// started under that name, and never returns then. It belongs in the first
// lines of main.
func Dispatch() {
	if !strings.HasPrefix(filepath.Base(os.Args[0]), Name) {
		return
	}
	if len(os.Args) > 1 {
		os.Exit(child(os.Args[1], os.Args[2:]))
	}
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "probe: %v\n", err)
		os.Exit(3)
	}
	os.Exit(0)
}

// out keeps lines whole: actions may say something from several goroutines.
type out struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *out) say(m Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// The line break before it ends whatever was written without one.
	_, err = fmt.Fprintf(o.w, "\n%s%s\n", Line, b)
	return err
}

const maxJob = 16 << 20

func run(r io.Reader, w io.Writer) error {
	o := &out{w: w}
	dir, _ := os.Getwd() // told as empty where there is none
	if err := o.say(Message{Hello: &Hello{PID: os.Getpid(), UID: os.Getuid(), Environ: os.Environ(), Dir: dir}}); err != nil {
		return err
	}
	in := bufio.NewReaderSize(r, 64<<10)
	line, err := readLine(in)
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil // it was only to stand there
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the job: %w", err)
	}
	var job Job
	if err := json.Unmarshal(line, &job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	// One thread makes all marks and calls, so that a tracer can tell them
	// from the runtime's.
	runtime.LockOSThread()
	for _, a := range job.Actions {
		mark(trace.Begin, a)
		said := perform(a)
		mark(trace.End, a)
		said.Seq = a.Seq
		if len(said.Got) > MaxGot {
			said.Got = said.Got[:MaxGot]
		}
		if err := o.say(Message{Said: &said}); err != nil {
			return err
		}
	}
	if err := o.say(Message{Done: true}); err != nil {
		return err
	}
	if job.Stay {
		_, _ = io.Copy(io.Discard, in) // until it ends, whatever comes
	}
	return nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxJob {
			return nil, fmt.Errorf("it is longer than %d bytes", maxJob)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func mark(phase uintptr, a Action) {
	// No kernel knows this option, so whatever comes back means nothing.
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, trace.Mark, phase, uintptr(uint32(a.Seq)), uintptr(a.Nonce), 0, 0)
}

func perform(a Action) Said {
	if a.Do == "" {
		return steps(a.Steps)
	}
	f, ok := actions()[a.Do]
	if !ok {
		return Said{Err: fmt.Sprintf("this probe knows no action %q", a.Do)}
	}
	return f(a.Args)
}
