package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"fumehood/ui/kit"
	"fumehood/ui/screen"
)

// program is what the library runs: the App, and the terminal around it.
type program struct {
	app *App
	scr *screen.Screen
	tty *screen.TTY
	env func(string) (string, bool)
}

// Init begins the App.
func (p *program) Init() tea.Cmd { return p.guard(p.app.Init()) }

// View has the App drawn. What it gives is empty: the library draws nothing. It
// is asked once what Update wants done is under way: a key is on its way into a
// session before the screen is looked at.
func (p *program) View() tea.View {
	ok := false
	defer p.unless(&ok)
	p.scr.Show(p.app.View())
	ok = true
	return tea.View{}
}

// Update gives what happened to the terminal to the screen, and all else to the
// App.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	ok := false
	defer p.unless(&ok)
	cmd := p.terminal(msg)
	_, more := p.app.Update(msg)
	ok = true
	return p, p.guard(tea.Batch(cmd, more))
}

func (p *program) terminal(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		p.scr.Typed()
	case tea.WindowSizeMsg:
		p.scr.Resize(msg.Width, msg.Height)
	case tea.ColorProfileMsg:
		p.scr.Profile(msg)
	case tea.ModeReportMsg:
		p.scr.Modes(msg)
	case kit.RedrawMsg:
		p.scr.Redraw()
	case kit.AskClipboardMsg:
		p.scr.Ask(ansi.RequestSystemClipboard)
	case kit.SetClipboardMsg:
		p.scr.Ask(ansi.SetSystemClipboard(kit.ClipText(msg.Text)))
	case kit.SuspendMsg:
		p.leave()
		return tea.Suspend
	case tea.ResumeMsg:
		return p.enter()
	case kit.EditorDoneMsg:
		return tea.Batch(p.enter(), kit.Send(msg.Back))
	case kit.EditorMsg:
		return p.edit(msg)
	}
	return nil
}

// edit gives the terminal to the person's editor. The loop stands still until it
// ends.
func (p *program) edit(msg kit.EditorMsg) tea.Cmd {
	edit := p.app.opt.Edit
	if edit == nil {
		edit = Edit
	}
	p.leave()
	return tea.Exec(editing{edit, msg.Path}, func(err error) tea.Msg {
		return kit.EditorDoneMsg{Back: msg.Back(err)}
	})
}

// enter takes the terminal, and gives its size as it is now.
func (p *program) enter() tea.Cmd {
	if err := p.tty.Raw(); err != nil {
		p.app.ctx.Fail(err)
	}
	p.scr.Enter(p.questions())
	return func() tea.Msg {
		w, h := p.tty.Size()
		return tea.WindowSizeMsg{Width: w, Height: h}
	}
}

func (p *program) leave() {
	p.scr.Leave()
	p.tty.Restore()
}

// questions are asked of the terminal when it is taken over. Over ssh, and of a
// terminal that is known to print what it doesn't know, only the old one is.
func (p *program) questions() string {
	q := ""
	if p.app.opt.Theme == "" && !p.app.opt.NoColor {
		q = ansi.RequestBackgroundColor
	}
	_, ssh := p.env("SSH_TTY")
	if prog, _ := p.env("TERM_PROGRAM"); ssh || strings.Contains(prog, "Apple") {
		return q
	}
	return q + screen.Questions
}

// guard leaves the terminal before a panic in a Cmd is printed.
func (p *program) guard(c tea.Cmd) tea.Cmd {
	if c == nil {
		return nil
	}
	return func() tea.Msg {
		ok := false
		defer p.unless(&ok)
		msg := c()
		if b, batch := msg.(tea.BatchMsg); batch {
			out := make(tea.BatchMsg, len(b))
			for i := range b {
				out[i] = p.guard(b[i])
			}
			msg = out
		}
		ok = true
		return msg
	}
}

func (p *program) unless(ok *bool) {
	if !*ok {
		p.leave()
	}
}
