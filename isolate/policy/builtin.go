package policy

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed builtin/*.toml
var builtins embed.FS

// DefaultName is the built-in policy that is used when none is named, and
// that fills in what an own policy leaves out.
const DefaultName = "default"

// BuiltinNames lists the built-in policies, sorted.
func BuiltinNames() []string {
	entries, err := builtins.ReadDir("builtin")
	if err != nil {
		panic(err) // embedded: cannot be
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".toml")
	}
	return names
}

// Builtin gives a built-in policy; each call a fresh one.
func Builtin(name string) (*Policy, bool) {
	src, ok := builtinSource(name)
	if !ok {
		return nil, false
	}
	p, err := Parse("built-in "+name, src)
	if err != nil {
		panic(fmt.Sprintf("built-in policy %q: %v", name, err)) // a test parses each
	}
	p.Name = name
	return p, true
}

func builtinSource(name string) ([]byte, bool) {
	src, err := builtins.ReadFile("builtin/" + name + ".toml")
	return src, err == nil
}

// defaults gives the values of the keys that a file leaves out.
func defaults(h host) *Policy {
	src, _ := builtinSource(DefaultName)
	p, err := parseOnto(new(Policy), DefaultName, src, h)
	if err != nil {
		panic(fmt.Sprintf("built-in policy %q: %v", DefaultName, err)) // a test parses it
	}
	return p
}
