package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// Branch is one that an apply made in the repository.
type Branch struct {
	Name   string    `json:"name"`
	Commit string    `json:"commit"`
	Parent string    `json:"parent"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	TTY    string    `json:"tty"`
	Undone time.Time `json:"undone,omitzero"`
	// Intended: recorded before the branch is made, and not yet seen to be there.
	// After a kill it may be, or come to be while git ends.
	Intended bool     `json:"intended,omitempty"`
	Paths    []string `json:"paths,omitempty"` // what it changes, while it is intended
}

func (d Dir) branches() string { return filepath.Join(string(d), "branches.json") }

// Branches lists the branches that applies made, the oldest first.
func (d Dir) Branches() ([]Branch, error) {
	var list []Branch
	err := readJSON(d.branches(), &list)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// SaveBranches replaces the list.
func (d Dir) SaveBranches(list []Branch) error { return writeJSON(d.branches(), list) }
