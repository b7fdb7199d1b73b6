package session

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"unicode/utf8"

	"fumehood/isolate/policy"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// RunResult follows a held, captured command to its end and gathers what
// `run --json` prints. Output comes from the stored log, so that what is
// printed is what was kept.
func (h *Host) RunResult(ctx context.Context, d store.Dir, stdin io.Reader) (*Result, *wire.End, error) {
	st, err := ask(ctx, d, wire.Request{Op: wire.OpStatus})
	if err != nil {
		return nil, nil, err
	}
	before := outputSize(d)
	sent, err := EgressEnd(d)
	if err != nil {
		return nil, nil, fmt.Errorf("read the egress record: %w", err)
	}
	end, err := Attach(ctx, d, Streams{In: stdin, Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil, nil, err
	}
	src, err := readPrivate(d.Policy())
	if err != nil {
		return nil, nil, err
	}
	pol, err := policy.Parse(d.Policy(), src)
	if err != nil {
		return nil, nil, err
	}
	res := &Result{
		Session: d.ID(), Started: end.Began, State: end.State, Signal: SignalName(end.Signal), Limit: end.Limit,
		Error: end.Error, Usage: end.Usage, Layers: st.Status.Layers, Files: []ResultFile{},
	}
	if end.State == StateExited && end.Signal == 0 && end.Began {
		code := end.Code
		res.ExitCode = &code
	}
	if res.Stdout, res.Stderr, err = cutOutput(d, before, pol.Limits.OutputChars); err != nil {
		return nil, nil, err
	}
	if res.Egress, res.Refusals, err = RefusedSince(d, sent); err != nil {
		return nil, nil, err
	}
	r, err := h.Review(ctx, d, false)
	if err != nil {
		return nil, nil, fmt.Errorf("look at what changed: %w", err)
	}
	if res.Ignored = r.Set.Ignored; res.Ignored.Paths == nil {
		res.Ignored.Paths = []string{} // a list in JSON, never null
	}
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		rf := ResultFile{Path: f.Path, Status: f.Status, Added: f.Added, Removed: f.Removed, Risks: f.Risks()}
		if !utf8.ValidString(f.Path) {
			rf.PathB64 = base64.StdEncoding.EncodeToString([]byte(f.Path))
		}
		res.Files = append(res.Files, rf)
	}
	return res, end, nil
}

// outputSize is how many bytes the stored log holds, of earlier runs.
func outputSize(d store.Dir) int64 {
	var n int64
	_ = d.ReadOutput(func(_ store.Stream, p []byte) error { n += int64(len(p)); return nil },
		func(g int64) error { n += g; return nil }) // an unreadable log shows when it is cut
	return n
}

// cutOutput reads what was stored after the first skip bytes.
func cutOutput(d store.Dir, skip int64, chars int) (stdout, stderr Text, err error) {
	out, errs := NewCutter(chars), NewCutter(chars)
	at := int64(0)
	err = d.ReadOutput(func(s store.Stream, p []byte) error {
		start := at
		at += int64(len(p))
		if at <= skip {
			return nil
		}
		if start < skip {
			p = p[skip-start:]
		}
		c := out
		if s == store.Stderr {
			c = errs
		}
		_, err := c.Write(p)
		return err
	}, func(n int64) error {
		at += n
		if at > skip {
			out.Gap(n)
		}
		return nil
	})
	if err != nil {
		return Text{}, Text{}, fmt.Errorf("read stored output: %w", err)
	}
	return out.Text(), errs.Text(), nil
}

// VisibleWriter shows control characters instead of passing them on.
type VisibleWriter struct {
	w io.Writer
	c Cutter
}

// NewVisibleWriter writes to w what can do nothing to a terminal.
func NewVisibleWriter(w io.Writer) *VisibleWriter { return &VisibleWriter{w: w} }

// Write holds back a character that is not complete yet.
func (v *VisibleWriter) Write(p []byte) (int, error) {
	n, _ := v.c.Write(p) // a Cutter's Write never fails
	return n, v.emit()
}

// Flush writes what was held back.
func (v *VisibleWriter) Flush() {
	t := v.c.Text()
	v.c = Cutter{}
	_, _ = io.WriteString(v.w, t.Text) // the caller's stdout is gone then, and nothing is left to do
}

func (v *VisibleWriter) emit() error {
	partial := v.c.partial
	v.c.partial = nil
	t := v.c.Text()
	v.c = Cutter{partial: partial}
	_, err := io.WriteString(v.w, t.Text)
	return err
}
