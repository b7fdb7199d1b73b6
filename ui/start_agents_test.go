package ui_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/uitest"
)

// realAgents is a machine with one agent that can start, one without its
// program, and one without its credential.
func realAgents(b *uitest.Backend, _ *ui.Options) {
	b.Names = []string{"default", "run-tests", "agent-claude", "agent-claude-token", "agent-codex", "agent-opencode"}
	b.Choices = []session.AgentChoice{
		{ID: "claude", Title: "Claude Code", Policies: []string{"agent-claude", "agent-claude-token"}, Ready: true},
		{ID: "codex", Title: "Codex", Policies: []string{"agent-codex"}},
		{ID: "opencode", Title: "opencode", Policies: []string{"agent-opencode"}, Missing: `opencode is not installed: no "opencode" on PATH; npm install -g opencode-ai`},
		{ID: "shell", Title: "shell", Ready: true},
		{ID: "demo", Title: "demo agent", Ready: true},
	}
	b.Look.Reach = []string{
		"api.anthropic.com, to post to /v1/messages, /v1/messages/count_tokens and to read /api/claude_code/settings, /api/claude_code/policy_limits, as your account anthropic (it sees a placeholder)",
		"nothing else",
	}
	b.Look.As = []string{"anthropic: ANTHROPIC_API_KEY of your environment, held outside; inside, ANTHROPIC_API_KEY is a placeholder"}
}

func TestScreensOfAgents(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		set  func(*uitest.Backend, *ui.Options)
	}{
		{name: "agent", keys: []string{"n"}, set: realAgents},
		{name: "no_credential", keys: []string{"n"}, set: func(b *uitest.Backend, o *ui.Options) {
			realAgents(b, o)
			b.Look.Err = "no credential for claude: set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN to what \"claude setup-token\" prints, or log in with claude on this machine"
		}},
	} {
		for _, s := range [][2]int{{80, 24}, {200, 60}} {
			t.Run(fmt.Sprintf("%s_%dx%d", c.name, s[0], s[1]), func(t *testing.T) {
				d, _ := open(t, s[0], s[1], c.set)
				d.Press(c.keys...)
				d.Golden(filepath.Join("..", "testdata", "screens", "start", fmt.Sprintf("%s_%dx%d.golden", c.name, s[0], s[1])))
			})
		}
	}
}

func TestAnAgentBringsItsPolicyAlong(t *testing.T) {
	d, b := atStart(t, func(b *uitest.Backend) { realAgents(b, nil) })
	d.See("▸ claude", "▸ agent-claude", "agent-claude-token", "run-tests")
	d.NotSee("agent-codex", "agent-opencode")
	d.Press("right")
	d.See("▸ codex", "▸ agent-codex", "run-tests")
	d.NotSee("agent-claude")
	d.Press("right", "right")
	d.See("▸ shell", "▸ default")
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create shell default "" []`)
}

// A chosen policy is the person's word; an agent does not take it back.
func TestAChosenPolicyStaysWithAnotherAgent(t *testing.T) {
	d, b := atStart(t, func(b *uitest.Backend) { realAgents(b, nil) })
	d.Press("tab", "right", "right", "right")
	d.See("▸ run-tests")
	d.Press("shift+tab", "right")
	d.See("▸ codex", "▸ run-tests")
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create codex run-tests "" []`)
}

func TestTheFirstAgentThatCanStartIsChosen(t *testing.T) {
	d, b := atStart(t, func(b *uitest.Backend) {
		realAgents(b, nil)
		b.Choices[0].Ready = false
	})
	d.See("▸ shell", "▸ default", "opencode ✗")
	d.Press("ctrl+s")
	same(t, calls(b, "Create"), `Create shell default "" []`)
}
