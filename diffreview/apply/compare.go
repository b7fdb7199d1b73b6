package apply

import (
	"bytes"
	"context"
	"errors"

	"fumehood/diffreview"
)

// Differs is a target at whose path the host has neither what is expected nor
// what is wanted.
type Differs struct {
	Target Target
	Why    string // as a conflict has it
	// Fixed: no content can be written there whatever is chosen, for what is in
	// the way is no file, or not at the path itself. The rest is then empty.
	Fixed bool
	// Found is what the host has, Content the bytes of a file, nil when it is
	// larger than the limit.
	Found   diffreview.Entry
	Content []byte
	// Ancestor is what both sides started from: what the newest apply that stands
	// was approved to write there, else the target's Base.
	Ancestor diffreview.Entry
}

// Compare calls for each target that would be a conflict, in the order of the
// paths, one at a time: content may be large, and limit bounds it, in bytes. It
// ends with the first error of do. Nothing is written, but for an interrupted
// apply, which is recovered first unless it is a dry run.
func Compare(ctx context.Context, o Options, ts []Target, limit int64, do func(Differs) error) error {
	if err := checkTargets(ts); err != nil {
		return err
	}
	b, err := openBench(o)
	if err != nil {
		return err
	}
	defer b.close()
	if _, err := b.ready(ctx); err != nil {
		return err
	}
	gs := goals(ts, b.journal.last(), o.Last)
	h, err := b.tree.observe(ctx, gs)
	if err != nil {
		return err
	}
	p := check(gs, h, dirRules{})
	ancestors := b.journal.approved()
	at := make(map[string]int, len(ts))
	for i, t := range ts {
		at[t.Path] = i
	}
	for _, c := range p.conflicts {
		d := Differs{Target: ts[at[c.Path]], Why: c.Why, Fixed: !p.differ[c.Path]}
		if !d.Fixed {
			if err := b.tree.differing(ctx, &d, h.paths[c.Path], limit); err != nil {
				return err
			}
			var ok bool
			if d.Ancestor, ok = ancestors[c.Path]; !ok {
				d.Ancestor = d.Target.Base
			}
		}
		if err := do(d); err != nil {
			return err
		}
	}
	return nil
}

// differing reads what stands at a path that was looked at before.
func (t *tree) differing(ctx context.Context, d *Differs, seen hostPath, limit int64) error {
	d.Found = seen.entry()
	if d.Found.Kind != diffreview.KindFile || d.Found.Size > limit {
		return nil
	}
	f, st, err := t.file(d.Target.Path)
	if err == nil {
		defer f.Close()
		buf := capped{left: limit}
		s, stable, err := read(ctx, f, st, &buf)
		if err == nil && stable && same(s, seen.state) {
			d.Content = append([]byte{}, buf.Bytes()...) // not nil, which is too large
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.Why, d.Fixed = "the host's file is being written", true
	return nil
}

// capped fails when it is given more than is left: a file may grow while it is
// read.
type capped struct {
	bytes.Buffer
	left int64
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errors.New("it has grown")
	}
	return c.Buffer.Write(p)
}

// approved gives, for each path, what the newest apply that stands was approved
// to write there.
func (j *journal) approved() map[string]diffreview.Entry {
	by := j.undone()
	out := map[string]diffreview.Entry{}
	for _, t := range j.txns {
		if t.Kind != "apply" || t.state != recDone || by[t.ID] != "" {
			continue
		}
		for _, m := range t.moves {
			out[m.Path] = m.To.entry()
			if m.merged {
				out[m.Path] = m.approved
			}
		}
	}
	return out
}
