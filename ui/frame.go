package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
	"fumehood/ui/sessions"
)

// hit is a place of the screen that the mouse can click.
type hit struct {
	x, y, w int
	do      func() tea.Cmd
}

// View draws the frame, the place in it and what lies over both.
func (a *App) View() tea.View {
	v := tea.NewView("")
	if a.w == 0 || a.h == 0 {
		return v
	}
	lines, cur := a.draw()
	text := strings.Join(lines, "\n")
	if a.opt.ASCII {
		text = kit.ASCII(text)
	}
	v.SetContent(text)
	v.Cursor = cur
	v.WindowTitle = a.windowTitle()
	return v
}

// windowTitle names the workbench only: what runs inside must not name itself
// in the user's window list.
func (a *App) windowTitle() string {
	if s, ok := a.sessions.Current(); ok {
		return kit.Safe("fumehood: " + s.Name)
	}
	return "fumehood"
}

func (a *App) draw() ([]string, *tea.Cursor) {
	a.hits = a.hits[:0]
	p := a.place(a.at)
	r := a.layout(p)
	if r.tiny && a.at != kit.Terminal {
		return a.tooSmall(), nil
	}
	body, cur := p.View(r.w, r.h)
	lines := kit.Block(body, r.w, r.h)
	if cur != nil {
		cur.X, cur.Y = cur.X+r.x, cur.Y+r.y
	}
	if len(a.dialogs) > 0 {
		cur = a.overlay(lines, r)
	}
	if r.tiny {
		if a.terminal.Menu() && len(lines) > 0 {
			lines[len(lines)-1] = a.hints(a.h - 1)
		}
		return lines, cur
	}
	if r.full {
		return append(lines, a.strip1()), cur
	}
	out := []string{a.title(), a.placesLine(), a.rule()}
	out = append(out, lines...)
	return append(out, a.messageLine(), a.hints(a.h-1)), cur
}

// tooSmall is the one line of a window in which no place fits.
func (a *App) tooSmall() []string {
	text := fmt.Sprintf("fumehood needs %dx%d, this is %dx%d", minWidth, minHeight, a.w, a.h)
	return kit.Block(strings.Join(kit.Wrap(text, max(1, a.w)), "\n"), a.w, a.h)
}

func (a *App) rule() string { return a.styles.Border.Render(strings.Repeat("─", a.w)) }

// title is the repository, the session and its walls.
func (a *App) title() string {
	st := a.styles
	left := " " + st.Accent.Render("fumehood")
	s, ok := a.sessions.Current()
	policy, named := a.walls.Named()
	named = named && a.at == kit.Walls
	repo := a.opt.Repo
	if ok && a.at != kit.Start && !named && s.Repo != "" {
		repo = s.Repo
	}
	if i := strings.LastIndexByte(strings.TrimRight(repo, "/"), '/'); i >= 0 {
		repo = strings.TrimRight(repo, "/")[i+1:]
	}
	if repo != "" {
		left += "   " + kit.Safe(repo)
	}
	what := "no session"
	switch {
	case a.at == kit.Start:
		what = "new session"
	case named:
		what = "policy " + kit.Safe(policy)
	case ok:
		what = kit.Safe(s.Name)
	}
	left += " " + st.Muted.Render("›") + " " + st.Strong.Render(what)
	return kit.Ends(left, a.strip()+" ", a.w)
}

// proof is what is known of the walls that the screen is about: the session's,
// those of the policy that is tested or chosen, or those of a new session.
func (a *App) proof() kit.Proof {
	if _, named := a.walls.Named(); named && a.at == kit.Walls {
		return a.walls.Proof()
	}
	if a.at == kit.Start {
		return a.start.Proof()
	}
	s, ok := a.sessions.Current()
	if !ok {
		return a.walls.Proof()
	}
	d, have := a.sessions.Detail()
	return kit.Proof{Known: have, Standing: d.Walls, Err: d.WallsErr, Elsewhere: d.Elsewhere, Live: s.Live, Facts: d.Layers}
}

// strip is one cell for each wall. The marks never go, however narrow it is.
func (a *App) strip() string {
	st := a.styles
	p := a.proof()
	b := kit.DrawStrip(&st, kit.Strip(p), a.w < 100, a.opt.ASCII)
	if a.w < 80 {
		return b
	}
	verdict, alarm := p.Verdict(a.ctx.Clock.Now())
	style := st.Muted
	if alarm {
		style = st.Danger
	}
	return b + st.Muted.Render(" │ ") + style.Render(verdict)
}

// placesLine is the five places with what wants attention in each.
func (a *App) placesLine() string {
	st := a.styles
	s, ok := a.sessions.Current()
	gap := "   "
	if a.w < 100 {
		gap = "  "
	}
	line, x := " ", 1
	for _, id := range []kit.PlaceID{kit.Sessions, kit.Terminal, kit.Review, kit.Egress, kit.Walls} {
		text := fmt.Sprintf("%d %s", id, a.place(id).Title())
		badge, warn := a.badge(id, s, ok)
		n := kit.Width(text)
		if id == a.at || id == kit.Sessions && a.at == kit.Start {
			line += st.Focus.Render(text)
		} else {
			line += text
		}
		if badge != "" {
			n += 1 + kit.Width(badge)
			if warn {
				line += " " + st.Warn.Render(badge)
			} else {
				line += " " + st.Waiting.Render(badge)
			}
		}
		a.hits = append(a.hits, hit{x, 1, n, func() tea.Cmd { return a.open(id, "") }})
		line += gap
		x += n + len(gap)
	}
	if !ok || a.at == kit.Start {
		return kit.Cut(line, a.w)
	}
	state := sessions.Standing(s).Text()
	if s.Live {
		state += " " + kit.Age(a.ctx.Clock.Now().Sub(since(s)))
	}
	style := sessions.Standing(s).Style(&st)
	if x+kit.Width(state)+1 > a.w {
		state = sessions.Standing(s).Text()
	}
	if x+kit.Width(state)+1 > a.w {
		return kit.Cut(line, a.w)
	}
	return kit.Ends(line, style.Render(state)+" ", a.w)
}

func since(s session.Summary) time.Time {
	if s.Started.IsZero() {
		return s.Created
	}
	return s.Started
}

// badge is what wants attention in a place.
func (a *App) badge(id kit.PlaceID, s session.Summary, ok bool) (text string, warn bool) {
	if !ok {
		return "", false
	}
	switch id {
	case kit.Terminal:
		if s.State == session.StateWaiting {
			return "●", false
		}
	case kit.Review:
		open, risky := s.Undecided, 0
		if files, r, known := a.review.Open(s.ID); known {
			open, risky = files, r
		}
		if risky > 0 {
			return fmt.Sprintf("%d !%d", open, risky), true
		}
		if open > 0 {
			return fmt.Sprint(open), false
		}
	case kit.Egress:
		if n := a.egress.Unseen(s.ID, s.Refusals); n > 0 {
			return "✗" + kit.Count(n), true
		}
	case kit.Start, kit.Sessions, kit.Walls:
	}
	return "", false
}

// messageLine is the lower rule, or the message that stands.
func (a *App) messageLine() string {
	m, ok := a.toasts.Line(a.ctx.Clock.Now())
	if !ok {
		if busy := a.busy(); busy != "" {
			return a.styles.StatusBar.Render(kit.Fit(" "+kit.Safe(busy), a.w))
		}
		return a.rule()
	}
	if m.Error {
		text := " ✗ " + m.Text
		if kit.Width(text) > a.w {
			text = kit.Cut(text, a.w-18) + "  (L: all of it)"
		}
		return a.styles.Error.Render(kit.Fit(text, a.w))
	}
	return a.styles.StatusBar.Render(kit.Fit(" "+m.Text, a.w))
}

// busy is what is waited for: in the place that is shown, else in another.
func (a *App) busy() string {
	for _, p := range append([]Place{a.place(a.at)}, a.all()...) {
		if text := p.Busy(); text != "" {
			return text
		}
	}
	return ""
}

// hints is the last line: the keys that matter here and now.
func (a *App) hints(y int) string {
	p := a.place(a.at)
	var rows, tail []kit.Binding
	switch n := len(a.dialogs); {
	case n > 0:
		rows = kit.Hints(a.dialogs[n-1].Keys(), 7)
	case p.Grab():
		rows = kit.Hints(p.Keys(), 7)
	default:
		rows = kit.Hints(p.Keys(), 5)
		tail = kit.Hints(a.keys(), 2)
	}
	line, x := " ", 1
	gap := "   "
	if a.w < 100 {
		gap = "  "
	}
	put := func(b kit.Binding) {
		label, text := b.Label(), b.Help
		n := kit.Width(label) + 1 + kit.Width(text)
		line += a.styles.Key.Render(label) + " " + text
		a.hits = append(a.hits, hit{x, y, n, b.Do})
		x += n
	}
	tailWidth := 0
	for _, b := range tail {
		tailWidth += kit.Width(b.Label()) + 1 + kit.Width(b.Help) + 3
	}
	for i, b := range rows {
		need := kit.Width(b.Label()) + 1 + kit.Width(b.Help)
		if i > 0 {
			need += len(gap)
		}
		if x+need+tailWidth+1 > a.w {
			break
		}
		if i > 0 {
			line += gap
			x += len(gap)
		}
		put(b)
	}
	if len(tail) == 0 {
		return kit.Cut(line, a.w)
	}
	if pad := a.w - x - tailWidth + 2; pad > 0 {
		line += strings.Repeat(" ", pad)
		x += pad
	}
	for i, b := range tail {
		if i > 0 {
			line += "   "
			x += 3
		}
		put(b)
	}
	return kit.Cut(line, a.w)
}

// strip1 is the one line under a pane that has the whole window.
func (a *App) strip1() string {
	if a.terminal.Menu() || len(a.dialogs) > 0 {
		return a.hints(a.h - 1)
	}
	s, ok := a.sessions.Current()
	if !ok {
		return ""
	}
	if m, on := a.toasts.Line(a.ctx.Clock.Now()); on {
		return a.styles.StatusBar.Render(kit.Fit(" "+m.Text, a.w))
	}
	if busy := a.busy(); busy != "" {
		return a.styles.StatusBar.Render(kit.Fit(" "+kit.Safe(busy), a.w))
	}
	return kit.Ends(" "+a.styles.Strong.Render(kit.Safe(s.Name))+"  "+sessions.Standing(s).Text()+`   ctrl+\ menu`, a.strip()+" ", a.w)
}
