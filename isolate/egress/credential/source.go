package credential

import (
	"errors"
	"fmt"
	"strings"
)

// source is where one account's secret is.
type source struct {
	kind    string   // env, file, command
	name    string   // env: the variable
	path    string   // file: absolute, or beginning with "~/"; command: the program
	pointer []string // file: the way to a string in a JSON object; nil is the whole file
	argv    []string // command
}

// The kinds of sources.
const (
	kindEnv     = "env"
	kindFile    = "file"
	kindCommand = "command"
)

const (
	maxSource  = 4 << 10
	maxArgs    = 64
	maxPointer = 16
)

// CheckSource says what is wrong with a source as the policy writes it:
//
//	env:NAME
//	file:/absolute/path        also ~/path; all of it but one newline at its end
//	file:/path/x.json#a.b.c    the string at that place of a JSON object
//	command:/absolute/program with arguments
//
// A command is split at blanks. There is no shell, so that what only a shell
// would understand is refused rather than handed on.
func CheckSource(s string) error {
	_, err := parse(s)
	return err
}

func parse(s string) (source, error) {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" {
		return source{}, errors.New("none of env:NAME, file:PATH#pointer and command:/absolute/path args")
	}
	if len(s) > maxSource {
		return source{}, fmt.Errorf("longer than %d bytes", maxSource)
	}
	for _, c := range []byte(rest) {
		if c < ' ' || c == 0x7f {
			return source{}, errors.New("a control character")
		}
	}
	switch kind {
	case kindEnv:
		return parseEnv(rest)
	case kindFile:
		return parseFile(rest)
	case kindCommand:
		return parseCommand(rest)
	}
	return source{}, fmt.Errorf("%q is none of env, file and command", clip(kind))
}

func clip(s string) string {
	if len(s) > 32 {
		s = s[:32] + "..."
	}
	return s
}

func parseEnv(name string) (source, error) {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return source{}, errors.New("not the name of a variable: letters, digits and _, no digit first")
		}
	}
	return source{kind: kindEnv, name: name}, nil
}

func parseFile(rest string) (source, error) {
	src := source{kind: kindFile, path: rest}
	if i := strings.LastIndexByte(rest, '#'); i >= 0 {
		src.path, src.pointer = rest[:i], strings.Split(rest[i+1:], ".")
		if len(src.pointer) > maxPointer {
			return source{}, fmt.Errorf("a pointer of more than %d names", maxPointer)
		}
		for _, name := range src.pointer {
			if name == "" {
				return source{}, errors.New(`an empty name in the pointer: write "#a.b.c"`)
			}
		}
	}
	abs := src.path
	if home, ok := strings.CutPrefix(abs, "~/"); ok {
		abs = "/" + home
	}
	return src, checkPath(abs, "a file")
}

// checkPath takes absolute paths that are read in one way only.
func checkPath(path, what string) error {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return fmt.Errorf("not the absolute path of %s", what)
	}
	for _, name := range strings.Split(path, "/") {
		if name == ".." {
			return errors.New(`".." in the path`)
		}
	}
	return nil
}

func parseCommand(rest string) (source, error) {
	if i := strings.IndexAny(rest, "\"'`\\$"); i >= 0 {
		return source{}, fmt.Errorf("%q: a command is split at blanks, without a shell, so nothing can be quoted or expanded", rest[i])
	}
	argv := strings.Fields(rest)
	if len(argv) == 0 || len(argv) > maxArgs {
		return source{}, fmt.Errorf("a command of %d words, from 1 to %d are possible", len(argv), maxArgs)
	}
	for _, word := range argv {
		switch word {
		case "|", "||", "&", "&&", ";", "<", ">", ">>", "2>&1":
			return source{}, fmt.Errorf("%q: there is no shell that would read it; put it into a script", word)
		}
	}
	return source{kind: kindCommand, path: argv[0], argv: argv}, checkPath(argv[0], "a program")
}
