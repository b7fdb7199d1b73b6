package uitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// settleFor bounds how long the driver waits for the program to come to rest.
const settleFor = 10 * time.Second

// Clock is a clock that stands still until the test turns it.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	timer []timer
}

type timer struct {
	at time.Time
	ch chan struct{}
}

// NewClock begins at a fixed moment.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 30, 12, 41, 7, 0, time.UTC)} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After gives a Cmd that answers when the test has turned the clock by d.
func (c *Clock) After(d time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		c.mu.Lock()
		t := timer{c.now.Add(d), make(chan struct{})}
		c.timer = append(c.timer, t)
		c.mu.Unlock()
		<-t.ch
		return msg
	}
}

func (c *Clock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timer)
}

// advance turns the clock and wakes whom it was for.
func (c *Clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	keep := c.timer[:0]
	for _, t := range c.timer {
		if t.at.After(c.now) {
			keep = append(keep, t)
			continue
		}
		close(t.ch)
	}
	c.timer = keep
}

func (c *Clock) stop() { c.advance(1000 * time.Hour) }

// Driver runs a model as the program would: Cmds at once and in any order.
type Driver struct {
	t       *testing.T
	Model   tea.Model
	Clock   *Clock
	blocked func() int
	msgs    chan tea.Msg
	mu      sync.Mutex
	pending int
	Quit    bool
	w, h    int
	stopped bool
	caught  map[string]tea.Msg // the newest message by its type
}

// Drive starts a model in a window. blocked counts Cmds that wait for the test.
func Drive(t *testing.T, m tea.Model, clock *Clock, blocked func() int, w, h int) *Driver {
	t.Helper()
	d := &Driver{t: t, Model: m, Clock: clock, blocked: blocked, msgs: make(chan tea.Msg, 10_000)}
	t.Cleanup(func() { d.stopped = true; clock.stop() })
	d.start(m.Init())
	d.Resize(w, h)
	return d
}

// start runs a Cmd. What it answers goes through Update in the test's own
// goroutine.
func (d *Driver) start(c tea.Cmd) {
	if c == nil {
		return
	}
	d.mu.Lock()
	d.pending++
	d.mu.Unlock()
	go func() {
		m := c()
		d.msgs <- m
	}()
}

func (d *Driver) take(msg tea.Msg) {
	switch m := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range m {
			d.start(c)
		}
		return
	case tea.QuitMsg:
		d.Quit = true
		return
	}
	if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeOf(tea.Cmd(nil)) {
		d.t.Fatalf("got a sequence of Cmds, want a batch: the driver runs no sequence")
	}
	d.send(msg)
}

// Catch gives the newest message of a type, such as "kit.EditorMsg", that went
// through the program: what it asked of the terminal around it.
func (d *Driver) Catch(kind string) tea.Msg { return d.caught[kind] }

func (d *Driver) send(msg tea.Msg) {
	if d.caught == nil {
		d.caught = map[string]tea.Msg{}
	}
	d.caught[fmt.Sprintf("%T", msg)] = msg
	var c tea.Cmd
	d.Model, c = d.Model.Update(msg)
	d.start(c)
	d.Model.View()
}

// Settle runs until every Cmd has answered or waits for the test.
func (d *Driver) Settle() {
	d.t.Helper()
	end := time.Now().Add(settleFor)
	for {
		select {
		case m := <-d.msgs:
			d.mu.Lock()
			d.pending--
			d.mu.Unlock()
			d.take(m)
			continue
		default:
		}
		d.mu.Lock()
		p := d.pending
		d.mu.Unlock()
		if len(d.msgs) == 0 && p == d.blocked()+d.Clock.waiting() {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("the program did not come to rest: got %d Cmds under way, want %d that wait for the test", p, d.blocked()+d.Clock.waiting())
		}
		select {
		case m := <-d.msgs:
			d.mu.Lock()
			d.pending--
			d.mu.Unlock()
			d.take(m)
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// Advance turns the clock and settles.
func (d *Driver) Advance(by time.Duration) {
	d.t.Helper()
	d.Clock.advance(by)
	d.Settle()
}

// Send gives a message to the program and settles.
func (d *Driver) Send(msg tea.Msg) {
	d.t.Helper()
	d.send(msg)
	d.Settle()
}

// Resize changes the window.
func (d *Driver) Resize(w, h int) {
	d.t.Helper()
	d.w, d.h = w, h
	d.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// Turn turns the clock and takes in what is there, without waiting for rest.
func (d *Driver) Turn(by time.Duration) {
	d.Clock.advance(by)
	for {
		select {
		case m := <-d.msgs:
			d.mu.Lock()
			d.pending--
			d.mu.Unlock()
			d.take(m)
			continue
		case <-time.After(2 * time.Millisecond):
		}
		return
	}
}

// PressUnsettled types a key after which the program does not come to rest.
func (d *Driver) PressUnsettled(key string) { d.send(Key(key)) }

// Press types keys, each after the answers to the one before.
func (d *Driver) Press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.Send(Key(k))
	}
}

// PressRapidly types keys at once: no answer arrives in between.
func (d *Driver) PressRapidly(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		d.send(Key(k))
	}
	d.Settle()
}

// Click presses the left button in a cell.
func (d *Driver) Click(x, y int) {
	d.t.Helper()
	d.Send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
}

// ClickOn clicks the first cell of a text on the screen.
func (d *Driver) ClickOn(text string) {
	d.t.Helper()
	for y, l := range strings.Split(d.Screen(), "\n") {
		if i := strings.Index(l, text); i >= 0 {
			d.Click(ansi.StringWidth(l[:i]), y)
			return
		}
	}
	d.t.Fatalf("got no %q on the screen to click on:\n%s", text, d.Screen())
}

// Screen is what is drawn, without attributes and trailing blanks.
func (d *Driver) Screen() string {
	lines := strings.Split(ansi.Strip(d.Model.View().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// See wants texts on the screen.
func (d *Driver) See(texts ...string) {
	d.t.Helper()
	s := d.Screen()
	for _, w := range texts {
		if !strings.Contains(s, w) {
			d.t.Fatalf("got a screen without %q:\n%s", w, s)
		}
	}
}

// NotSee wants texts not on the screen.
func (d *Driver) NotSee(texts ...string) {
	d.t.Helper()
	s := d.Screen()
	for _, w := range texts {
		if strings.Contains(s, w) {
			d.t.Fatalf("got a screen with %q, want it without:\n%s", w, s)
		}
	}
}

// Fits wants the screen to be as large as the window, and no line wider.
func (d *Driver) Fits() {
	d.t.Helper()
	lines := strings.Split(d.Model.View().Content, "\n")
	if len(lines) > d.h {
		d.t.Fatalf("got %d lines in a window of %d:\n%s", len(lines), d.h, d.Screen())
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > d.w {
			d.t.Fatalf("got line %d of %d cells in a window of %d:\n%q", i, w, d.w, ansi.Strip(l))
		}
	}
}

// Golden compares the screen with a file; -update writes it.
func (d *Driver) Golden(path string) {
	d.t.Helper()
	d.Fits()
	got := d.Screen() + "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		d.t.Errorf("screen %s (-want +got):\n%s", path, diff)
	}
}
