package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// tables are the key tables of docs/workbench.md: a place, and what is typed
// there first.
var tables = []struct {
	name string
	at   kit.PlaceID
	id   string
	keys []string
}{
	{"sessions", kit.Sessions, "a1", nil},
	{"sessions-filter", kit.Sessions, "a1", []string{"/"}},
	{"start", kit.Start, "a1", nil},
	{"terminal", kit.Terminal, "a1", nil},
	{"terminal-menu", kit.Terminal, "a1", []string{`ctrl+\`}},
	{"terminal-scrolled", kit.Terminal, "a1", []string{`ctrl+\`, "["}},
	{"terminal-search", kit.Terminal, "a1", []string{`ctrl+\`, "[", "/"}},
	{"terminal-ended", kit.Terminal, "c3", nil},
	{"review", kit.Review, "a1", nil},
	{"review-list", kit.Review, "a1", []string{"tab"}},
	{"review-search", kit.Review, "a1", []string{"/"}},
	{"egress", kit.Egress, "c3", nil},
	{"egress-filter", kit.Egress, "c3", []string{"f"}},
	{"walls", kit.Walls, "a1", nil},
}

// keyTables renders each table as the program has it.
func keyTables(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range tables {
		d, a := opened(t)
		d.Send(openMsg{})
		a.ctx.Tell(kit.Open{Place: c.at, Session: c.id})
		d.Send(openMsg{})
		d.Press(c.keys...)
		out[c.name] = markdown(a.place(a.at).Keys())
		out["everywhere"] = markdown(a.keys())
	}
	d, a := opened(t)
	d.Press("D")
	out["question"] = markdown(a.dialogs[0].Keys())
	d.Press("esc", "?")
	d.Resize(80, 24)
	out["sheet"] = markdown(a.dialogs[0].Keys())
	return out
}

// openMsg has the App look at its intents; no place knows it.
type openMsg struct{}

func opened(t *testing.T) (*uitest.Driver, *App) {
	t.Helper()
	clock := uitest.NewClock()
	b := uitest.Sample(clock.Now())
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	a := NewApp(ctx, b, Options{Repo: "/home/ada/src/api-server", Clock: clock, NoColor: true})
	d := uitest.Drive(t, a, clock, b.Blocked, 120, 40)
	d.Settle()
	return d, a
}

func markdown(table []kit.Binding) string {
	var b strings.Builder
	b.WriteString("| key | does |\n| --- | --- |\n")
	names, rows := kit.Groups(table)
	for _, g := range names {
		for _, r := range rows[g] {
			keys := make([]string, len(r.Keys))
			for i, k := range r.Keys {
				keys[i] = "`" + k + "`"
			}
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(keys, " "), r.Help)
		}
	}
	return b.String()
}

// TestTheDocumentedKeysAreTheKeys compares docs/workbench.md with the tables
// that handle the keys; -update writes them into it.
func TestTheDocumentedKeysAreTheKeys(t *testing.T) {
	path := filepath.Join("..", "docs", "workbench.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := keyTables(t)
	used := map[string]bool{}
	parts := strings.Split(string(b), "<!-- keys: ")
	out := parts[0]
	for _, p := range parts[1:] {
		name, rest, ok := strings.Cut(p, " -->")
		_, rest, end := strings.Cut(rest, "<!-- end -->")
		if !ok || !end || want[name] == "" || used[name] {
			t.Fatalf("got a table named %q, want one of the program's, once, with its end", name)
		}
		used[name] = true
		out += "<!-- keys: " + name + " -->\n" + want[name] + "<!-- end -->" + rest
	}
	for name := range want {
		if !used[name] {
			t.Errorf("got no table of %q in %s", name, path)
		}
	}
	if flag.Lookup("update").Value.String() == "true" && !t.Failed() {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(b), "\n"), strings.Split(out, "\n")); diff != "" {
		t.Errorf("%s (-has +want; -update writes it):\n%s", path, diff)
	}
}

// A key means one thing in a place: a second row with it would never act, and
// the frame's own keys come first.
func TestNoKeyHasTwoMeanings(t *testing.T) {
	for _, c := range tables {
		d, a := opened(t)
		a.ctx.Tell(kit.Open{Place: c.at, Session: c.id})
		d.Send(openMsg{})
		d.Press(c.keys...)
		p := a.place(a.at)
		rows := p.Keys()
		if !p.Grab() {
			rows = append(rows, a.keys()...)
		}
		seen := map[string]string{}
		for _, r := range rows {
			for _, k := range r.Keys {
				if other, ok := seen[k]; ok {
					t.Errorf("%s: got %q for both %q and %q", c.name, k, other, r.Help)
				}
				seen[k] = r.Help
			}
		}
	}
}

// Nothing else may happen for a long while: without a message of its own the
// keys of a question that has just begun to listen would stay hidden.
func TestAQuestionIsDrawnAgainWhenItListens(t *testing.T) {
	d, a := opened(t)
	ask := &kit.Ask{Head: "Sure?", Clock: d.Clock, Late: true, Choices: []kit.Choice{{Key: "n", Label: "not at all"}}}
	a.ctx.Tell(kit.Show{Dialog: ask})
	drawn := &counting{App: a}
	d.Model = drawn
	d.Send(openMsg{})
	d.NotSee("not at all")
	before := drawn.messages
	d.Advance(kit.Grace + 50*time.Millisecond)
	if drawn.messages == before {
		t.Fatal("got no message when the question began to listen, want one")
	}
	d.See("not at all")
}

// counting counts the messages that the App got: each has it drawn.
type counting struct {
	*App
	messages int
}

func (c *counting) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	c.messages++
	_, cmd := c.App.Update(msg)
	return c, cmd
}

var _ tea.Model = (*App)(nil)
