package agent

import (
	"embed"
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

//go:embed profiles
var builtins embed.FS

// order is the built-in agents as they are offered.
var order = []string{"claude", "codex", "opencode", "shell", "demo"}

// Builtin lists the built-in agents, in the order in which they are offered.
func Builtin() []string { return append([]string(nil), order...) }

// Names lists the agents: the built-in ones and the user's own, which lie as
// configDir/fumehood/agents/NAME.toml. A folder that can't be read has none to
// offer; naming one of them says why.
func Names(configDir string) []string {
	out := Builtin()
	if configDir == "" {
		return out
	}
	entries, err := os.ReadDir(ownFolder(configDir))
	if err != nil {
		return out
	}
	var own []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".toml")
		if ok && GoodName(name) && !builtin(name) {
			own = append(own, name)
		}
	}
	sort.Strings(own)
	return append(out, own...)
}

// Find gives an agent's profile. A built-in's name can't be taken by another:
// either could be meant.
func Find(name, configDir string) (Profile, error) {
	if !GoodName(name) {
		return unknown(name, configDir)
	}
	file := ""
	if configDir != "" {
		file = filepath.Join(ownFolder(configDir), name+".toml")
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			file = ""
		}
	}
	switch {
	case builtin(name) && file != "":
		return Profile{}, fmt.Errorf("%s has the name of a built-in agent; rename it", file)
	case builtin(name):
		return readBuiltin(name)
	case file == "":
		return unknown(name, configDir)
	}
	src, err := readBounded(file)
	if err != nil {
		return Profile{}, fmt.Errorf("read the agent %q: %w", name, err)
	}
	return Parse(name, file, src)
}

func unknown(name, configDir string) (Profile, error) {
	return Profile{}, fmt.Errorf("no agent is named %q; there are: %s", name, strings.Join(Names(configDir), ", "))
}

func ownFolder(configDir string) string { return filepath.Join(configDir, "fumehood", "agents") }

func builtin(name string) bool {
	for _, n := range order {
		if n == name {
			return true
		}
	}
	return false
}

func readBuiltin(name string) (Profile, error) {
	src, err := builtins.ReadFile("profiles/" + name + ".toml")
	if err != nil {
		return Profile{}, fmt.Errorf("built-in agent %q: %w", name, err)
	}
	p, err := Parse(name, "built-in agent "+name, src)
	if err != nil || name != "demo" {
		return p, err
	}
	script, err := builtins.ReadFile("profiles/demo.sh")
	if err != nil {
		return p, fmt.Errorf("built-in agent %q: %w", name, err)
	}
	// A file beside its profile, so that a shell's tools can check it. Not in
	// .local/bin, over which the account's own may lie, as a toolchain.
	p.Seed = append(p.Seed, File{Path: ".demo-agent", Text: string(script), Exec: true})
	return p, nil
}

// readBounded reads a regular file, and does not block on a pipe in its place.
func readBounded(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	return io.ReadAll(io.LimitReader(f, maxProfile+1))
}
