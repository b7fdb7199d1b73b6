package review

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
)

// askSend shows the message that the unsent comments make, and what would happen
// to it; it goes only when that is answered with yes.
func (m *Model) askSend() tea.Cmd {
	if m.id == "" || m.set == nil {
		return nil
	}
	b, id := m.backend, m.id
	return m.ask("putting the message together…", func(ctx context.Context) func() tea.Cmd {
		msg, err := b.PreviewSend(ctx, id)
		d, unknown := b.Detail(ctx, id)
		return func() tea.Cmd {
			switch {
			case err != nil:
				m.ctx.Fail(fmt.Errorf("comments: %w", err))
			case msg == nil && len(m.comments) == 0:
				m.ctx.Say("no comment yet: c writes one on the line under the cursor")
			case msg == nil:
				m.ctx.Say("every comment was sent; c writes another")
			default:
				m.askWhetherToSend(msg, willHappen(d, unknown))
			}
			return nil
		}
	})
}

func (m *Model) askWhetherToSend(msg *session.Message, how string) {
	lines := []string{how, ""}
	lines = append(lines, splitSafe(msg.Text)...)
	if msg.More > 0 {
		lines = append(lines, "", kit.Plural(msg.More, "comment")+" more do not fit and stay for the next message.")
	}
	asked := msg.Text
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "Send " + kit.Plural(len(msg.Comments), "comment") + " to the agent?", Clock: m.ctx.Clock, Late: true, Lines: lines,
		Choices: []kit.Choice{
			{Key: "n", Label: "not now"},
			{Key: "y", Label: "send", Grave: true, Do: func() tea.Cmd { return m.send(asked) }},
		},
	}})
}

// send hands the comments over, if they still make the message that was shown.
func (m *Model) send(shown string) tea.Cmd {
	b, id := m.backend, m.id
	return m.ask("sending the comments…", func(ctx context.Context) func() tea.Cmd {
		var sent session.Sent
		msg, err := b.PreviewSend(ctx, id)
		switch {
		case err != nil:
		case msg == nil || msg.Text != shown:
			err = fmt.Errorf("they have changed since they were shown: press m again")
		default:
			sent, err = b.SendComments(ctx, id)
		}
		return func() tea.Cmd {
			if err != nil {
				m.ctx.Fail(fmt.Errorf("the comments were not sent: %w", err))
				return nil
			}
			m.ctx.Say(kit.Plural(sent.Comments, "comment") + ": " + kit.Safe(sent.How))
			return m.push(job{kind: jobLoad})
		}
	})
}

// willHappen says what sending would do as the session stands.
func willHappen(d session.Detail, err error) string {
	switch {
	case err != nil:
		return "It is typed into the agent's terminal when it waits there, else kept until it does."
	case !d.Live:
		return "The session has ended: the message is kept, and typed into the agent's terminal after the next resume."
	case d.State == session.StateWaiting:
		return "The agent waits: the message is typed into its terminal now, and entered."
	case d.Agent == "command" || d.Agent == "shell":
		return "Nothing tells when this command waits for you: the message is kept, and typed into its terminal only when a program in it says so itself."
	}
	return "The agent is at work: the message is kept, and typed into its terminal as soon as it waits."
}

func splitSafe(text string) []string {
	var out []string
	for _, l := range kit.Block(kit.SafeText(text), 1<<20, 1+countLines(text)) {
		out = append(out, "  "+l)
	}
	return out
}

func countLines(s string) int {
	n := 0
	for _, r := range s {
		if r == '\n' {
			n++
		}
	}
	return n
}
