package prove

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
)

// decoy is made-up text that the probe is meant to find: it shows that whoever
// seeks the others would find them.
func (e *env) decoy() string { return "fhd" + e.id }

// sought is what the tracer looks for in everything that the kernel hands to a
// probe.
func (e *env) sought() []string { return []string{e.token, e.secret, e.decoy()} }

// found says whether the token or the credential was handed out in an attempt,
// by the kernel to the probe or by the probe.
func (e *env) found(s *seen) (outcome, bool) {
	for _, secret := range []string{e.token, e.secret} {
		if s.seg != nil {
			for _, c := range s.seg.Calls {
				if slices.Contains(c.Found, secret) {
					c.Data = nil // it may hold what is the user's
					return failed("the kernel handed it out", walls.Kernel, c.String()+" holds "+secret), true
				}
			}
		}
		if s.said != nil && bytes.Contains(s.said.Got, []byte(secret)) {
			return failed("the probe has it", walls.Supervisor, "what it read holds "+secret), true
		}
	}
	return outcome{}, false
}

// seekIn seeks texts in every file below a folder, but for some folders of its
// own. It gives where one was found.
func seekIn(dir string, texts []string, except ...string) (hit string, files int, size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile: a live session writes here
		case errors.Is(err, fs.ErrPermission) && kernelsOwn(dir, path):
			return fs.SkipDir
		case err != nil:
			return err
		case d.IsDir() && filepath.Dir(path) == dir && slices.Contains(except, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		b, err := readSmall(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		files++
		size += int64(len(b))
		for _, t := range texts {
			if bytes.Contains(b, []byte(t)) {
				hit = fmt.Sprintf("%s holds %s", strings.TrimPrefix(path, dir+"/"), t)
				return fs.SkipAll
			}
		}
		return nil
	})
	if err != nil {
		return "", files, size, fmt.Errorf("seek the token in %q: %w", dir, err)
	}
	return hit, files, size, nil
}

// kernelsOwn tells the folder that the kernel keeps to itself in a session's
// caches, closed to all, which nothing inside can reach.
func kernelsOwn(session, path string) bool {
	rel, err := filepath.Rel(session, path)
	if err != nil {
		return false
	}
	own, err := filepath.Match("cache/*/work/work", rel)
	return err == nil && own
}

// mostSought bounds what is read of one file.
const mostSought = 16 << 20

func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostSought))
}
