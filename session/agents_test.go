package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/isolate/policy"
	"fumehood/session/agent"
)

// agentHost is an account with a home and programs of its own.
func agentHost(t *testing.T, programs ...string) *Host {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Join(home, ".local", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &Host{Home: home, Config: filepath.Join(home, ".config"), Env: []string{"PATH=" + bin + ":/usr/bin"}}
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnAgentGetsThePolicyWhoseCredentialIsThere(t *testing.T) {
	const login = ".claude/.credentials.json"
	for _, tt := range []struct {
		name, agent string
		env         []string
		files       map[string]string
		want        string
		lacks       bool
	}{
		{name: "a key", agent: "claude", env: []string{"ANTHROPIC_API_KEY=x"}, want: "agent-claude"},
		{name: "a token", agent: "claude", env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x"}, want: "agent-claude-token"},
		{name: "a key before a token", agent: "claude", env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x", "ANTHROPIC_API_KEY=x"}, want: "agent-claude"},
		{name: "an empty key is none", agent: "claude", env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x", "ANTHROPIC_API_KEY="}, want: "agent-claude-token"},
		{name: "a login", agent: "claude", files: map[string]string{login: `{"claudeAiOauth":{"accessToken":"x"}}`}, want: "agent-claude-login"},
		{name: "a login without a token", agent: "claude", files: map[string]string{login: `{"claudeAiOauth":{}}`}, want: "agent-claude", lacks: true},
		{name: "a login that is no JSON", agent: "claude", files: map[string]string{login: `x`}, want: "agent-claude", lacks: true},
		{name: "nothing", agent: "claude", want: "agent-claude", lacks: true},
		{name: "codex with the usual key", agent: "codex", env: []string{"OPENAI_API_KEY=x"}, want: "agent-codex"},
		{name: "codex with its own key", agent: "codex", env: []string{"CODEX_API_KEY=x"}, want: "agent-codex-key"},
		{name: "codex with a stored key", agent: "codex", files: map[string]string{".codex/auth.json": `{"OPENAI_API_KEY":"x"}`}, want: "agent-codex-login"},
		{name: "codex with an account alone", agent: "codex", files: map[string]string{".codex/auth.json": `{"OPENAI_API_KEY":null,"tokens":{}}`}, want: "agent-codex", lacks: true},
		{name: "opencode with the other vendor", agent: "opencode", env: []string{"OPENAI_API_KEY=x"}, want: "agent-opencode-openai"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := agentHost(t, "claude", "codex", "opencode")
			h.Env = append(h.Env, tt.env...)
			for name, text := range tt.files {
				putFile(t, filepath.Join(h.Home, name), text)
			}
			prof, err := agent.Find(tt.agent, h.Config)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.agentPolicy(&prof); got != tt.want {
				t.Errorf("got the policy %q, want %q", got, tt.want)
			}
			pol, err := policy.Load(tt.want, h.Config)
			if err != nil {
				t.Fatal(err)
			}
			err = h.canRun(&prof, &Prepared{Policy: pol, ToolPath: []string{filepath.Join(h.Home, ".local", "bin")}})
			if (err != nil) != tt.lacks || err != nil && !strings.Contains(err.Error(), "no credential for "+tt.agent+": set ") {
				t.Errorf("got %v, want a refusal: %v, that says what to set", err, tt.lacks)
			}
			for _, c := range h.AgentChoices() {
				if c.ID == tt.agent && c.Ready == tt.lacks {
					t.Errorf("got ready %v, want %v", c.Ready, !tt.lacks)
				}
			}
		})
	}
}

func TestAnAgentWhoseProgramIsNotThereSaysWhatToDo(t *testing.T) {
	h := agentHost(t, "codex")
	for _, c := range h.AgentChoices() {
		switch c.ID {
		case "claude", "opencode":
			if c.Ready || !strings.Contains(c.Missing, "is not installed: no \""+c.ID+"\" on PATH; npm install") {
				t.Errorf("got %+v, want it not installed, and how", c)
			}
		default:
			if c.Missing != "" {
				t.Errorf("got %+v, want nothing missing", c)
			}
		}
	}
	codex, err := agent.Find("codex", h.Config)
	if err != nil {
		t.Fatal(err)
	}
	err = h.canRun(&codex, &Prepared{Policy: &policy.Policy{}})
	if err == nil || !strings.Contains(err.Error(), "in a folder that does not go in; filesystem.toolchains") {
		t.Errorf("got %v for a program whose folder is not inside, want a refusal that says how to bring it in", err)
	}
}

func TestEachAgentsPoliciesAreGoodAndFitItsSeed(t *testing.T) {
	for _, name := range agent.Builtin() {
		p, err := agent.Find(name, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, polName := range p.Policies {
			pol, err := policy.Load(polName, "")
			if err != nil {
				t.Errorf("%s: %v", polName, err)
				continue
			}
			if len(pol.Network.Allow) == 0 || len(pol.Credentials) == 0 {
				t.Errorf("%s: got no entry or no credential, want both", polName)
			}
			for _, c := range pol.Credentials {
				if !strings.HasSuffix(c.PlaceholderFormat, "{session}") {
					t.Errorf("%s: got the placeholder %q, want one that ends with the session's mark: agents remember the end of a key", polName, c.PlaceholderFormat)
				}
				for _, f := range p.Seed {
					if strings.Contains(f.Text, "{placeholder:") && !strings.Contains(f.Text, "{placeholder:"+c.Name+":last20}") {
						t.Errorf("%s: got an account %q that %s does not name", polName, c.Name, f.Path)
					}
				}
			}
		}
	}
}
