package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fumehood/diffreview"
	"fumehood/session/store"
)

// CommentAt makes a comment on a place of the newest snapshot's change set: PATH,
// PATH:LINE of the new file, or "" for the whole.
func (h *Host) CommentAt(ctx context.Context, d store.Dir, place, body string) (diffreview.Comment, error) {
	c := diffreview.Comment{Body: body}
	if strings.TrimSpace(body) == "" {
		return c, errors.New("a comment that says nothing is not kept")
	}
	r, err := h.Review(ctx, d, false)
	if err != nil {
		return c, err
	}
	if place != "" {
		f, line, err := placeIn(r.Set, place)
		if err != nil {
			return c, err
		}
		c.Path, c.Line, c.Was = f.Path, line, f.New.Blob
		if line > 0 {
			if c.Quote, err = quoteOf(f, line, r.Content); err != nil {
				return c, err
			}
			if hunk := f.HunkAt(line); hunk != nil {
				c.Unit = hunk.ID
			}
		}
	}
	return h.Comment(d, c)
}

// placeIn finds the changed file that a place names. A name that ends in a colon
// and a number may be a file's own.
func placeIn(set *diffreview.ChangeSet, place string) (*diffreview.File, int, error) {
	find := func(path string) *diffreview.File {
		for i := range set.Files {
			if set.Files[i].Path == path {
				return &set.Files[i]
			}
		}
		return nil
	}
	if f := find(place); f != nil {
		return f, 0, nil
	}
	i := strings.LastIndexByte(place, ':')
	if i > 0 {
		line, err := strconv.Atoi(place[i+1:])
		if f := find(place[:i]); f != nil && err == nil && line > 0 {
			return f, line, nil
		}
	}
	return nil, 0, fmt.Errorf("%s is no changed file of the newest snapshot, nor one with a line behind a colon", diffreview.SafeName(place))
}

// quoteOf is a line of the new file, as a comment quotes it.
func quoteOf(f *diffreview.File, line int, content func(diffreview.Blob) ([]byte, error)) (string, error) {
	if f.New.Kind != diffreview.KindFile || f.Binary {
		return "", fmt.Errorf("%s has no lines to comment on; leave the number out", diffreview.SafeName(f.Path))
	}
	text, err := content(f.New.Blob)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if line > len(lines) {
		return "", fmt.Errorf("%s has %d lines, and line %d is not one of them", diffreview.SafeName(f.Path), len(lines), line)
	}
	return plainLine(lines[line-1], maxQuote), nil
}

// Comments are those of a session, in the order in which they were made.
func (h *Host) Comments(d store.Dir) ([]diffreview.Comment, error) {
	dec, err := loadDecisions(d)
	if err != nil {
		return nil, err
	}
	return dec.Comments, nil
}
