package policy

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"fumehood/isolate/layer"
)

// Check names everything in a policy that cannot be put in force: a wall that
// is not built yet, a value without a meaning. Whoever starts a session
// refuses to when there is one: a key is never accepted and then ignored. Each
// is an *Error with the key, and without a line, since a policy in memory has
// none; CheckFile gives lines too.
func Check(p *Policy) []error {
	faults := faultsOf(p)
	all := make([]error, len(faults))
	for i, e := range faults {
		all[i] = e
	}
	return all
}

func faultsOf(p *Policy) []*Error {
	c := checker{file: p.Name}
	c.boundary(p.Boundary)
	c.filesystem(p.Filesystem)
	c.network(p)
	c.limits(p.Limits)
	c.results(p)
	c.texts(p)
	return c.faults
}

// CheckFile parses and checks a policy file; every fault has its place. The
// policy is nil when there is one.
func CheckFile(file string, src []byte) (*Policy, error) {
	p, err := Parse(file, src)
	if err != nil {
		return nil, err
	}
	faults := faultsOf(p)
	locate(src, faults)
	if err := join(faults); err != nil {
		return nil, err
	}
	return p, nil
}

type checker struct {
	file   string
	faults []*Error
}

func (c *checker) refuse(key, msg, hint string) {
	c.faults = append(c.faults, &Error{File: c.file, Key: key, Msg: msg, Hint: hint})
}

// word refuses what is neither the one word in force (which comes first) nor
// known at all. why says what the other words wait for.
func (c *checker) word(key, value, inForce, why string) {
	if value != inForce {
		c.refuse(key, fmt.Sprintf("%q is refused: %s", value, why), fmt.Sprintf("write %q", inForce))
	}
}

func (c *checker) boundary(b Boundary) {
	c.word("boundary.enforced_by", b.EnforcedBy, "process restriction", "no other kind of boundary is built yet")
	c.word("boundary.proven", b.Proven, "shown", "wall tests are not built yet, so nothing can be proven")
	if b.Debuggers {
		c.refuse("boundary.debuggers", "true is refused: ptrace inside is not built yet", "write false")
	}
	for _, want := range b.Require {
		if msg, hint := badRequire(want); msg != "" {
			c.refuse("boundary.require", msg, hint)
		}
	}
}

// badRequire checks one entry: a layer, or Landlock with a level.
func badRequire(want string) (msg, hint string) {
	name, level, leveled := strings.Cut(want, ">=")
	var names []string
	for _, n := range layer.All() {
		names = append(names, string(n))
	}
	switch {
	case name == "broker":
		return `"broker" is refused: the seccomp broker is not built yet`, "layers: " + quoteList(names)
	case !contains(names, name):
		return fmt.Sprintf("unknown layer %q", want), "layers: " + quoteList(names)
	case !leveled:
		return "", ""
	case name != string(layer.Landlock):
		return fmt.Sprintf("%q: only landlock has levels", want), ""
	}
	n, err := strconv.Atoi(level)
	if err != nil || n < 1 || strconv.Itoa(n) != level {
		return fmt.Sprintf("%q: the level is a whole number from 1", want), `as "landlock>=6"`
	}
	return "", ""
}

func (c *checker) filesystem(f Filesystem) {
	if f.Include.Word == "auto" {
		c.refuse("filesystem.include", `"auto" is refused: bringing dependency folders in is not built yet`,
			`write a list of patterns, or "none"`)
	}
	c.choice("filesystem.include", f.Include, "none", "auto")
	c.choice("filesystem.toolchains", f.Toolchains, "none", "auto")
	for _, pattern := range f.Include.List {
		c.pattern("filesystem.include", pattern)
	}
	for _, pattern := range f.Exclude {
		c.pattern("filesystem.exclude", pattern)
	}
	if !contains([]string{"head", "all", "none"}, f.History) {
		c.refuse("filesystem.history", fmt.Sprintf("unknown word %q", f.History), `one of "head", "all", "none"`)
	}
	for _, dir := range f.Inputs {
		c.hostPath("filesystem.inputs", dir)
	}
	for _, dir := range f.Toolchains.List {
		c.hostPath("filesystem.toolchains", dir)
	}
}

func (c *checker) choice(key string, got Choice, words ...string) {
	if len(got.List) > 0 && got.Word != "" || len(got.List) == 0 && !contains(words, got.Word) {
		c.refuse(key, fmt.Sprintf("unknown word %q", got.Word), "a list, or one of "+quoteList(words))
	}
}

// pattern refuses what git's reading of a pattern would skip without a word
// (a blank or a comment), cut (a space at the end) or turn into its opposite.
func (c *checker) pattern(key, pattern string) {
	_, err := path.Match(pattern, "")
	switch {
	case strings.Trim(pattern, " /") == "":
		c.refuse(key, fmt.Sprintf("the pattern %q matches nothing", pattern), "")
	case strings.HasPrefix(pattern, "#"):
		c.refuse(key, fmt.Sprintf("%q reads as a comment", pattern), `begin it with "\\#" if the name does`)
	case strings.HasSuffix(pattern, " ") && !strings.HasSuffix(pattern, `\ `):
		c.refuse(key, fmt.Sprintf("%q ends with a space, which patterns do not keep", pattern), `end it with "\\ " if the name does`)
	case err != nil:
		c.refuse(key, fmt.Sprintf("bad pattern %q", pattern), `a "[" needs its "]"`)
	case strings.HasPrefix(pattern, "!"):
		c.refuse(key, fmt.Sprintf("%q: a pattern can't be turned round", pattern), `begin it with "\\!" if the name does`)
	case hasDotDot(pattern):
		c.refuse(key, fmt.Sprintf("%q leads out of the repository", pattern), "")
	}
}

// hostPath checks what can be said of a path without looking: the folder
// itself is looked at when the session is made.
func (c *checker) hostPath(key, dir string) {
	switch {
	case strings.Contains(dir, "$"):
		c.refuse(key, fmt.Sprintf("%q: variables are not replaced", dir), "write ~/ for the home, or the whole path")
	case dir == "~" || dir == "~/" || path.Clean(dir) == "/":
		c.refuse(key, fmt.Sprintf("%q is refused: it would show the whole home or machine", dir), "name the folders that are needed")
	case hasDotDot(dir):
		c.refuse(key, fmt.Sprintf("%q: .. is refused", dir), "write the path that is meant")
	case !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/"):
		c.refuse(key, fmt.Sprintf("%q is not absolute", dir), "begin it with / or ~/")
	}
}

func hasDotDot(name string) bool { return contains(strings.Split(name, "/"), "..") }

func (c *checker) network(p *Policy) {
	for i := range p.Network.Allow {
		c.refuse(fmt.Sprintf("network.allow[%d]", i), "refused: the egress proxy is not built yet, so nothing can be allowed",
			"take the entry out; a session has no network at all")
	}
	for i := range p.Credentials {
		c.refuse(fmt.Sprintf("credentials[%d]", i), "refused: the egress proxy, which would attach it, is not built yet",
			"take the entry out; a session has no credentials")
	}
}

func (c *checker) limits(l Limits) {
	if l.CPUs != 0 {
		c.refuse("limits.cpus", fmt.Sprintf("%d is refused: processors are not bounded yet", l.CPUs), `write "none"`)
	}
	if l.Disk != 0 {
		c.refuse("limits.disk", fmt.Sprintf("%s is refused: disk is not bounded yet", l.Disk), `write "none"`)
	}
	// Below these nothing starts, and the error then comes from somewhere in
	// the middle of a start, without the name of the key.
	// It bounds the process that starts commands too, which needs 80 MiB.
	if l.Memory != 0 && l.Memory < 96<<20 {
		c.refuse("limits.memory", fmt.Sprintf("%s is too small for a session's own processes", l.Memory), "at least 96MiB")
	}
	if l.Processes != 0 && l.Processes < 16 {
		c.refuse("limits.processes", fmt.Sprintf("%d is too small for a session's own processes", l.Processes), "at least 16")
	}
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"limits.output_chars", int64(l.OutputChars)}, {"limits.output_bytes", int64(l.OutputBytes)},
	} {
		if n.value < 0 {
			c.refuse(n.key, fmt.Sprintf("%d is below 0", n.value), "")
		}
	}
	c.duration("limits.run_time", l.RunTime)
	c.duration("limits.session_time", l.SessionTime)
}

func (c *checker) duration(key string, d time.Duration) {
	switch {
	case d < 0:
		c.refuse(key, fmt.Sprintf("%s is below 0", d), "")
	case d%time.Millisecond != 0:
		c.refuse(key, fmt.Sprintf("%s is finer than 1ms", d), "")
	}
}

func (c *checker) results(p *Policy) {
	c.word("terminal.clipboard", p.Terminal.Clipboard, "deny", "requests of the clipboard are not built yet")
	c.word("results.leave", p.Results.Leave, "diff", "taking artifacts out is not built yet")
	if len(p.Results.Artifacts) > 0 {
		c.refuse("results.artifacts", "refused: taking artifacts out is not built yet", "write []")
	}
	c.duration("lifecycle.idle", p.Lifecycle.Idle)
	if !sameSet(p.Lifecycle.Keep, []string{"diff", "output"}) {
		c.refuse("lifecycle.keep", "refused: a session always keeps its diff and its output until it is removed",
			`write ["diff", "output"]`)
	}
}

// texts refuses, in a policy that did not come from Parse, texts that cannot
// be printed as they are.
func (c *checker) texts(p *Policy) {
	for _, f := range fields() {
		key := f.key
		if f.table != "" {
			key = join2(f.table, f.key)
		}
		var all []string
		switch v := f.at(p).(type) {
		case *string:
			all = []string{*v}
		case *[]string:
			all = *v
		case *Choice:
			all = v.List
		}
		for _, s := range all {
			if msg := badText(s); msg != "" {
				c.refuse(key, msg, "")
			}
		}
	}
}

func sameSet(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for _, s := range want {
		if !contains(got, s) {
			return false
		}
	}
	return true
}
