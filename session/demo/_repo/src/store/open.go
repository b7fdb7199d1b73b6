// Package store keeps one value in a file.
package store

import (
	"fmt"
	"os"
	"sync"
)

// Store is an open store.
type Store struct {
	mu sync.Mutex
	f  *os.File
}

// Open opens the store at path.
func Open(path string) (*Store, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	return &Store{f: f}, nil
}

// Close closes it.
func (s *Store) Close() error {
	return s.f.Close()
}

// Value reads the value.
func (s *Store) Value() (string, error) {
	return s.load()
}

func (s *Store) load() (string, error) {
	b := make([]byte, 64)
	n, err := s.f.ReadAt(b, 0)
	if n == 0 && err != nil {
		return "", err
	}
	return string(b[:n]), nil
}
