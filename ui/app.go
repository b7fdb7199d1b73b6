// Package ui is the workbench: one frame and five places in it. App is the
// only tea.Model; a place has plain methods, does no I/O in Update or View, and
// asks sessions through its own small interface, so that the screens can be
// tested without any. Whatever a workspace, an agent or the network said is
// foreign text and passes kit.Safe, kit.SafeLine or diffreview first.
//
// What this does not cover: nothing is decided here. Verdicts, applies and
// refusals are the session's; the workbench asks and shows.
package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"fumehood/ui/egress"
	"fumehood/ui/kit"
	"fumehood/ui/review"
	"fumehood/ui/sessions"
	"fumehood/ui/start"
	"fumehood/ui/style"
	"fumehood/ui/terminal"
	"fumehood/ui/walls"
)

// Options are how the workbench begins.
type Options struct {
	Repo    string // folder of the repository that it is about
	Session string // ID or name to begin with; empty: what waits first
	Place   string // "sessions", "start", "terminal", "review", "egress", "walls"; empty is sessions
	Theme   string // name of a theme; empty picks one by the terminal's background
	NoColor bool   // no colour at all
	ASCII   bool   // the locale is not UTF-8
	Clock   kit.Clock
	// Edit opens the person's editor on a file; nil does it from this process.
	Edit func(path string) error
	// Colours are what the terminal has; nil asks the environment.
	Colours *colorprofile.Profile
}

// App is the program's model. It belongs to the program's one loop.
type App struct {
	ctx    *kit.Ctx
	opt    Options
	w, h   int
	styles style.Styles

	sessions *sessions.Model
	start    *start.Model
	terminal *terminal.Model
	review   *review.Model
	egress   *egress.Model
	walls    *walls.Model

	at      kit.PlaceID
	dialogs []kit.Dialog
	toasts  kit.Toasts
	began   bool
	left    bool
	leaving bool  // as soon as the wall tests have taken away what they began
	hits    []hit // what was drawn where, for the mouse
	dark    bool
	last    rect // of the active place's body, as it was told
}

type (
	toastMsg  struct{}
	themesMsg struct{}
)

// NewApp is a workbench over a backend; base ends every call to it.
func NewApp(base context.Context, b Backend, opt Options) *App {
	if opt.Clock == nil {
		opt.Clock = kit.RealClock{}
	}
	a := &App{opt: opt, dark: true, at: kit.Sessions}
	a.ctx = &kit.Ctx{Styles: &a.styles, Clock: opt.Clock, Base: base}
	a.restyle()
	a.sessions = sessions.New(a.ctx, b, opt.Session)
	a.start = start.New(a.ctx, b, opt.Repo)
	a.terminal = terminal.New(a.ctx, b)
	a.review = review.New(a.ctx, b)
	a.egress = egress.New(a.ctx, b)
	a.walls = walls.New(a.ctx, b)
	return a
}

// Init asks for the sessions, and for what is proven.
func (a *App) Init() tea.Cmd {
	return tea.Batch(a.sessions.Init(), a.walls.Init())
}

// Live counts the sessions that still run, for the words after leaving.
func (a *App) Live() int { return a.sessions.Live() }

func (a *App) place(id kit.PlaceID) Place {
	switch id {
	case kit.Start:
		return a.start
	case kit.Sessions:
		return a.sessions
	case kit.Terminal:
		return a.terminal
	case kit.Review:
		return a.review
	case kit.Egress:
		return a.egress
	case kit.Walls:
		return a.walls
	}
	return a.sessions
}

func (a *App) all() []Place {
	return []Place{a.start, a.sessions, a.terminal, a.review, a.egress, a.walls}
}

// Update routes: dialogs first, then the frame's own keys, then the place. An
// answer goes to every place, and the one that asked knows its own type.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = max(0, msg.Width), max(0, msg.Height)
	case tea.BackgroundColorMsg:
		a.dark = msg.IsDark()
		a.restyle()
	case tea.KeyPressMsg:
		cmd = a.press(msg)
	case tea.PasteMsg, tea.ClipboardMsg:
		if n := len(a.dialogs); n == 0 {
			cmd = a.place(a.at).Update(msg)
		} else if d, ok := a.dialogs[n-1].(kit.Typing); ok {
			if p, is := msg.(tea.PasteMsg); is {
				d.Paste(p.Content)
			}
		}
	case tea.MouseMsg:
		cmd = a.mouse(msg)
	case tea.KeyReleaseMsg, toastMsg:
	default:
		var cmds []tea.Cmd
		for _, p := range a.all() {
			cmds = append(cmds, p.Update(msg))
		}
		cmd = tea.Batch(cmds...)
	}
	if a.leaving && !a.left && !a.walls.Running() {
		a.ctx.Tell(kit.Leave{})
	}
	cmd = tea.Batch(cmd, a.intents())
	if r := a.layout(a.place(a.at)); r != a.last {
		a.last = r
		cmd = tea.Batch(cmd, a.resize())
	}
	return a, cmd
}

// intents does what places asked of the frame, before the next message.
func (a *App) intents() tea.Cmd {
	var cmds []tea.Cmd
	if !a.began {
		cmds = append(cmds, a.begin())
	}
	for n := 0; n < 100; n++ { // a place that asks for ever must not hang the loop
		todo := a.ctx.Take()
		if len(todo) == 0 {
			break
		}
		for _, i := range todo {
			cmds = append(cmds, a.do(i))
		}
	}
	a.dropDone()
	return tea.Batch(cmds...)
}

func (a *App) do(i kit.Intent) tea.Cmd {
	switch i := i.(type) {
	case kit.Open:
		return a.open(i.Place, i.Session)
	case kit.Prove:
		return a.prove(i.Policy)
	case kit.Say:
		a.toasts.Add(a.ctx.Clock.Now(), i.Text, i.Error)
		if !i.Error {
			return a.ctx.Clock.After(kit.ToastFor()+10*time.Millisecond, toastMsg{})
		}
	case kit.Show:
		a.dialogs = append(a.dialogs, i.Dialog)
		// One that ignores keys at first has its keys drawn when it no longer does.
		return a.ctx.Clock.After(kit.Grace+20*time.Millisecond, toastMsg{})
	case kit.Changed:
		return a.sessions.Reload()
	case kit.Leave:
		a.left = true
		return tea.Quit
	}
	return nil
}

// begin goes to the place that was asked for, as soon as the session to show
// is known.
func (a *App) begin() tea.Cmd {
	places := map[string]kit.PlaceID{"start": kit.Start, "terminal": kit.Terminal, "review": kit.Review, "egress": kit.Egress, "walls": kit.Walls}
	id, ok := places[a.opt.Place]
	if !ok {
		return a.beginAtList()
	}
	s, have := a.sessions.Current()
	if !have && id != kit.Start {
		return nil
	}
	a.began = true
	return a.open(id, s.ID)
}

// beginAtList stays at the list of sessions; where there is none yet, the page
// that makes one is what a person came for.
func (a *App) beginAtList() tea.Cmd {
	none, known := a.sessions.None()
	if !known {
		return nil
	}
	a.began = true
	if none && a.opt.Session == "" {
		return a.open(kit.Start, "")
	}
	return nil
}

func (a *App) open(id kit.PlaceID, session string) tea.Cmd {
	var cmds []tea.Cmd
	cmds = append(cmds, a.sessions.Select(session))
	if session == "" {
		if s, ok := a.sessions.Current(); ok {
			session = s.ID
		}
	}
	if id != a.at {
		a.place(a.at).Exit()
	}
	a.began = true
	a.at = id
	cmds = append(cmds, a.place(id).Enter(session))
	return tea.Batch(cmds...)
}

// prove goes to the walls of a policy, which no session need have.
func (a *App) prove(policy string) tea.Cmd {
	if a.at != kit.Walls {
		a.place(a.at).Exit()
	}
	a.began, a.at = true, kit.Walls
	return a.walls.EnterPolicy(policy)
}

// resize tells every place the size of its body.
func (a *App) resize() tea.Cmd {
	if a.w == 0 || a.h == 0 {
		return nil
	}
	var cmds []tea.Cmd
	for _, p := range a.all() {
		r := a.layout(p)
		cmds = append(cmds, p.Update(tea.WindowSizeMsg{Width: r.w, Height: r.h}))
	}
	return tea.Batch(cmds...)
}

// press takes a key as the terminal reported it. Escape and a key right behind
// it have the bytes of that key with alt: where that means nothing, they are
// taken as the two keys that they most likely were.
func (a *App) press(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Mod&tea.ModAlt == 0 || a.wantsAlt(msg) {
		return a.key(msg)
	}
	// What escape does is done before the second key is looked at.
	return tea.Batch(a.key(tea.KeyPressMsg{Code: tea.KeyEscape}), a.intents(), a.key(kit.WithoutAlt(msg)))
}

// wantsAlt says that a key with alt means something where it would go.
func (a *App) wantsAlt(msg tea.KeyPressMsg) bool {
	if n := len(a.dialogs); n > 0 {
		return kit.Has(a.dialogs[n-1].Keys(), msg)
	}
	return a.at == kit.Terminal && a.terminal.Inside() || kit.Has(a.place(a.at).Keys(), msg) || kit.Has(a.keys(), msg)
}

func (a *App) key(msg tea.KeyPressMsg) tea.Cmd {
	a.toasts.Key()
	if n := len(a.dialogs); n > 0 {
		cmd, ok := kit.Dispatch(a.dialogs[n-1].Keys(), msg, a.ctx.Say)
		if d, types := a.dialogs[n-1].(kit.Typing); types && !ok {
			d.Type(msg)
		}
		return cmd
	}
	p := a.place(a.at)
	if !p.Grab() {
		if cmd, ok := kit.Dispatch(a.keys(), msg, a.ctx.Say); ok {
			return cmd
		}
	}
	return p.Update(msg)
}

func (a *App) dropDone() {
	keep := a.dialogs[:0]
	for _, d := range a.dialogs {
		if !d.Done() {
			keep = append(keep, d)
		}
	}
	a.dialogs = keep
}

// leave ends the workbench. A run of the wall tests is ended first, so that it
// takes its sandboxes away; who asks again does not wait for it.
func (a *App) leave() tea.Cmd {
	if a.walls.Running() && !a.leaving {
		a.leaving = true
		a.walls.Cancel()
		a.ctx.Say("ending the wall tests, then leaving; once more leaves at once")
		return nil
	}
	a.ctx.Tell(kit.Leave{})
	return nil
}

// keys is the frame's own table.
func (a *App) keys() []kit.Binding {
	to := func(id kit.PlaceID) func() tea.Cmd { return func() tea.Cmd { return a.open(id, "") } }
	rows := []kit.Binding{
		{Keys: []string{"1"}, Help: "sessions", Do: to(kit.Sessions)},
		{Keys: []string{"2"}, Help: "terminal", Do: to(kit.Terminal)},
		{Keys: []string{"3"}, Help: "review", Do: to(kit.Review)},
		{Keys: []string{"4"}, Help: "egress", Do: to(kit.Egress)},
		{Keys: []string{"5"}, Help: "walls", Do: to(kit.Walls)},
		{Keys: []string{"?"}, Help: "keys", Hint: 98, Do: a.showHelp},
		{Keys: []string{"L"}, Help: "messages so far", Do: a.showLog},
		{Keys: []string{"T"}, Help: "next theme", Do: a.nextTheme},
		{Keys: []string{"ctrl+l"}, Help: "draw anew", Do: func() tea.Cmd { return kit.Send(kit.RedrawMsg{}) }},
		{Keys: []string{"ctrl+z"}, Help: "suspend the workbench", Do: func() tea.Cmd { return kit.Send(kit.SuspendMsg{}) }},
		{Keys: []string{"q", "ctrl+c"}, Show: "q", Help: "leave", Hint: 99, Do: a.leave},
	}
	if a.at == kit.Start {
		// There q is a letter of a text field that is one key away.
		rows[len(rows)-1] = kit.Binding{Keys: []string{"ctrl+c"}, Help: "leave", Do: a.leave}
	}
	for i := range rows {
		rows[i].Group = "everywhere"
	}
	return rows
}
