package ui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// editorOption makes an editor take text for text: what stands in it comes from
// an agent, and editors have commands that they read out of the files they open.
type editorOption struct {
	name string // the program's name begins with it
	args []string
}

// editorOptions is looked through in order.
var editorOptions = []editorOption{
	// Modelines set options, and have run programs (CVE-2019-12735).
	{"nvim", []string{"--cmd", "set nomodeline modelines=0"}},
	{"vim", []string{"--cmd", "set nomodeline modelines=0"}},
	{"gvim", []string{"--cmd", "set nomodeline modelines=0"}},
	// File variables set options and may evaluate Lisp.
	{"emacs", []string{"--eval", "(setq enable-local-variables nil enable-local-eval nil enable-dir-local-variables nil)"}},
}

// errNoEditor says that no editor is named, and none is found.
var errNoEditor = errors.New("no editor: set VISUAL or EDITOR")

// editor gives the command that opens a file in the person's editor: VISUAL,
// then EDITOR, then vi or nano. As git does it, the value is read by the shell,
// since people quote in it; the file's name is an argument of its own.
func editor(env func(string) (string, bool), look func(string) (string, error), path string) (*exec.Cmd, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v, ok := env(name); ok && strings.TrimSpace(v) != "" {
			args := append([]string{"-c", v + ` "$@"`, "editor"}, optionsFor(started(v, look))...)
			return in(path, exec.Command("/bin/sh", append(args, path)...)), nil
		}
	}
	for _, name := range []string{"vi", "nano"} {
		if found, err := look(name); err == nil {
			return in(path, exec.Command(found, append(optionsFor(started(name, look)), path)...)), nil
		}
	}
	return nil, errNoEditor
}

// in has the editor begin in the file's own folder, where there is nothing else.
func in(path string, c *exec.Cmd) *exec.Cmd {
	c.Dir = filepath.Dir(path)
	return c
}

// started is the name of what a value such as `"/usr/bin/vim" -u none` starts:
// behind links, since vi is often vim.
func started(value string, look func(string) (string, error)) string {
	f := strings.Fields(value)
	if len(f) == 0 {
		return ""
	}
	name := strings.Trim(f[0], `"'`)
	found, err := look(name)
	if err != nil {
		return filepath.Base(name)
	}
	if to, err := filepath.EvalSymlinks(found); err == nil {
		found = to
	}
	return filepath.Base(found)
}

func optionsFor(name string) []string {
	for _, o := range editorOptions {
		if strings.HasPrefix(name, o.name) && !strings.HasPrefix(name, "emacsclient") {
			return o.args
		}
	}
	return nil
}

// Edit opens the person's editor on a file, on this process's terminal, and returns
// when it has ended.
func Edit(path string) error {
	cmd, err := editor(os.LookupEnv, exec.LookPath, path)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return editorEnded(cmd.Run())
}

// editing runs an editor while the program has given the terminal away.
type editing struct {
	edit func(path string) error
	path string
}

func (e editing) Run() error { return e.edit(e.path) }

// The editor has the terminal of its process, which is the program's.

func (editing) SetStdin(io.Reader)  {}
func (editing) SetStdout(io.Writer) {}
func (editing) SetStderr(io.Writer) {}

// editorEnded says what an editor's end was, where that is worth saying.
func editorEnded(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return fmt.Errorf("the editor ended with %s", exit.ProcessState)
	}
	return fmt.Errorf("start the editor: %w", err)
}
