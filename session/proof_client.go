package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session/store"
)

// Walls is a policy and what is proven of it in the shape of now.
type Walls struct {
	Policy   string // its name
	Source   string // what names it to a run of the wall tests
	Hash     string
	Block    string
	Standing walls.Standing
	Err      string // why the proof can't be told; then there is none
}

// Walls gives a session's frozen policy, or without a session the one that is
// named; "" is the one that a new session would have.
func (c *Client) Walls(_ context.Context, id, name string) (Walls, error) {
	if id == "" {
		p, _, err := policy.Find(name, c.Config)
		if err != nil {
			return Walls{}, err
		}
		if errs := policy.Check(p); len(errs) > 0 {
			return Walls{}, errors.Join(errs...)
		}
		st, err := c.Standing(p)
		return wallsOf(p, name, st, err), nil
	}
	d := c.Root.Dir(id)
	rec, err := d.LoadRecord()
	if err != nil {
		return Walls{}, err
	}
	p, err := frozen(d, rec)
	if err != nil {
		return Walls{}, err
	}
	st, err := c.standingOf(d, p)
	return wallsOf(p, d.Policy(), st, err), nil
}

func wallsOf(p *policy.Policy, source string, st walls.Standing, err error) Walls {
	now := time.Now()
	return Walls{
		Policy: p.Name, Source: source, Hash: policy.Hash(p), Standing: st, Err: errText(err),
		Block: policy.Block(p, now, Verified(st, err, now)),
	}
}

// Proved takes a record of the wall tests that was made for the workbench: it
// keeps the proof, under the name that a session's frozen policy has.
func (c *Client) Proved(rec *walls.Record) error {
	if dir := filepath.Dir(rec.Policy); filepath.Dir(dir) == string(c.Root) {
		if r, err := store.Dir(dir).LoadRecord(); err == nil {
			rec.Policy = r.PolicyName
		}
	}
	return c.SaveProof(rec)
}

// SaveRecord writes a record as JSON to a new file, and says where.
func (c *Client) SaveRecord(_ context.Context, rec *walls.Record, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.Home != "" {
		path = filepath.Join(c.Home, rest)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("save the record: %w", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it exists, and was left as it is")
		}
		return "", fmt.Errorf("save the record as %s: %w", path, err)
	}
	b, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return "", fmt.Errorf("save the record: %w", err)
	}
	if err := atomicfile.Write(path, append(b, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("save the record: %w", err)
	}
	return path, nil
}
