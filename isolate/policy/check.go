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
	c.whole(p)
	return c.faults
}

func (c *checker) whole(p *Policy) {
	c.boundary(p.Boundary)
	c.filesystem(p.Filesystem)
	c.network(p)
	if !c.foreign {
		c.credentials(p)
	}
	c.limits(p.Limits)
	c.results(p)
	c.texts(p)
}

// CheckFile parses and checks a policy file; every fault has its place. The
// policy is nil when there is one.
func CheckFile(file string, src []byte) (*Policy, error) {
	p, err := Parse(file, src)
	if err != nil {
		return nil, err
	}
	return checked(p, src)
}

// checked gives the policy when nothing in it is refused; src is its file.
func checked(p *Policy, src []byte) (*Policy, error) {
	faults := faultsOf(p)
	locate(src, faults)
	if err := join(faults); err != nil {
		return nil, err
	}
	return p, nil
}

type checker struct {
	file    string
	foreign bool // of a repository: accounts are the user's, and may be missing
	faults  []*Error
}

func (c *checker) refuse(key, msg, hint string) {
	c.faults = append(c.faults, &Error{File: c.file, Key: key, Msg: msg, Hint: hint})
}

// refuseOnce is refuse where nothing was said of the key yet.
func (c *checker) refuseOnce(key, msg, hint string) {
	for _, e := range c.faults {
		if e.Key == key {
			return
		}
	}
	c.refuse(key, msg, hint)
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
	if words := []string{ProvenShown, ProvenRequired}; !contains(words, b.Proven) {
		c.refuse("boundary.proven", fmt.Sprintf("unknown word %q", b.Proven), "one of "+quoteList(words))
	}
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

func (c *checker) limits(l Limits) {
	if l.CPUs < 0 {
		c.refuse("limits.cpus", fmt.Sprintf("%d is below 0", l.CPUs), "")
	}
	if l.Disk < 0 || l.Disk > 0 && l.Disk < 1<<20 {
		c.refuse("limits.disk", fmt.Sprintf("%s is too small for a session's own folders", l.Disk), "at least 1MiB")
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
	if words := []string{"deny", "ask", "allow"}; !contains(words, p.Terminal.Clipboard) {
		c.refuse("terminal.clipboard", fmt.Sprintf("unknown word %q", p.Terminal.Clipboard), "one of "+quoteList(words))
	}
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
	textsOf(c, fields(), "", p)
	for i := range p.Network.Allow {
		textsOf(c, allowFields(), fmt.Sprintf("network.allow[%d].", i), &p.Network.Allow[i])
	}
	for i := range p.Credentials {
		textsOf(c, credentialFields(), fmt.Sprintf("credentials[%d].", i), &p.Credentials[i])
	}
}

// textsOf looks at the texts of one table; prefix is in front of the keys of an
// entry.
func textsOf[T any](c *checker, known []field[T], prefix string, from *T) {
	for _, f := range known {
		key := prefix + f.key
		if prefix == "" && f.table != "" {
			key = join2(f.table, f.key)
		}
		var all []string
		switch v := f.at(from).(type) {
		case *string:
			all = []string{*v}
		case *[]string:
			all = *v
		case *Choice:
			all = v.List
		}
		if len(all) > maxList {
			c.refuseOnce(key, fmt.Sprintf("%d entries: over the limit of %d", len(all), maxList), "")
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
