package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// attemptFor is how long a probe may be silent before it is ended: each attempt
// is over in much less.
const attemptFor = 15 * time.Second

// endedFromOutside is how the end of a probe that hung begins.
const endedFromOutside = "ended from outside"

// begin starts a probe with these streams and returns how it ended, at its end.
type begin func(ctx context.Context, in io.Reader, out io.Writer) (string, error)

// talk runs one probe: it waits for its first words, finds it on the host,
// attaches the tracer if asked, hands over the job and gathers what it says.
func talk(ctx context.Context, job probe.Job, o how, path string, start begin) (*ran, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe for a probe: %w", err)
	}
	defer inW.Close()
	defer inR.Close()
	s := &sink{said: map[int]probe.Said{}, hello: make(chan probe.Hello, 1), word: make(chan struct{}, 1)}
	type end struct {
		how string
		err error
	}
	ended := make(chan end, 1)
	go func() {
		how, err := start(ctx, inR, s)
		ended <- end{how, err}
	}()
	res := &ran{}
	finish := func(e end) (*ran, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		res.said, res.out, res.done, res.ended = s.said, s.all.Bytes(), s.done, e.how
		return res, e.err
	}
	select {
	case res.hello = <-s.hello:
	case e := <-ended:
		return finish(e)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(attemptFor):
		return nil, fmt.Errorf("the probe did not say a word within %v; it wrote %q", attemptFor, tail(s.bytes()))
	}
	pid, err := findProbe(path, res.hello.PID)
	if err != nil {
		return nil, err
	}
	var tracer *trace.Tracer
	if o.trace {
		// A sandbox that another account started, or that set its processes
		// apart, may forbid it. What the host sees of it counts all the same.
		if tracer, err = trace.Attach(pid, o.seek...); err != nil {
			res.blind = "the probe could not be traced: " + err.Error()
		}
	}
	if o.started != nil {
		o.started(pid)
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("job of a probe: %w", err)
	}
	go func() {
		_, _ = inW.Write(append(text, '\n')) // a probe that has ended shows below
		if !job.Stay {
			_ = inW.Close() // the end of its input
		}
	}()
	patience := attemptFor
	if o.patience > 0 {
		patience = o.patience
	}
	for {
		select {
		case <-s.word:
			continue
		case e := <-ended:
			if tracer != nil {
				res.log = tracer.Wait()
			}
			return finish(e)
		case <-ctx.Done():
		case <-time.After(patience):
		}
		// It hangs, or the run was ended: it goes, and what it said counts.
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return nil, fmt.Errorf("end a silent probe: %w", err)
		}
		e := <-ended
		if tracer != nil {
			res.log = tracer.Wait()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.how = fmt.Sprintf("%s after %v of silence", endedFromOutside, patience)
		return finish(e)
	}
}

// sink takes what a probe writes.
type sink struct {
	mu    sync.Mutex
	all   bytes.Buffer
	line  []byte
	said  map[int]probe.Said
	done  bool
	hello chan probe.Hello
	word  chan struct{}
}

// Write never fails: what is beyond the bound is not kept.
func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxOut - s.all.Len(); room > 0 {
		s.all.Write(b[:min(len(b), room)])
	}
	s.line = append(s.line, b...)
	for {
		head, rest, ok := bytes.Cut(s.line, []byte("\n"))
		if !ok {
			break
		}
		s.line = rest
		if m, ok := probe.Parse(string(head)); ok {
			s.take(m)
		}
	}
	if len(s.line) > maxOut {
		s.line = nil
	}
	return len(b), nil
}

func (s *sink) take(m probe.Message) {
	switch {
	case m.Hello != nil:
		select {
		case s.hello <- *m.Hello:
		default: // only the first counts
		}
	case m.Said != nil:
		s.said[m.Said.Seq] = *m.Said
	case m.Done:
		s.done = true
	}
	select {
	case s.word <- struct{}{}:
	default:
	}
}

func (s *sink) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.all.Bytes())
}

// findProbe is the process on the host that runs from a probe's file and has
// that number in the innermost namespace.
func findProbe(path string, inside int) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	want := filepath.Base(path)
	for _, d := range dirs {
		text, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil {
			continue // gone
		}
		first, _, _ := strings.Cut(string(text), "\x00")
		if filepath.Base(first) != want {
			continue
		}
		status, err := os.ReadFile(filepath.Join(d, "status"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
				f := strings.Fields(rest)
				if len(f) > 0 && f[len(f)-1] == strconv.Itoa(inside) {
					return strconv.Atoi(filepath.Base(d))
				}
			}
		}
	}
	return 0, fmt.Errorf("the probe %q, %d inside, is not in the host's process table", want, inside)
}

// deadlineSoon is how long output is awaited after a probe has ended.
func deadlineSoon() time.Time { return time.Now().Add(200 * time.Millisecond) }
