package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/workspace"
)

// Secret is something in a bundle that looks like one.
type Secret struct {
	Path string // "" for a part of the record, which Where names
	Side string // "before", "after", "a reviewer's edit"; of a part: its name
	Line int    // 0: its name says it, or all of it
	Why  string
}

// Place names where it is, as it may be printed.
func (s Secret) Place() string {
	if s.Path == "" {
		return s.Side
	}
	return diffreview.SafeName(s.Path)
}

// oneSide shows every content that leaves as an added file, so that the rules
// that look for secrets see all lines and not only those that the agent added.
type oneSide struct {
	changes []diffreview.Change
	blobs   *baseline.Blobs
}

func (o *oneSide) Changes() []diffreview.Change { return o.changes }

func (o *oneSide) Content(b diffreview.Blob, limit int64) ([]byte, error) {
	return o.blobs.Read(b, limit)
}

// secretsIn looks for what looks like a secret by name or by content in both
// sides of the changes.
func secretsIn(ctx context.Context, list []diffreview.Change, edits map[string][]diffreview.Blob, blobs *baseline.Blobs) ([]Secret, error) {
	var out []Secret
	sides := []struct {
		name string
		of   func(diffreview.Change) []diffreview.Entry
	}{
		{"before", func(c diffreview.Change) []diffreview.Entry { return []diffreview.Entry{c.Old} }},
		{"after", func(c diffreview.Change) []diffreview.Entry { return []diffreview.Entry{c.New} }},
	}
	for _, s := range sides {
		src := &oneSide{blobs: blobs}
		for _, c := range list {
			for _, e := range s.of(c) {
				if e.Kind == diffreview.KindFile {
					src.changes = append(src.changes, diffreview.Change{Path: c.Path, New: e})
				}
			}
		}
		found, err := secretsOf(ctx, src, s.name)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for path, list := range edits {
		for _, e := range list {
			b, err := blobs.Read(e, maxBlob)
			if err != nil {
				return nil, err
			}
			if why := workspace.SecretIn(path, b); why != "" {
				out = append(out, Secret{Path: path, Side: "a reviewer's edit", Why: why})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Secret) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b Secret) bool { return a == b }), nil
}

func secretsOf(ctx context.Context, src *oneSide, side string) ([]Secret, error) {
	var out []Secret
	named := map[string]bool{}
	for _, c := range src.changes {
		b, err := src.Content(c.New.Blob, maxBlob)
		if err != nil {
			return nil, fmt.Errorf("look for secrets in %s: %w", diffreview.SafeName(c.Path), err)
		}
		if why := workspace.SecretIn(c.Path, b); why != "" {
			named[c.Path] = true
			out = append(out, Secret{Path: c.Path, Side: side, Why: why})
		}
	}
	facts := session.Facts{}
	set, err := diffreview.Build(ctx, src, diffreview.Options{Risk: facts.Find})
	if err != nil {
		return nil, fmt.Errorf("look for secrets: %w", err)
	}
	for i := range set.Files {
		f := &set.Files[i]
		for _, x := range f.Findings {
			if strings.HasPrefix(x.Rule, "secret") && x.Severity != diffreview.Note && !named[f.Path] {
				out = append(out, Secret{Path: f.Path, Side: side, Line: x.Line, Why: "looks like a key, token or password"})
			}
		}
	}
	return out, nil
}
