package probe

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

func hogDisk(args map[string]string) Said {
	g, err := greedOf(args)
	if err != nil {
		return noHog(err)
	}
	// A write beyond the size that a file may have ends the process else.
	signal.Ignore(unix.SIGXFSZ)
	dir := args["dir"]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return noHog(err)
	}
	open := func(name string) (int, error) {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return -1, fmt.Errorf("open: %w", err)
		}
		return fd, nil
	}
	each := func(make func(fd int) error) func() error {
		n := 0
		return func() error {
			n++
			fd, err := open(strconv.Itoa(n))
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return make(fd)
		}
	}
	switch args["how"] {
	case "one":
		fd, err := open("one")
		if err != nil {
			return noHog(err)
		}
		defer unix.Close(fd)
		return g.grow(2*mib, func() error { return fill(fd, 2*mib) })
	case "many":
		return g.grow(2*mib, each(func(fd int) error { return fill(fd, 2*mib) }))
	case "fallocate":
		return g.grow(4*mib, each(func(fd int) error {
			if err := unix.Fallocate(fd, 0, 0, 4*mib); err != nil {
				return fmt.Errorf("fallocate: %w", err)
			}
			return nil
		}))
	case "sparse":
		// Each is large to look at and takes one block.
		return g.grow(16*mib, each(func(fd int) error {
			if _, err := unix.Pwrite(fd, []byte{1}, 16*mib-1); err != nil {
				return fmt.Errorf("pwrite: %w", err)
			}
			return nil
		}))
	case "inodes":
		return g.grow(1000, hogNames(dir))
	}
	return noHog(fmt.Errorf("no way %q to take disk", args["how"]))
}

// hogNames makes a folder with 1000 empty files at each step.
func hogNames(dir string) func() error {
	n := 0
	return func() error {
		n++
		sub := filepath.Join(dir, "d"+strconv.Itoa(n))
		if err := unix.Mkdir(sub, 0o755); err != nil {
			return fmt.Errorf("mkdir: %w", err)
		}
		at, err := unix.Open(sub, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		defer unix.Close(at)
		for i := range 999 {
			if err := unix.Mknodat(at, strconv.Itoa(i), unix.S_IFREG|0o644, 0); err != nil {
				return fmt.Errorf("mknodat: %w", err)
			}
		}
		return nil
	}
}

// hogTruncate makes a file of a size that takes no block, and takes it away.
func hogTruncate(args map[string]string) Said {
	size, err := strconv.ParseInt(args["size"], 10, 64)
	if err != nil {
		return noHog(err)
	}
	signal.Ignore(unix.SIGXFSZ) // it ends the process else
	fd, err := unix.Open(args["path"], unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return noHog(fmt.Errorf("open: %w", err))
	}
	defer unix.Close(fd)
	defer func() { _ = unix.Unlink(args["path"]) }() // it was made above
	if err := unix.Ftruncate(fd, size); err != nil {
		return Said{Text: err.Error(), Step: 1}
	}
	return Said{}
}
