// Package agent knows what can run in a session by name: a shell, and the
// scripted agent of the demo. It starts nothing; it says what to start and
// what the session's home needs for it.
package agent

import (
	_ "embed"
	"fmt"
	"strings"
)

// Profile is one agent.
type Profile struct {
	Name    string
	Command []string
	// Seed are files that the session's home needs, by path below it. All are
	// executable by their owner.
	Seed map[string][]byte
}

//go:embed demo.sh
var demoScript []byte

// demoPath is where the demo's script lies below the session's home.
const demoPath = ".local/bin/demo-agent"

// profiles is every agent, in the order in which they are offered.
func profiles(home string) []Profile {
	return []Profile{
		{Name: "shell", Command: []string{"/bin/bash", "-i"}},
		{Name: "demo", Command: []string{"/bin/sh", home + "/" + demoPath}, Seed: map[string][]byte{demoPath: demoScript}},
	}
}

// Names lists the agents.
func Names() []string {
	var out []string
	for _, p := range profiles("") {
		out = append(out, p.Name)
	}
	return out
}

// Find gives the agent's profile for sessions whose HOME is home.
func Find(name, home string) (Profile, error) {
	for _, p := range profiles(home) {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("no agent is named %q; there are: %s", name, strings.Join(Names(), ", "))
}
