package probe

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runGit runs git inside, with the words of "words", and hands out what it says.
func runGit(args map[string]string) Said {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", strings.Fields(args["words"])...)
	cmd.Dir = args["dir"]
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Said{Err: err.Error()}
	}
	return Said{Text: cmd.ProcessState.String(), Got: out}
}

const (
	mostPack   = 32 << 20 // of one file of objects
	mostObject = 64 << 10 // of one object
)

// inflateObjects reads every object of a repository without git, those too that
// no index names: it inflates from each place where a stream could begin.
func inflateObjects(args map[string]string) Said {
	var s Said
	files, objects := 0, 0
	root := filepath.Join(args["dir"], ".git", "objects")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := readFile(path)
		if err != nil {
			return err
		}
		files++
		for at := 0; at+1 < len(b); at++ {
			// The two bytes that a zlib stream begins with (RFC 1950).
			if b[at]&0x0f != 8 || (int(b[at])<<8|int(b[at+1]))%31 != 0 {
				continue
			}
			text := inflate(b[at:])
			if len(text) == 0 {
				continue
			}
			objects++
			if len(s.Got)+len(text) < MaxGot {
				s.Got = append(append(s.Got, text...), '\n')
			}
		}
		return nil
	})
	if err != nil {
		return Said{Err: err.Error()}
	}
	s.Text = fmt.Sprintf("%d objects in %d files", objects, files)
	return s
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostPack))
}

// inflate gives what comes out before the first fault; a false beginning gives
// little or nothing.
func inflate(b []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	defer z.Close()
	text, err := io.ReadAll(io.LimitReader(z, mostObject))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return text
}
