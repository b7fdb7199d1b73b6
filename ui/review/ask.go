package review

import (
	"cmp"
	"context"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// asked is what the review's questions and answers are about: comments, tries,
// merges and what goes on inside. It is of one session.
type asked struct {
	comments []diffreview.Comment
	spots    map[int][]spot // by file, where comments stand in it
	since    map[string]after
	asking   int // raised with every look at what changed since comments were made

	try    try
	typing *kit.Write // the newest dialog that text is typed in
	goneOn bool       // something happened inside after the snapshot
	polls  int        // raised when the place is entered
	active bool       // the place is looked at

	written map[writtenKey]*written
	drafts  map[string][]byte // by unit: what was written and could not be recorded
}

// answerMsg brings what a job of a dialog came to. Do runs in the program's
// loop, and only while the session that was asked is still shown.
type answerMsg struct {
	Session string
	Job     int
	Do      func() tea.Cmd
}

// ask puts a question to the session into the queue, behind the decisions that
// were made before it. The answer is given to the program's loop.
func (m *Model) ask(says string, question func(ctx context.Context) func() tea.Cmd) tea.Cmd {
	return m.push(job{kind: jobAsk, says: says, ask: question})
}

// askNow is ask for what no decision bears on: it overtakes the queue.
func (m *Model) askNow(question func(ctx context.Context) func() tea.Cmd) tea.Cmd {
	id, ctx := m.id, m.ctx.Base
	return func() tea.Msg { return answerMsg{Session: id, Job: -1, Do: question(ctx)} }
}

// answered takes what a question came to.
func (m *Model) answered(msg answerMsg) tea.Cmd {
	if msg.Job < 0 {
		if msg.Session != m.id {
			return nil
		}
		return msg.Do()
	}
	if _, ok := m.jobs.take(msg.Session == m.id, msg.Job); !ok {
		return nil
	}
	return tea.Batch(msg.Do(), m.pump())
}

// askKeys are the rows of what is said to the agent and asked of the session.
func (m *Model) askKeys(none string) []kit.Binding {
	return []kit.Binding{
		{Keys: []string{"c"}, Help: "comment", Off: none, Group: "say", Do: m.comment},
		{Keys: []string{"C"}, Help: m.wider(), Off: none, Group: "say", Do: m.commentWider},
		{Keys: []string{"m"}, Help: "send comments to the agent", Off: cmp.Or(m.away("comments on a bundle go home with the decisions"), m.nobody()), Group: "say", Do: m.askSend},
		{Keys: []string{"e"}, Help: "write the hunk yourself", Off: cmp.Or(none, kit.When(m.inList, "that is for the diff: tab")), Group: "decide", Do: m.edit},
		{Keys: []string{"t"}, Help: "try a command on what is approved", Off: cmp.Or(m.away("a command is tried where the session is"), none), Group: "host", Do: m.askTry},
		{Keys: []string{"ctrl+t"}, Help: "output of the last try", Off: kit.When(m.try.last == nil, "nothing was tried yet: t does"), Group: "show", Do: m.showTried},
		{Keys: []string{"M"}, Help: "files that you changed too", Off: cmp.Or(m.away("a bundle is merged where its repository is"), none, m.unapproved()), Group: "host", Do: m.askMerges},
	}
}
