package policy

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// first parses and gives the first fault.
func first(t *testing.T, src string) *Error {
	t.Helper()
	p, err := Parse("p.toml", []byte(src))
	if err == nil {
		t.Fatalf("Parse(%q) = %+v, want an error", src, p)
	}
	if p != nil {
		t.Errorf("Parse(%q) gave a policy beside the error", src)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%q): %T %v, want an *Error within", src, err, err)
	}
	return e
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name      string
		src       string
		line, col int
		key       string
		msg, hint string // parts
	}{
		{"empty file", "", 0, 0, "", "empty", "policy init"},
		{"comments only", "# limits\n\n# cpus = 2\n", 0, 0, "", "empty", "policy init"},
		{"table alone is no key but is not empty", "[limit]\n", 1, 2, "limit", "unknown table", "[limits]"},
		{"key at the top, missing s", "allowed_host = [\"x\"]\n", 1, 1, "allowed_host", "unknown key", "[[network.allow]]"},
		{"mistyped key", "[limits]\nmemroy = \"1GiB\"\n", 2, 1, "limits.memroy", "unknown key", `"memory" in [limits]`},
		{"swapped letters", "[limits]\n\n  sesison_time = \"1h\"\n", 3, 3, "limits.sesison_time", "unknown key", `"session_time"`},
		{"key in the wrong table", "[filesystem]\nrun_time = \"1h\"\n", 2, 1, "filesystem.run_time", "unknown key", "belongs in [limits]"},
		{"key of a table at the top", "clipboard = \"deny\"\n", 1, 1, "clipboard", "unknown key", "belongs in [terminal]"},
		{"top key in a table", "[limits]\nowner = \"x\"\n", 2, 1, "limits.owner", "unknown key", "at the top"},
		{"dotted key", "limits.memmory = \"1GiB\"\n", 1, 8, "limits.memmory", "unknown key", `"memory"`},
		{"inline table", "limits = { cpus = 0, memry = 3 }\n", 1, 22, "limits.memry", "unknown key", `"memory"`},
		{"table given a value", "limits = 3\n", 1, 1, "limits", "is a table", "[limits]"},
		{"key given a table", "[tool]\nx = 1\n", 1, 2, "tool", "unknown table", "at the top"},
		{"number for text", "tool = 3\n", 1, 1, "tool", "wants text in quotes, not the number 3", ""},
		{"text for a flag", "[boundary]\ndebuggers = \"false\"\n", 2, 1, "boundary.debuggers", "true or false", ""},
		{"text for a list", "[boundary]\nrequire = \"seccomp\"\n", 2, 1, "boundary.require", "a list of texts", ""},
		{"number in a list", "[filesystem]\nexclude = [\"a\", 1]\n", 2, 1, "filesystem.exclude", "in the list", ""},
		{"fraction", "[limits]\nprocesses = 1.5\n", 2, 1, "limits.processes", "fraction", ""},
		{"negative", "[limits]\nprocesses = -1\n", 2, 1, "limits.processes", "below 0", ""},
		{"too many", "[limits]\nprocesses = 99999999999\n", 2, 1, "limits.processes", "over the limit", ""},
		{"size without unit in text", "[limits]\nmemory = \"4\"\n", 2, 1, "limits.memory", `bad size "4"`, "4GiB"},
		{"size with a wrong unit", "[limits]\nmemory = \"4G\"\n", 2, 1, "limits.memory", `bad size "4G"`, "4GiB"},
		{"size with a fraction", "[limits]\nmemory = \"1.5GiB\"\n", 2, 1, "limits.memory", "bad size", "whole number"},
		{"size that overflows", "[limits]\nmemory = \"9999999999TiB\"\n", 2, 1, "limits.memory", "over", ""},
		{"size below 0", "[limits]\nmemory = \"-1GiB\"\n", 2, 1, "limits.memory", "bad size", ""},
		{"half of something else", "[limits]\noutput_bytes = \"half\"\n", 2, 1, "limits.output_bytes", "bad size", ""},
		{"duration without unit", "[limits]\nrun_time = 10\n", 2, 1, "limits.run_time", "has no unit", "10m"},
		{"duration with a wrong unit", "[limits]\nrun_time = \"10min\"\n", 2, 1, "limits.run_time", "bad duration", "10m"},
		{"duration out of order", "[limits]\nrun_time = \"10m1h\"\n", 2, 1, "limits.run_time", "bad duration", ""},
		{"duration twice", "[limits]\nrun_time = \"1h1h\"\n", 2, 1, "limits.run_time", "bad duration", ""},
		{"empty duration", "[limits]\nrun_time = \"\"\n", 2, 1, "limits.run_time", "bad duration", ""},
		{"duration that overflows", "[limits]\nrun_time = \"99999999999999999d\"\n", 2, 1, "limits.run_time", "over", ""},
		{"unknown word", "[filesystem]\nhistory = \"heads\"\n", 2, 1, "filesystem.history", `unknown word "heads"`, `"head", "all", "none"`},
		{"unknown word of a choice", "[filesystem]\ntoolchains = \"all\"\n", 2, 1, "filesystem.toolchains", "unknown word", `"auto", "none"`},
		{"date in quotes", "reviewed = \"2026-11-30\"\n", 1, 1, "reviewed", "wants a date", "without quotes"},
		{"date and time", "reviewed = 2026-11-30T10:00:00Z\n", 1, 1, "reviewed", "wants a date", ""},
		{"impossible date", "reviewed = 2026-02-31\n", 1, 20, "", "not TOML", ""},
		{"single brackets", "[network.allow]\ndestination = \"a.test:443\"\n", 1, 10, "network.allow", "list of tables", "[[network.allow]]"},
		{"unknown network key", "[network]\nalow = []\n", 2, 1, "network.alow", "unknown key", "allow"},
		{"unknown key of an entry", "[[network.allow]]\ndestination = \"a.test:443\"\n[[network.allow]]\noperation = [\"GET /\"]\n", 4, 1, "network.allow[1].operation", "unknown key", `"operations"`},
		{"unknown key of a credential", "[[credentials]]\nsorce = \"env:A\"\n", 2, 1, "credentials[0].sorce", "unknown key", `"source" in [[credentials]]`},
		{"control character", "tool = \"a\\u001b[2Jb\"\n", 1, 1, "tool", "U+001B cannot be shown", ""},
		{"bidi character", "tool = \"a\\u202eb\"\n", 1, 1, "tool", "U+202E cannot be shown", ""},
		{"key that acts on a terminal", "\"\\u001b[2J\" = 1\n", 1, 1, `"\x1b[2J"`, "unknown key", ""},
		{"same key twice", "[limits]\ncpus = 0\ncpus = 0\n", 3, 1, "", "not TOML", ""},
		{"no TOML at all", "limits {\n", 1, 8, "", "not TOML", ""},
		{"not UTF-8", "tool = \"a\xff\"\n", 1, 10, "", "not UTF-8", ""},
		{"byte order mark", "\ufefftool = \"a\"\n", 1, 1, "", "byte order mark", ""},
		{"nested brackets", "tool = " + strings.Repeat("[", 10000) + "\n", 1, 24, "", "nested deeper", ""},
		{"long file", "tool = \"" + strings.Repeat("a", 70000) + "\"\n", 0, 0, "", "over the limit of 64KiB", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := first(t, tt.src)
			if e.File != "p.toml" || e.Line != tt.line || e.Col != tt.col {
				t.Errorf("got place %s:%d:%d, want p.toml:%d:%d (%v)", e.File, e.Line, e.Col, tt.line, tt.col, e)
			}
			if tt.key != "" && e.Key != tt.key {
				t.Errorf("got key %q, want %q", e.Key, tt.key)
			}
			if !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("got message %q, want %q in it", e.Msg, tt.msg)
			}
			if !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("got hint %q, want %q in it", e.Hint, tt.hint)
			}
			for _, r := range e.Error() + e.Hint {
				if r < ' ' && r != '\n' {
					t.Errorf("the error holds the control character %q: %q", r, e.Error())
				}
			}
		})
	}
}

func TestParseGivesEveryFaultInOrder(t *testing.T) {
	_, err := Parse("p.toml", []byte("[limits]\nzz = 1\ncpu = 1\n[boundary]\nproven = 1\n"))
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %T %v, want Errors", err, err)
	}
	want := "p.toml:2:1: limits.zz: unknown key\n" +
		"p.toml:3:1: limits.cpu: unknown key\n" +
		"p.toml:5:1: boundary.proven: wants text in quotes, not the number 1"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestParseTakesDefaultsForWhatIsLeftOut(t *testing.T) {
	want, ok := Builtin(DefaultName)
	if !ok {
		t.Fatal("there is no built-in default")
	}
	want.Name, want.Tool = "p.toml", "x"
	want.Limits.RunTime = 90 * time.Minute
	want.Filesystem.Exclude = []string{"*.pem"}
	got, err := Parse("p.toml", []byte("tool = \"x\"\nlimits.run_time = \"1h30m\"\n[filesystem]\nexclude = [\"*.pem\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

func TestBuiltinDefaultIsWhatItPromises(t *testing.T) {
	p, _ := Builtin(DefaultName)
	if len(p.Network.Allow) != 0 || len(p.Credentials) != 0 {
		t.Errorf("got network %v, credentials %v, want none", p.Network, p.Credentials)
	}
	l := p.Limits
	if l.RunTime != 0 || l.SessionTime != 8*time.Hour || p.Lifecycle.Idle != 0 {
		t.Errorf("got run %v, session %v, idle %v, want never, 8h, never", l.RunTime, l.SessionTime, p.Lifecycle.Idle)
	}
	if want := max(runtime.NumCPU()-1, 1); l.CPUs != want || l.Disk != 0 {
		t.Errorf("got cpus %d, disk %v, want %d (all but one) and none", l.CPUs, l.Disk, want)
	}
	if l.Memory < 16<<20 || l.Memory%(1<<20) != 0 || l.Processes == 0 {
		t.Errorf("got memory %v, processes %d, want both bounded", l.Memory, l.Processes)
	}
}

func TestHalfOfMemoryIsAbsoluteAndNeverNone(t *testing.T) {
	src := []byte("[limits]\nmemory = \"half\"\n")
	for _, tt := range []struct{ ram, want Bytes }{{8 << 30, 4 << 30}, {4194300 << 10, 2047 << 20}} {
		p, err := parseOnto(defaults(host{RAM: tt.ram}), "p", src, host{RAM: tt.ram})
		if err != nil || p.Limits.Memory != tt.want {
			t.Errorf("half of %v = %v, %v, want %v", tt.ram, p.Limits.Memory, err, tt.want)
		}
	}
	if _, err := parseOnto(new(Policy), "p", src, host{}); err == nil {
		t.Error("half of an unknown RAM was accepted")
	}
}

func TestAllButOneIsANumberAndNeverNone(t *testing.T) {
	src := []byte("[limits]\ncpus = \"all but one\"\n")
	for cpus, want := range map[int]int{0: 1, 1: 1, 2: 1, 8: 7} {
		p, err := parseOnto(new(Policy), "p", src, host{CPUs: cpus})
		if err != nil || p.Limits.CPUs != want {
			t.Errorf("all but one of %d = %d, %v, want %d", cpus, p.Limits.CPUs, err, want)
		}
	}
	for _, bad := range []string{`cpus = "half"`, `cpus = "2"`, `processes = "all but one"`} {
		if _, err := parseOnto(new(Policy), "p", []byte("[limits]\n"+bad+"\n"), host{CPUs: 4}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestEveryBuiltinParsesAndChecks(t *testing.T) {
	if len(BuiltinNames()) == 0 {
		t.Fatal("no built-in policy")
	}
	for _, name := range BuiltinNames() {
		p, ok := Builtin(name)
		if !ok || p.Name != name {
			t.Errorf("Builtin(%q) = %v, %v", name, p, ok)
			continue
		}
		if faults := Check(p); len(faults) != 0 {
			t.Errorf("Check(%s) = %v, want none", name, faults)
		}
	}
	if _, ok := Builtin("no-such"); ok {
		t.Error("a built-in that is not there was found")
	}
}

// TestParseEndsSoonOnHostileFiles: each is at the limit of the size and made of
// what costs most to read.
func TestParseEndsSoonOnHostileFiles(t *testing.T) {
	fill := func(part func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxFile-maxText*2; i++ {
			b.WriteString(part(i))
		}
		return b.String()
	}
	for name, src := range map[string]string{
		"keys":        fill(func(i int) string { return fmt.Sprintf("k%d=1\n", i) }),
		"tables":      fill(func(i int) string { return fmt.Sprintf("[t%d]\n", i) }),
		"dotted keys": fill(func(i int) string { return fmt.Sprintf("k%d%s=1\n", i, strings.Repeat(".a", 500)) }),
		"entries":     fill(func(int) string { return "[[network.allow]]\n" }),
		"list":        "[filesystem]\nexclude=[" + fill(func(int) string { return `"",` }) + "]",
		"inline":      "[filesystem]\nexclude=[" + fill(func(int) string { return "{a=1}," }) + "]",
		"long key":    strings.Repeat("k", maxFile-10) + "=1",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("p", []byte(src))
			var all Errors
			if err == nil || errors.As(err, &all) && len(all) > maxFaults+1 {
				t.Errorf("got %d faults (%T), want some, at most %d", len(all), err, maxFaults+1)
			}
			if len(err.Error()) > 64<<10 {
				t.Errorf("got an error of %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v, want far less than a person waits", took)
			} else {
				t.Log(took)
			}
		})
	}
}
