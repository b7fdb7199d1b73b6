package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/session/agent"
)

// AgentChoice is one agent as the page of a new session offers it.
type AgentChoice struct {
	ID, Title string
	// Policies fit it; the first is the one that it gets by itself. Empty: it
	// needs none of its own.
	Policies []string
	Missing  string // why it can't be started, and what to do; else empty
	// Ready says that it can be started as it is: program and credential are
	// there.
	Ready bool
}

// Agents lists the built-in agents.
func Agents() []string { return agent.Builtin() }

// AgentChoices lists every agent, the user's own last. One whose profile can't
// be read, or whose program is not there, says so.
func (h *Host) AgentChoices() []AgentChoice {
	names := agent.Names(h.Config)
	out := make([]AgentChoice, 0, len(names))
	for _, name := range names {
		p, err := agent.Find(name, h.Config)
		if err != nil {
			out = append(out, AgentChoice{ID: name, Title: name, Missing: err.Error()})
			continue
		}
		c := AgentChoice{ID: name, Title: p.Title, Policies: h.policiesOf(p)}
		if prog := p.Program(); prog != "" && findProgram(prog, filepath.SplitList(lookup(h.Env, "PATH"))) == "" {
			c.Missing = notInstalled(p)
		}
		c.Ready = c.Missing == "" && (len(c.Policies) == 0 || h.hasSources(c.Policies[0]))
		out = append(out, c)
	}
	return out
}

// AgentCommand gives the command line of a named agent: with a prompt its
// answer is printed, or at a terminal it goes on from there.
func (h *Host) AgentCommand(name, prompt string, tty bool) ([]string, error) {
	p, err := agent.Find(name, h.Config)
	if err != nil {
		return nil, err
	}
	return p.Argv(prompt, tty, isolate.HomeInside)
}

// profileOf is the profile of a request's agent, nil for a plain command.
func (h *Host) profileOf(req Request) (*agent.Profile, error) {
	if req.Agent == "" || req.Agent == "command" || req.Proving {
		return nil, nil //nolint:nilnil // no agent is no error
	}
	p, err := agent.Find(req.Agent, h.Config)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// policiesOf lists an agent's policies, the one that it would get first: the
// first whose credentials are there.
func (h *Host) policiesOf(p agent.Profile) []string {
	out := slices.Clone(p.Policies)
	for i, name := range out {
		if h.hasSources(name) {
			return append([]string{name}, slices.Delete(out, i, i+1)...)
		}
	}
	return out
}

// agentPolicy names the policy that a profile brings along; "" when it has none.
func (h *Host) agentPolicy(p *agent.Profile) string {
	if p == nil {
		return ""
	}
	if all := h.policiesOf(*p); len(all) > 0 {
		return all[0]
	}
	return ""
}

// lacking says which credential of a policy has no source now; "" when each has.
// It looks at what is there, not at whether a destination would take it.
func (h *Host) lacking(pol *policy.Policy) string {
	for _, c := range pol.Credentials {
		if !h.sourceThere(c.Source) {
			return c.Name
		}
	}
	return ""
}

// hasSources tells whether a policy's credentials are all there.
func (h *Host) hasSources(name string) bool {
	pol, _, err := policy.Find(name, h.Config)
	return err == nil && h.lacking(pol) == ""
}

func (h *Host) sourceThere(source string) bool {
	kind, rest, _ := strings.Cut(source, ":")
	switch kind {
	case "env":
		return lookup(h.Env, rest) != ""
	case "file":
		file, pointer, _ := strings.Cut(rest, "#")
		if below, ok := strings.CutPrefix(file, "~/"); ok {
			file = filepath.Join(h.Home, below)
		}
		return holdsText(file, pointer)
	case "command":
		return true // it is run when the credential is used, and not before
	}
	return false
}

// maxSource bounds what is read of a credential's file to see that it is there.
const maxSource = 1 << 20

// holdsText tells whether a file has a text at a dotted JSON pointer, or any
// content without one.
func holdsText(file, pointer string) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 || st.Size() > maxSource {
		return false
	}
	if pointer == "" {
		return true
	}
	var at any
	if json.NewDecoder(io.LimitReader(f, maxSource)).Decode(&at) != nil {
		return false
	}
	for _, key := range strings.Split(pointer, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return false
		}
		at = m[key]
	}
	text, ok := at.(string)
	return ok && text != ""
}

// canRun refuses an agent whose program would not be found inside, or that has a
// policy of its own without its credential.
func (h *Host) canRun(prof *agent.Profile, p *Prepared) error {
	if prof == nil {
		return nil
	}
	if prog := prof.Program(); prog != "" {
		inside := append(slices.Clone(p.ToolPath), systemPath...)
		there := findProgram(prog, filepath.SplitList(lookup(h.Env, "PATH")))
		switch {
		case findProgram(prog, inside) != "":
		case there == "":
			return errors.New(notInstalled(*prof))
		default:
			return fmt.Errorf("%s is at %s, in a folder that does not go in; filesystem.toolchains can name it", prog, there)
		}
	}
	if slices.Contains(prof.Policies, p.Policy.Name) {
		if name := h.lacking(p.Policy); name != "" {
			return fmt.Errorf("no credential for %s: %s", prof.Name, prof.Missing)
		}
	}
	return nil
}

func notInstalled(p agent.Profile) string {
	out := fmt.Sprintf("%s is not installed: no %q on PATH", p.Name, p.Program())
	if p.Install != "" {
		out += "; " + p.Install
	}
	return out
}

// findProgram gives the path of a program in the first folder that has it.
func findProgram(name string, folders []string) string {
	for _, dir := range folders {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// agentSeed renders the files that an agent's home needs. The end of an
// account's placeholder is the session's mark, for those formats that end so.
func agentSeed(prof *agent.Profile, p *Prepared, mark string) (map[string]seedFile, error) {
	if prof == nil {
		return nil, nil
	}
	facts := agent.Facts{Workspace: p.Repo.Root, Last20: map[string]string{}}
	for _, c := range p.Policy.Credentials {
		if strings.HasSuffix(c.PlaceholderFormat, "{session}") {
			facts.Last20[c.Name] = mark
		}
	}
	out := map[string]seedFile{}
	for _, f := range prof.Seed {
		text, err := f.Render(facts)
		if err != nil {
			return nil, err
		}
		mode := os.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		out[f.Path] = seedFile{text: text, mode: mode}
	}
	return out, nil
}

// seedFile is one file of a session's home.
type seedFile struct {
	text string
	mode os.FileMode
}
