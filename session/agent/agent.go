// Package agent knows what can run in a session by name: a profile says what to
// start and how, what the session's home and environment need for it, which
// policies fit it, and how it tells that it waits. Profiles are data: those in
// profiles/, and the user's own. It starts nothing and looks for no program.
package agent

import (
	"fmt"
	"strings"
	"time"
)

// Profile is one agent.
type Profile struct {
	Name  string // its file's, without the ending
	Title string // for people
	// Command starts it; {home} in it is the session's HOME. Act is what follows
	// in any case: its own prompts and its own sandbox off.
	Command []string
	Act     []string
	// Print and Prompt follow when a prompt is given, without and with a terminal;
	// {prompt} in them is it. An agent without them takes none.
	Print  []string
	Prompt []string
	// Policies are names of policies that fit it. The first whose credentials
	// are there is the agent's own; Missing says what to set when none is.
	Policies []string
	Missing  string
	Install  string // how it is installed
	Env      map[string]string
	Seed     []File
	Send     Send
	Waits    Waits
}

// File is one file that the session's home needs.
type File struct {
	Path string // below the home
	Text string // see Render
	Exec bool
}

// Send is how a message is handed to an agent at its terminal: pasted or typed,
// and after a pause the enter key, which programs that read a paste in pieces
// would otherwise take as a part of it.
type Send struct {
	Paste bool          `json:"paste"`
	Pause time.Duration `json:"pause"`
}

// TakesPrompt tells whether a prompt can be given at the start.
func (p Profile) TakesPrompt() bool { return len(p.Print) > 0 }

// Argv is the command line. Without a terminal, an agent that takes prompts
// needs one: nobody could answer it.
func (p Profile) Argv(prompt string, tty bool, home string) ([]string, error) {
	out := make([]string, 0, len(p.Command)+len(p.Act)+len(p.Print))
	for _, s := range p.Command {
		out = append(out, strings.ReplaceAll(s, "{home}", home))
	}
	out = append(out, p.Act...)
	with := p.Print
	switch {
	case prompt != "" && !p.TakesPrompt():
		return nil, fmt.Errorf("%s takes no prompt; give --agent or a command, not both", p.Name)
	case prompt == "" && p.TakesPrompt() && !tty:
		return nil, fmt.Errorf("%s needs a prompt where there is no terminal: put it after --", p.Name)
	case prompt == "":
		return out, nil
	case tty:
		with = p.Prompt
	}
	for _, s := range with {
		out = append(out, strings.ReplaceAll(s, "{prompt}", prompt))
	}
	return out, nil
}

// Program is what has to be found on PATH; empty when it lies at a place of its
// own in every session.
func (p Profile) Program() string {
	if strings.Contains(p.Command[0], "/") {
		return ""
	}
	return p.Command[0]
}

// Environ is what the agent's environment has beside the session's own.
func (p Profile) Environ() []string {
	var out []string
	for _, name := range sortedKeys(p.Env) {
		out = append(out, name+"="+p.Env[name])
	}
	return out
}
