package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
)

// show writes parts as a person would: one line a part.
func show(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		switch p.Kind {
		case Same:
			fmt.Fprintf(&b, "same %q\n", p.Base)
		case FromHost:
			fmt.Fprintf(&b, "host %q\n", p.Host)
		case FromAgent:
			fmt.Fprintf(&b, "agent %q\n", p.Agent)
		case FromBoth:
			fmt.Fprintf(&b, "both %q\n", p.Host)
		case Conflict:
			fmt.Fprintf(&b, "conflict %q: %q or %q\n", p.Base, p.Host, p.Agent)
		}
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, base, host, agent, want string }{
		{"nothing", "", "", "", ""},
		{"edits far apart", "a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "host \"A\\n\"\nsame \"b\\nc\\n\"\nagent \"D\\n\"\n"},
		{"one line between is enough", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "host \"A\\n\"\nsame \"b\\n\"\nagent \"C\\n\"\n"},
		{"edits that touch", "a\nb\n", "A\nb\n", "a\nB\n", "conflict \"a\\nb\\n\": \"A\\nb\\n\" or \"a\\nB\\n\"\n"},
		{"an insertion that touches", "a\nb\n", "A\nb\n", "a\nx\nb\n", "conflict \"a\\n\": \"A\\n\" or \"a\\nx\\n\"\nsame \"b\\n\"\n"},
		{"the same edit", "a\nb\n", "A\nb\n", "A\nb\n", "both \"A\\n\"\nsame \"b\\n\"\n"},
		{"the same and another", "a\nb\nc\n", "A\nb\nC\n", "A\nb\nc\n", "both \"A\\n\"\nsame \"b\\n\"\nhost \"C\\n\"\n"},
		{"deleted here, edited there", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "same \"a\\n\"\nconflict \"b\\n\": \"\" or \"B\\n\"\nsame \"c\\n\"\n"},
		{"what came out alike at the ends", "x\n", "1\nh\n2\n", "1\na\n2\n", "both \"1\\n\"\nconflict \"x\\n\": \"h\\n\" or \"a\\n\"\nboth \"2\\n\"\n"},
		{"both added the file", "", "1\nh\n", "1\na\n", "both \"1\\n\"\nconflict \"\": \"h\\n\" or \"a\\n\"\n"},
		{"a chain of edits is one region", "a\nb\nc\nd\n", "A\nB\nc\nd\n", "a\nX\nY\nd\n", "conflict \"a\\nb\\nc\\n\": \"A\\nB\\nc\\n\" or \"a\\nX\\nY\\n\"\nsame \"d\\n\"\n"},
		{"CRLF is a difference", "a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nB\nc\n", "conflict \"a\\nb\\nc\\n\": \"a\\r\\nb\\r\\nc\\r\\n\" or \"a\\nB\\nc\\n\"\n"},
		{"a newline taken from the end, a line put behind", "a\nb\n", "a\nb", "a\nb\nc\n", "same \"a\\n\"\nconflict \"b\\n\": \"b\" or \"b\\nc\\n\"\n"},
		{"no newline at the end of any", "a\nb\nc", "A\nb\nc", "a\nb\nC", "host \"A\\n\"\nsame \"b\\n\"\nagent \"C\"\n"},
		{"all lines but the first gone, and a line put behind", "a\nb\nc\n", "a", "a\nb\nc\nd\n", "conflict \"a\\nb\\nc\\n\": \"a\" or \"a\\nb\\nc\\nd\\n\"\n"},
	} {
		parts := Lines("f", []byte(c.base), []byte(c.host), []byte(c.agent))
		if diff := cmp.Diff(c.want, show(parts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		whole(t, parts, c.base, c.host, c.agent)
	}
}

// whole fails unless the parts hold every line of each text once, in order, with
// its number.
func whole(t *testing.T, parts []Part, base, host, agent string) {
	t.Helper()
	var got [3]bytes.Buffer
	var line [3]int
	for _, p := range parts {
		for i, s := range []struct {
			text []byte
			at   int
		}{{p.Base, p.BaseLine}, {p.Host, p.HostLine}, {p.Agent, p.AgentLine}} {
			if s.at != line[i]+1 {
				t.Fatalf("side %d of %q: got line %d, want %d", i, s.text, s.at, line[i]+1)
			}
			got[i].Write(s.text)
			line[i] += len(linediff.Split(s.text))
		}
		if p.Kind == Same && (!bytes.Equal(p.Base, p.Host) || !bytes.Equal(p.Base, p.Agent)) {
			t.Fatalf("called the same: %q, %q, %q", p.Base, p.Host, p.Agent)
		}
		if (p.Kind == Conflict) != (p.ID != "") {
			t.Fatalf("kind %d has ID %q", p.Kind, p.ID)
		}
	}
	if diff := cmp.Diff([]string{base, host, agent}, []string{got[0].String(), got[1].String(), got[2].String()}); diff != "" {
		t.Fatalf("the parts are not the texts (-want +got):\n%s", diff)
	}
}

func merged(t *testing.T, base, host, agent string) (string, bool) {
	t.Helper()
	parts := Lines("f", []byte(base), []byte(host), []byte(agent))
	whole(t, parts, base, host, agent)
	b, err := Text(parts)
	if err != nil && !errors.Is(err, ErrOpen) {
		t.Fatal(err)
	}
	return string(b), err == nil
}

// text is a random text of few words, so that lines repeat; some have no newline
// at their end, some CRLF.
func text3(r *rand.Rand) (base, host, agent string) {
	words := []int{3, 12, 1000}[r.IntN(3)]
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	lines := make([]string, r.IntN(20))
	for i := range lines {
		lines[i] = fmt.Sprint(r.IntN(words)) + end
	}
	edit := func() string {
		out := append([]string(nil), lines...)
		for range r.IntN(4) {
			at := r.IntN(len(out) + 1)
			fresh := fmt.Sprint(r.IntN(words)) + []string{"\n", end}[r.IntN(2)]
			switch k := r.IntN(3); {
			case k == 0 || at == len(out):
				out = append(out[:at:at], append([]string{fresh}, out[at:]...)...)
			case k == 1:
				out = append(out[:at:at], out[at+1:]...)
			default:
				out[at] = fresh
			}
		}
		s := strings.Join(out, "")
		if r.IntN(4) == 0 {
			s = strings.TrimRight(s, "\r\n")
		}
		return s
	}
	base = strings.Join(lines, "")
	if r.IntN(4) == 0 {
		base = strings.TrimRight(base, "\r\n")
	}
	return base, edit(), edit()
}

func TestMergeOfOneChangedSideIsThatSide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		base, x, _ := text3(r)
		for _, c := range []struct{ name, base, host, agent, want string }{
			{"host is base", base, base, x, x}, {"agent is base", base, x, base, x}, {"both alike", base, x, x, x},
		} {
			if got, ok := merged(t, c.base, c.host, c.agent); !ok || got != c.want {
				t.Fatalf("%s: base %q, other %q: got %q, %v", c.name, base, x, got, ok)
			}
		}
	}
}

func TestMergeIsTheSameFromEitherSide(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	mirror := map[Kind]Kind{Same: Same, FromHost: FromAgent, FromAgent: FromHost, FromBoth: FromBoth, Conflict: Conflict}
	conflicts := 0
	for range 3000 {
		base, host, agent := text3(r)
		a, b := Lines("f", []byte(base), []byte(host), []byte(agent)), Lines("f", []byte(base), []byte(agent), []byte(host))
		for i := range b {
			b[i].Kind, b[i].Host, b[i].Agent = mirror[b[i].Kind], b[i].Agent, b[i].Host
			if b[i].Kind == Conflict {
				conflicts++
			}
		}
		if x, y := show(a), show(b); x != y {
			t.Fatalf("base %q host %q agent %q: got\n%s, and from the other side\n%s", base, host, agent, x, y)
		}
	}
	if conflicts < 500 {
		t.Errorf("only %d conflicts were met", conflicts)
	}
}

// TestMergeOfEditsApart compares with an account of its own: the edits, at places
// that have a line between them, made directly.
func TestMergeOfEditsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		n := 5 + r.IntN(60)
		var base, host, agent, want strings.Builder
		for i := 0; i < n; i++ {
			line := fmt.Sprintf("line %d\n", i)
			sides := []*strings.Builder{&host, &agent}
			s := r.IntN(2)
			mine, other := sides[s], sides[1-s]
			var fresh string
			switch k := r.IntN(8); {
			case k == 0: // replaced
				fresh = fmt.Sprintf("new %d of %d\n", i, s)
			case k == 1: // gone
			case k == 2: // more
				fresh = fmt.Sprintf("%sand %d\nand %d\n", line, r.IntN(1000), r.IntN(1000))
			default:
				for _, b := range []*strings.Builder{&base, &host, &agent, &want} {
					b.WriteString(line)
				}
				continue
			}
			base.WriteString(line)
			other.WriteString(line)
			mine.WriteString(fresh)
			want.WriteString(fresh)
			for _, b := range []*strings.Builder{&base, &host, &agent, &want} { // the line between
				fmt.Fprintf(b, "between %d\n", i)
			}
		}
		got, ok := merged(t, base.String(), host.String(), agent.String())
		if !ok || got != want.String() {
			t.Fatalf("base %q host %q agent %q: ok %v (-want +got):\n%s", base.String(), host.String(), agent.String(), ok, cmp.Diff(want.String(), got))
		}
	}
}

// TestMergeInventsNothing: a merge without conflict consists of whole lines of
// the two sides.
func TestMergeInventsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	clean := 0
	for range 4000 {
		base, host, agent := text3(r)
		got, ok := merged(t, base, host, agent)
		if !ok {
			continue
		}
		clean++
		have := map[string]bool{}
		for _, s := range []string{host, agent} {
			for _, l := range linediff.Split([]byte(s)) {
				have[string(l)] = true
			}
		}
		for _, l := range linediff.Split([]byte(got)) {
			if !have[string(l)] {
				t.Fatalf("base %q host %q agent %q: got line %q, which neither side has", base, host, agent, l)
			}
		}
	}
	if clean < 500 {
		t.Errorf("only %d merges were clean", clean)
	}
}

// TestMergeIsGits compares with git where it finds no conflict, on texts whose
// lines are all different: where they repeat, two comparisons may both be right.
func TestMergeIsGits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, wanted one to compare with")
	}
	r := rand.New(rand.NewPCG(5, 1))
	dir := t.TempDir()
	clean, conflicts := 0, 0
	for i := range 250 {
		n := 3 + r.IntN(30)
		lines := make([]string, n)
		for k := range lines {
			lines[k] = fmt.Sprintf("line %d of %d\n", k, i)
		}
		if r.IntN(3) == 0 {
			lines[n-1] = strings.TrimSuffix(lines[n-1], "\n")
		}
		edit := func() string {
			out := append([]string(nil), lines...)
			for range 1 + r.IntN(3) {
				k := r.IntN(n)
				out[k] = []string{"", fmt.Sprintf("new %d\n", r.IntN(3)), fmt.Sprintf("more %d\n", r.IntN(3)) + out[k]}[r.IntN(3)]
			}
			return strings.Join(out, "")
		}
		base, host, agent := strings.Join(lines, ""), edit(), edit()
		for name, s := range map[string]string{"base": base, "host": host, "agent": agent} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "merge-file", "-p", "-q", "host", "base", "agent")
		cmd.Dir = dir
		want, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 127) {
			t.Fatal(err)
		}
		got, ok := merged(t, base, host, agent)
		if ok != (err == nil) {
			t.Errorf("base %q host %q agent %q: clean %v, git says %v", base, host, agent, ok, err == nil)
			continue
		}
		if !ok {
			conflicts++
			continue
		}
		clean++
		if got != string(want) {
			t.Errorf("base %q host %q agent %q: got %q, git has %q", base, host, agent, got, want)
		}
	}
	if clean < 50 || conflicts < 30 {
		t.Errorf("%d clean, %d in conflict: too few of one kind", clean, conflicts)
	}
}

func TestResolveAndText(t *testing.T) {
	base, host, agent := "a\nb\nc\nd\ne", "a\nh\nc\nd\nH", "a\nx\nc\nd\nX\n"
	parts := Lines("f", []byte(base), []byte(host), []byte(agent))
	var ids []string
	for _, p := range parts {
		if p.Kind == Conflict {
			ids = append(ids, p.ID)
		}
	}
	if len(ids) != 2 {
		t.Fatalf("got %d conflicts, want 2:\n%s", len(ids), show(parts))
	}
	content := func(b diffreview.Blob) ([]byte, error) {
		if b == "mine" {
			return []byte("mine"), nil
		}
		return nil, errors.New("no such text")
	}
	for _, c := range []struct {
		name string
		take [2]diffreview.Resolution
		open int
		want string
	}{
		{"nothing", [2]diffreview.Resolution{}, 2, ""},
		{"one", [2]diffreview.Resolution{{Take: diffreview.TakeHost}}, 1, ""},
		{"leave is of files", [2]diffreview.Resolution{{Take: diffreview.TakeLeave}, {Take: diffreview.TakeHost}}, 1, ""},
		{"host, agent", [2]diffreview.Resolution{{Take: diffreview.TakeHost}, {Take: diffreview.TakeAgent}}, 0, "a\nh\nc\nd\nX\n"},
		{"both, both: no two lines become one", [2]diffreview.Resolution{{Take: diffreview.TakeBoth}, {Take: diffreview.TakeBoth}}, 0, "a\nh\nx\nc\nd\nH\nX\n"},
		{"an edit without newline in the middle", [2]diffreview.Resolution{{Take: diffreview.TakeEdit, Edit: "mine"}, {Take: diffreview.TakeHost}}, 0, "a\nmine\nc\nd\nH"},
		{"an edit at the end", [2]diffreview.Resolution{{Take: diffreview.TakeHost}, {Take: diffreview.TakeEdit, Edit: "mine"}}, 0, "a\nh\nc\nd\nmine"},
	} {
		open, err := Resolve(parts, map[string]diffreview.Resolution{ids[0]: c.take[0], ids[1]: c.take[1]}, content)
		if err != nil || open != c.open {
			t.Fatalf("%s: got %d open, %v, want %d", c.name, open, err, c.open)
		}
		got, err := Text(parts)
		if (err != nil) != (c.open > 0) || string(got) != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if _, err := Resolve(parts, map[string]diffreview.Resolution{ids[0]: {Take: diffreview.TakeEdit, Edit: "lost"}}, content); err == nil {
		t.Error("got no error for a text that is lost")
	}
}

func TestNewlinePutInBetweenIsTheTextsOwn(t *testing.T) {
	parts := Lines("f", []byte("a\r\nb"), []byte("a\r\nh"), []byte("a\r\nx"))
	for i := range parts {
		parts[i].Take = diffreview.TakeBoth
	}
	if got, err := Text(parts); err != nil || string(got) != "a\r\nh\r\nx" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestConflictsAreNamedByPathAndTexts(t *testing.T) {
	ids := func(path, base, host, agent string) (out []string) {
		for _, p := range Lines(path, []byte(base), []byte(host), []byte(agent)) {
			if p.Kind == Conflict {
				out = append(out, p.ID)
			}
		}
		return out
	}
	twice := ids("f", "a\nm\nn\na\n", "b\nm\nn\nb\n", "c\nm\nn\nc\n")
	if len(twice) != 2 || twice[0] == twice[1] || len(twice[0]) != nameLen {
		t.Fatalf("got %v, want two names", twice)
	}
	if got := ids("f", "z\ny\na\nm\n", "z\ny\nb\nm\n", "z\ny\nc\nm\n"); got[0] != twice[0] {
		t.Error("a conflict got another name by moving")
	}
	for name, got := range map[string][]string{
		"path": ids("g", "a\n", "b\n", "c\n"), "base": ids("f", "A\n", "b\n", "c\n"),
		"host": ids("f", "a\n", "B\n", "c\n"), "agent": ids("f", "a\n", "b\n", "C\n"),
	} {
		if got[0] == twice[0] {
			t.Errorf("another %s, the same name", name)
		}
	}
	if ID("f", "a", "b") == ID("f", "ab", "") || ID("f", "a", "b") == ID("g", "a", "b") {
		t.Error("two merges of one name")
	}
}

func TestUnfit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\n", ""}, {"a\x00", "binary"}, {strings.Repeat("\n", linediff.MaxLines+1), "too large to compare by lines"},
	} {
		if got := Unfit([]byte("a"), nil, []byte(c.text)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestMergeIsBounded: the order of magnitude counts, the machine may be busy.
func TestMergeIsBounded(t *testing.T) {
	const n = linediff.MaxLines / 2
	r := rand.New(rand.NewPCG(6, 1))
	noise := func() []byte {
		var b bytes.Buffer
		for range n {
			fmt.Fprintf(&b, "%d\n", r.IntN(2))
		}
		return b.Bytes()
	}
	for name, c := range map[string][3][]byte{
		"unrelated":     {noise(), noise(), noise()},
		"a line":        {bytes.Repeat([]byte("a\n"), n), bytes.Repeat([]byte("a\n"), n/2), bytes.Repeat([]byte("a\n"), n-7)},
		"five megabyte": {bytes.Repeat([]byte("x"), 5<<20), bytes.Repeat([]byte("y"), 5<<20), bytes.Repeat([]byte("z"), 5<<20)},
		"every other": {
			bytes.Repeat([]byte("a\nb\n"), n/2), bytes.Repeat([]byte("A\nb\n"), n/2), bytes.Repeat([]byte("a\nB\n"), n/2),
		},
	} {
		begin := time.Now()
		parts := Lines("f", c[0], c[1], c[2])
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: %v, want under 30 s", name, took)
		}
		whole(t, parts, string(c[0]), string(c[1]), string(c[2]))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\nc"), []byte("a\nc\n"), []byte("A\nb\r\n"))
	f.Add([]byte("a\n"), []byte("a"), []byte("a\nb"))
	f.Fuzz(func(t *testing.T, base, host, agent []byte) {
		if Unfit(base, host, agent) != "" {
			return
		}
		parts := Lines("f", base, host, agent)
		whole(t, parts, string(base), string(host), string(agent))
		if _, err := Text(parts); err == nil {
			return
		}
		for i := range parts {
			if parts[i].Kind == Conflict {
				parts[i].Take = diffreview.TakeBoth
			}
		}
		got, err := Text(parts)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, s := range [][]byte{host, agent} {
			for _, l := range linediff.Split(s) {
				have[strings.TrimRight(string(l), "\r\n")] = true
			}
		}
		for _, l := range linediff.Split(got) {
			if !have[strings.TrimRight(string(l), "\r\n")] {
				t.Fatalf("line %q is of neither side", l)
			}
		}
	})
}

func BenchmarkLines(b *testing.B) {
	var base, host, agent bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&base, "line %d\n", i)
		fmt.Fprintf(&host, "line %d%s\n", i, map[bool]string{true: "h"}[i%500 == 0])
		fmt.Fprintf(&agent, "line %d%s\n", i, map[bool]string{true: "a"}[i%500 == 250])
	}
	b.ReportAllocs()
	for b.Loop() {
		Lines("f", base.Bytes(), host.Bytes(), agent.Bytes())
	}
}
