package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// Find gives the policy that is meant, and the bytes of its file. configDir is
// the user's folder for configuration ($XDG_CONFIG_HOME, else ~/.config);
// fumehood's own folder lies in it.
//
// A nameOrFile with a "/" or the ending ".toml" is a file. Else it is a name:
// a built-in, or configDir/fumehood/policies/NAME.toml; the same name twice is
// refused, since either could be meant. Empty means the user's own
// configDir/fumehood/policy.toml when there is one, else the built-in default.
// A file that is missing, unreadable, empty or wrong is an error, never the
// default. Find does not Check.
func Find(nameOrFile, configDir string) (*Policy, []byte, error) {
	switch {
	case nameOrFile == "":
		return findOwn(configDir)
	case isFile(nameOrFile):
		return readPolicy(nameOrFile)
	}
	return findName(nameOrFile, configDir)
}

// Load is Find and Check: it gives the policy that is meant, and every fault
// of it with line and column.
func Load(nameOrFile, configDir string) (*Policy, error) {
	p, src, err := Find(nameOrFile, configDir)
	if err != nil {
		return nil, err
	}
	return checked(p, src)
}

// Pick gives the policy of a new session, checked: the one that was asked for;
// else the user's own file in the configuration folder; else the agent's own
// ("" when it has none); else the built-in default.
func Pick(asked, agents, configDir string) (*Policy, error) {
	if asked == "" && !hasOwn(configDir) {
		asked = agents
	}
	return Load(asked, configDir)
}

// Names lists the policies that can be named, built-in ones first.
func Names(configDir string) []string {
	return append(BuiltinNames(), ownNames(configDir)...)
}

func isFile(s string) bool { return strings.Contains(s, "/") || strings.HasSuffix(s, ".toml") }

func findOwn(configDir string) (*Policy, []byte, error) {
	if !hasOwn(configDir) {
		return findBuiltin(DefaultName)
	}
	return readPolicy(ownFile(configDir))
}

func ownFile(configDir string) string { return filepath.Join(configDir, "fumehood", "policy.toml") }

// hasOwn tells whether the user has a policy file. Only one that is surely not
// there counts as none; a link to nowhere or a folder that can't be searched is
// an error when it is read.
func hasOwn(configDir string) bool {
	if configDir == "" {
		return false
	}
	_, err := os.Lstat(ownFile(configDir))
	return !errors.Is(err, fs.ErrNotExist)
}

func findName(name, configDir string) (*Policy, []byte, error) {
	if !goodName(name) {
		return nil, nil, &Error{
			File: name, Msg: "not a name of a policy",
			Hint: "names hold letters, digits, - _ and .; a file is named with a / in it",
		}
	}
	file := ""
	if configDir != "" {
		file = filepath.Join(configDir, "fumehood", "policies", name+".toml")
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			file = ""
		}
	}
	_, built := builtinSource(name)
	switch {
	case built && file != "":
		return nil, nil, &Error{
			File: file, Msg: fmt.Sprintf("has the name of the built-in policy %q", name),
			Hint: "rename it, or pass the file itself",
		}
	case built:
		return findBuiltin(name)
	case file != "":
		return readPolicy(file)
	}
	return nil, nil, &Error{
		File: name, Msg: "no such policy",
		Hint: "there are " + quoteList(Names(configDir)) + "; a file is named with a / in it",
	}
}

func findBuiltin(name string) (*Policy, []byte, error) {
	p, ok := Builtin(name)
	if !ok {
		return nil, nil, fmt.Errorf("no built-in policy %q", name)
	}
	src, _ := builtinSource(name)
	return p, src, nil
}

func readPolicy(file string) (*Policy, []byte, error) {
	src, err := readBounded(file)
	if err != nil {
		return nil, nil, &Error{File: file, Msg: err.Error(), Hint: "nothing starts without the policy that was asked for"}
	}
	p, err := Parse(file, src)
	return p, src, err
}

// readBounded reads a regular file of at most the limit. It does not block on
// a pipe that lies where the file should.
func readBounded(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathCause(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, pathCause(err)
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	// One byte more than the limit: Parse then says that it is over.
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, pathCause(err)
	}
	return src, nil
}

// pathCause takes the path out of an error, which our own already names.
func pathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// ownNames lists the user's named policies, sorted. A folder that can't be
// read has none to offer; naming one of them says why.
func ownNames(configDir string) []string {
	if configDir == "" {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(configDir, "fumehood", "policies"))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".toml")
		if _, built := builtinSource(name); ok && goodName(name) && !built {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// goodName keeps names to what cannot lead anywhere else, nor act on a
// terminal.
func goodName(name string) bool {
	if name == "" || len(name) > 64 || name[0] == '.' || name[0] == '-' {
		return false
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return true
}
