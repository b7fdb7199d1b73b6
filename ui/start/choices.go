package start

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
)

// otherCommand is the choice of any program: it stands last.
var otherCommand = session.AgentChoice{ID: "command", Title: "other command…", Ready: true}

// choicesMsg is what there is to choose from.
type choicesMsg struct {
	Agents   []session.AgentChoice
	Policies []string
}

func (m *Model) loadChoices() tea.Cmd {
	return func() tea.Msg {
		return choicesMsg{Agents: m.backend.Agents(m.ctx.Base), Policies: m.backend.Policies(m.ctx.Base)}
	}
}

// takeChoices keeps what was chosen where it is still there. Until a person has
// chosen, it is the first agent that can be started.
func (m *Model) takeChoices(msg choicesMsg) tea.Cmd {
	before, pol := m.chosen().ID, m.policies[m.policy]
	m.agents = append(slices.Clone(msg.Agents), otherCommand)
	m.known = msg.Policies
	at := slices.IndexFunc(m.agents, func(a session.AgentChoice) bool { return a.Ready })
	if m.touched {
		if i := slices.IndexFunc(m.agents, func(a session.AgentChoice) bool { return a.ID == before }); i >= 0 {
			at = i
		}
	}
	m.agent = at // otherCommand is always ready
	m.fitPolicies(pol)
	if m.chosen().ID != before || m.policies[m.policy] != pol {
		return m.ask()
	}
	return nil
}

func (m *Model) chosen() session.AgentChoice { return m.agents[m.agent] }

// takeAgent is a person's choice of an agent, which brings its policy along
// unless one was chosen that is offered for it too.
func (m *Model) takeAgent(i int) {
	m.agent, m.touched = i, true
	m.fitPolicies(m.policies[m.policy])
}

// agentPolicy is what names of policies for one agent begin with. They are
// offered for that agent alone.
const agentPolicy = "agent-"

// fitPolicies lists the policies for the chosen agent: its own first, then those
// for any. keep stays chosen when the person chose it.
func (m *Model) fitPolicies(keep string) {
	own := m.chosen().Policies
	list := slices.Clone(own[:min(1, len(own))])
	for _, name := range append(slices.Clone(own), m.known...) {
		if !slices.Contains(list, name) && (!strings.HasPrefix(name, agentPolicy) || slices.Contains(own, name)) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		list = []string{defaultPolicy}
	}
	m.policies, m.policy = list, max(0, slices.Index(list, defaultPolicy))
	if len(own) > 0 {
		m.policy = 0
	}
	if i := slices.Index(list, keep); m.picked && i >= 0 {
		m.policy = i
	}
}

// defaultPolicy is what an agent without a policy of its own gets.
const defaultPolicy = "default"

// agentNames are the labels of the first question.
func (m *Model) agentNames() []string {
	out := make([]string, len(m.agents))
	for i, a := range m.agents {
		out[i] = a.ID
		switch {
		case a.ID == otherCommand.ID || a.ID == "demo":
			out[i] = a.Title
		case a.Missing != "":
			out[i] += " ✗" // choosing it says why
		}
	}
	return out
}
