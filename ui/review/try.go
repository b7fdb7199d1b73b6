package review

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui/kit"
)

// try is a command that runs, or ran last, on what is approved.
type try struct {
	line    string // as it was typed
	began   time.Time
	cancel  context.CancelFunc // nil: none runs
	serial  int
	last    *session.Tried
	of      string // that line of last
	failure error
}

// askTry asks for a command to run on a fresh copy with only what is approved.
func (m *Model) askTry() tea.Cmd {
	switch {
	case m.id == "" || m.set == nil:
		return nil
	case m.try.cancel != nil:
		return m.askEndTry()
	case m.tally.approved == 0:
		m.ctx.Say("nothing is approved, so there is nothing to try")
		return nil
	}
	d := &kit.Write{
		Head: "try a command on what is approved", Label: "run it", Single: true, Do: m.startTry,
		Lines: []string{"It runs behind this session's walls, in a fresh copy of the baseline with what is approved and nothing else. What it writes is thrown away."},
	}
	if t := m.set.Tried(); t != nil {
		d.Lines = append(d.Lines, "Last on exactly this: "+trialWords(t)+".")
	} else if n := len(m.set.Trials); n > 0 {
		d.Lines = append(d.Lines, "Last, on other approvals: "+trialWords(&m.set.Trials[n-1])+".")
	}
	d.Set(m.suggestion())
	m.typing = d
	m.ctx.Tell(kit.Show{Dialog: d})
	return nil
}

func (m *Model) askEndTry() tea.Cmd {
	serial := m.try.serial
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head:  "Running on what is approved: " + kit.Safe(m.try.line),
		Lines: []string{"It has run for " + kit.Age(m.ctx.Clock.Now().Sub(m.try.began)) + "."},
		Choices: []kit.Choice{
			{Key: "n", Label: "let it run"},
			{Key: "y", Label: "end it", Do: func() tea.Cmd {
				if m.try.cancel != nil && m.try.serial == serial {
					m.try.cancel()
				}
				return nil
			}},
		},
	}})
	return nil
}

// suggestion is the command to begin with: the one before, else what projects of
// the changed files' kind use. It is text only; nothing was looked at but names.
func (m *Model) suggestion() string {
	if m.try.line != "" {
		return m.try.line
	}
	if n := len(m.set.Trials); n > 0 {
		return commandLine(m.set.Trials[n-1].Command)
	}
	best, rank := "", 0
	for i := range m.set.Files {
		p := m.set.Files[i].Path
		for r, s := range suggestions {
			if (path.Base(p) == s.name || s.ext != "" && path.Ext(p) == s.ext) && len(suggestions)-r > rank {
				best, rank = s.command, len(suggestions)-r
			}
		}
	}
	return best
}

// suggestions go by names of changed files; the first that fits counts.
var suggestions = []struct{ name, ext, command string }{
	{"go.mod", ".go", "go test ./..."},
	{"Cargo.toml", ".rs", "cargo test"},
	{"package.json", ".ts", "npm test"},
	{"package-lock.json", ".js", "npm test"},
	{"pyproject.toml", ".py", "python3 -m pytest"},
	{"pom.xml", ".java", "mvn test"},
	{"Gemfile", ".rb", "bundle exec rake test"},
	{"Makefile", "", "make test"},
}

// argv is the command of a typed line: its words, or a shell where the line has
// what only a shell reads.
func argv(line string) []string {
	if strings.ContainsAny(line, "|&;<>()$`\\\"'*?[]#~={}!\n") {
		return []string{"sh", "-c", line}
	}
	return strings.Fields(line)
}

// commandLine is argv's opposite.
func commandLine(argv []string) string {
	if len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" {
		return argv[2]
	}
	return strings.Join(argv, " ")
}

// startTry runs a line, once the decisions that were made before are recorded.
func (m *Model) startTry(line string) tea.Cmd {
	line = strings.TrimSpace(line)
	b, id, base := m.backend, m.id, m.ctx.Base
	return m.ask("starting the try…", func(context.Context) func() tea.Cmd {
		return func() tea.Cmd {
			if m.try.cancel != nil {
				return nil
			}
			ctx, cancel := context.WithCancel(base)
			m.try.line, m.try.began, m.try.cancel = line, m.ctx.Clock.Now(), cancel
			m.try.serial++
			serial := m.try.serial
			return func() tea.Msg {
				t, err := b.Try(ctx, id, argv(line))
				ended := ctx.Err() != nil
				cancel()
				return answerMsg{Session: id, Job: -1, Do: func() tea.Cmd {
					if serial != m.try.serial {
						return nil
					}
					return m.tried(t, ended, err)
				}}
			}
		}
	})
}

// tried shows what a try came to. Where somebody types just now it only says so.
func (m *Model) tried(t session.Tried, ended bool, err error) tea.Cmd {
	m.try.cancel = nil
	m.try.last, m.try.of, m.try.failure = nil, m.try.line, err
	switch {
	case ended:
		m.ctx.Say("the try was ended: " + kit.Safe(m.try.line))
		return nil
	case err != nil:
		m.ctx.Fail(fmt.Errorf("try: %w", err))
		return nil
	}
	m.try.last = &t
	if t.Trial.Approved != "" {
		m.set.Trials = append(m.set.Trials[:len(m.set.Trials):len(m.set.Trials)], t.Trial)
	}
	if !m.active || m.typing != nil && !m.typing.Done() {
		m.ctx.Say(kit.Safe(m.try.of) + ": " + verdictWords(&t) + " (ctrl+t shows its output)")
		return nil
	}
	return m.showTried()
}

// showTried shows the output of the last try.
func (m *Model) showTried() tea.Cmd {
	t := m.try.last
	if t == nil {
		m.ctx.Say("nothing was tried here yet: t runs a command on what is approved")
		return nil
	}
	head := kit.Safe(m.try.of) + ": " + verdictWords(t)
	var lines []string
	lines = append(lines, fmt.Sprintf("%s, after %s, on %s", verdictWords(t), kit.Age(t.Wall), m.onWhat(t)))
	if t.Hint != "" {
		lines = append(lines, kit.Safe(t.Hint))
	}
	if n := len(t.Left); n > 0 {
		lines = append(lines, kit.Plural(n, "path")+" of the session were not there, such as "+diffreview.SafeName(t.Left[0].Path)+" ("+kit.Safe(t.Left[0].Why)+")")
	}
	out := kit.SafeText(strings.TrimRight(t.Output, "\n"))
	if out == "" {
		out = "(it wrote nothing)"
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: head, Clock: m.ctx.Clock, Late: true, Body: func(w int) []string {
		var all []string
		for _, l := range lines {
			all = append(all, kit.Wrap(l, w)...)
		}
		all = append(all, "")
		return append(all, kit.WrapLines(out, w)...)
	}}})
	return nil
}

func (m *Model) onWhat(t *session.Tried) string {
	if t.Trial.Approved != "" && t.Trial.Approved == m.set.ApprovedHash() {
		return "exactly what is approved now"
	}
	return "what was approved then; that has changed since"
}

func verdictWords(t *session.Tried) string {
	switch {
	case t.Limit != nil:
		return "FAILED, stopped at the limit " + kit.Safe(t.Limit.Name)
	case t.Signal != 0:
		return fmt.Sprintf("FAILED, ended by signal %d", t.Signal)
	case t.Code != 0:
		return fmt.Sprintf("FAILED, exit %d", t.Code)
	}
	return "passed"
}

// trialWords is one sentence on a try out of the session's record.
func trialWords(t *diffreview.Trial) string {
	line := kit.Safe(kit.Cut(commandLine(t.Command), 60))
	switch {
	case t.Outcome == diffreview.TrialPassed:
		return line + " passed"
	case t.Outcome == diffreview.TrialNone:
		return line + " did not run to its end"
	case t.Limit != "":
		return line + " FAILED at the limit " + kit.Safe(t.Limit)
	}
	return fmt.Sprintf("%s FAILED, exit %d", line, t.Code)
}

// triedLines is what the question before an apply says of tries.
func (m *Model) triedLines() []string {
	if t := m.set.Tried(); t != nil {
		return []string{"Tried: " + trialWords(t) + " on exactly this."}
	}
	if n := len(m.set.Trials); n > 0 {
		return []string{"Not tried as it is now: " + trialWords(&m.set.Trials[n-1]) + ", but what is approved has changed since."}
	}
	return nil
}
