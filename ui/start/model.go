// Package start is the page that makes a new session: three questions on the
// left, and what the answers mean, at once and in plain words. It starts
// nothing that it has not shown.
package start

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate"
	"fumehood/session"
	"fumehood/ui/kit"
)

// progressEvery is how often the bar is drawn while files are copied in.
const progressEvery = 100 * time.Millisecond

type field int

const (
	fieldAgent field = iota
	fieldCommand
	fieldPolicy
	fieldName
)

type (
	previewMsg struct {
		Gen     int
		Preview session.Preview
		Err     error
	}
	createdMsg struct {
		Gen int
		ID  string
		Err error
	}
	progressMsg struct{ Gen int }
)

// progress is written by the copy and read by the view.
type progress struct{ done, total, bytes atomic.Int64 }

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend
	repo    string
	size    isolate.Size

	agents   []session.AgentChoice
	agent    int
	touched  bool // a person chose the agent
	known    []string
	policies []string // of known, those for the agent
	policy   int
	picked   bool // a person chose the policy
	name     kit.Input
	command  kit.Input
	shell    bool // a shell runs the command
	deps     bool // what package managers filled is brought in
	at       field

	gen     int // of the newest preview asked for
	preview session.Preview
	shown   bool // preview belongs to the choices as they stand
	err     error
	early   bool // a start was asked for before the preview was there

	creating bool
	cancel   context.CancelFunc
	progress *progress
	drawn    [3]int64 // progress as of the last tick

	spots []spot // where choices were drawn last
}

// New is the page for a repository.
func New(ctx *kit.Ctx, b Backend, repo string) *Model {
	return &Model{ctx: ctx, backend: b, repo: repo, policies: []string{defaultPolicy}, agents: []session.AgentChoice{{ID: "shell", Title: "shell", Ready: true}, otherCommand}}
}

// Title is the place's name.
func (m *Model) Title() string { return "new session" }

// Grab says that letters are text, or that the copy is under way and only
// escape means something.
func (m *Model) Grab() bool {
	return m.creating || m.at == fieldName || m.at == fieldCommand
}

// Busy is empty: the page draws its own progress.
func (m *Model) Busy() string { return "" }

// Enter opens the page anew; a start that is under way goes on.
func (m *Model) Enter(string) tea.Cmd {
	if m.creating {
		return nil
	}
	m.at, m.deps = fieldAgent, false
	m.name.Set("")
	return tea.Batch(m.loadChoices(), m.ask())
}

// Exit leaves the page.
func (m *Model) Exit() {}

// Proof is what is known of the chosen policy's walls.
func (m *Model) Proof() kit.Proof {
	p := m.preview
	return kit.Proof{Known: m.shown && m.err == nil && (p.Err == "" || p.Unproven), Standing: p.Walls, Err: p.WallsErr}
}

// Request is what the choices say.
func (m *Model) request() session.Request {
	r := session.Request{
		Repo: m.repo, Policy: m.policies[m.policy], Agent: m.chosen().ID,
		Name: strings.TrimSpace(m.name.String()), TTY: true, Size: m.size, Dependencies: m.deps,
	}
	if r.Agent == otherCommand.ID {
		r.Command = m.argv()
	}
	return r
}

// ask has the meaning of the choices worked out.
func (m *Model) ask() tea.Cmd {
	m.gen++
	m.shown, m.early = false, false
	r, gen := m.request(), m.gen
	return func() tea.Msg {
		p, err := m.backend.Preview(m.ctx.Base, r)
		return previewMsg{Gen: gen, Preview: p, Err: err}
	}
}

// Update takes the page's own answers and keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.size = isolate.Size{Cols: uint16(max(1, min(msg.Width, 1000))), Rows: uint16(max(1, min(msg.Height, 500)))}
	case choicesMsg:
		return m.takeChoices(msg)
	case previewMsg:
		if msg.Gen == m.gen {
			m.preview, m.err, m.shown = msg.Preview, msg.Err, true
			if m.early && m.err == nil && m.preview.Err == "" {
				m.ctx.Say("this is what it would be: ctrl+s starts it")
			}
			m.early = false
		}
	case progressMsg:
		if msg.Gen == m.gen && m.creating {
			return m.tick()
		}
	case createdMsg:
		return m.created(msg)
	case trustedMsg:
		return m.trusted(msg)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if f := m.input(); f != nil && !m.creating {
			f.Paste(msg.Content)
			return m.edited()
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	}
	return nil
}

// start makes the session, if what it would be has been on the screen.
func (m *Model) start() tea.Cmd {
	if m.creating {
		return nil
	}
	r := m.request()
	if r.Agent == otherCommand.ID && len(r.Command) == 0 {
		m.at = fieldCommand
		m.ctx.Fail(errors.New("no command: write the one to run"))
		return nil
	}
	switch {
	case !m.shown:
		m.early = true
		return nil
	case m.err != nil:
		m.ctx.Fail(m.err)
		return nil
	case m.preview.Unproven:
		m.ctx.Fail(errors.New("not started: " + m.preview.Err + "; w runs the wall tests"))
		return nil
	case m.preview.Err != "":
		m.ctx.Fail(errors.New("not started: " + m.preview.Err))
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx.Base)
	m.gen++
	m.creating, m.cancel, m.progress = true, cancel, &progress{}
	gen, p := m.gen, m.progress
	create := func() tea.Msg {
		defer cancel()
		id, err := m.backend.Create(ctx, r, func(done, total int, bytes int64) {
			p.done.Store(int64(done))
			p.total.Store(int64(total))
			p.bytes.Store(bytes)
		})
		return createdMsg{Gen: gen, ID: id, Err: err}
	}
	return tea.Batch(create, m.tick())
}

// tick reads how far the copy is; the numbers only move between two draws.
func (m *Model) tick() tea.Cmd {
	p := m.progress
	m.drawn = [3]int64{p.done.Load(), p.total.Load(), p.bytes.Load()}
	return m.ctx.Clock.After(progressEvery, progressMsg{Gen: m.gen})
}

func (m *Model) created(msg createdMsg) tea.Cmd {
	if msg.Gen != m.gen {
		return nil
	}
	m.creating, m.cancel = false, nil
	if msg.Err != nil {
		if errors.Is(msg.Err, context.Canceled) {
			m.ctx.Say("start cancelled: nothing was left behind")
		} else {
			m.ctx.Fail(fmt.Errorf("not started: %w", msg.Err))
		}
		return m.ask()
	}
	m.ctx.Tell(kit.Open{Place: kit.Terminal, Session: msg.ID})
	return nil
}
