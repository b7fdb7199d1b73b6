package policy

import "fmt"

// ParseRepository reads a repository's own policy file, as strictly as Parse.
// What it leaves out is as in the user's policy, so that Intersect compares
// only what it says. It refuses what a repository can't have: sources of
// credentials, host paths and commands; the user's accounts it may name. Every
// fault has its place; Check need not be called.
func ParseRepository(file string, src []byte, user *Policy) (*Policy, error) {
	p, err := parseOnto(clone(user), file, src, thisHost())
	if err != nil {
		return nil, err
	}
	doc, _, err := readTOML(file, src)
	if err != nil {
		return nil, err
	}
	c := checker{file: file, foreign: true}
	c.whole(p)
	c.ofRepository(p, doc)
	locate(src, c.faults)
	if err := join(c.faults); err != nil {
		return nil, err
	}
	return p, nil
}

// ofRepository refuses by what the file says, not by what it comes to: naming a
// host path that the user has listed too is still naming one.
func (c *checker) ofRepository(p *Policy, doc map[string]any) {
	const hint = "that is for your own policy, in the configuration folder"
	no := func(key, what string) {
		c.refuse(key, fmt.Sprintf("refused: a repository's policy names no %s", what), hint)
	}
	if _, ok := doc["credentials"]; ok {
		no("credentials", "credentials, and so no sources of any; it can name an account of yours in an entry")
	}
	if fs, ok := doc["filesystem"].(map[string]any); ok {
		if _, says := fs["inputs"]; says && len(p.Filesystem.Inputs) > 0 {
			no("filesystem.inputs", "host paths")
		}
		if _, says := fs["toolchains"]; says && len(p.Filesystem.Toolchains.List) > 0 {
			no("filesystem.toolchains", "host paths")
		}
	}
}
