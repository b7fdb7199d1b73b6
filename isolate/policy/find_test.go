package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// config makes a configuration folder with files under fumehood/.
func config(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		file := filepath.Join(dir, "fumehood", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindGivesWhatIsMeant(t *testing.T) {
	dir := config(t, map[string]string{
		"policy.toml":           "tool = \"own\"\n",
		"policies/quick.toml":   "tool = \"quick\"\n",
		"policies/not-me.txt":   "",
		"policies/.hidden.toml": "tool = \"hidden\"\n",
	})
	file := filepath.Join(dir, "fumehood/policies/quick.toml")
	t.Chdir(filepath.Dir(file))
	tests := []struct{ name, arg, dir, tool string }{
		{"own file", "", dir, "own"},
		{"nothing at all", "", t.TempDir(), "agent at work on a copy of a repository"},
		{"no folder", "", "", "agent at work on a copy of a repository"},
		{"built-in, own file or not", "default", dir, "agent at work on a copy of a repository"},
		{"named", "quick", dir, "quick"},
		{"file", file, "", "quick"},
		{"file here", "quick.toml", "", "quick"},
		{"file below", "./quick.toml", "", "quick"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, raw, err := Find(tt.arg, tt.dir)
			if err != nil {
				t.Fatal(err)
			}
			if p.Tool != tt.tool || !strings.Contains(string(raw), tt.tool) {
				t.Errorf("got %q from %q, want %q", p.Tool, raw, tt.tool)
			}
		})
	}
	if diff := cmp.Diff(append(BuiltinNames(), "quick"), Names(dir)); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}

// TestFindRefuses: whatever is wrong with the policy that was asked for, the
// answer is never another policy.
func TestFindRefuses(t *testing.T) {
	big := "# " + strings.Repeat("x", maxFile) + "\n"
	dir := config(t, map[string]string{
		"policies/empty.toml": "", "policies/wrong.toml": "tol = 1\n", "policies/default.toml": "tool = \"x\"\n", "policies/big.toml": big,
	})
	ownEmpty := config(t, map[string]string{"policy.toml": ""})
	dangling := config(t, map[string]string{"x": ""})
	if err := os.Symlink("nowhere", filepath.Join(dangling, "fumehood/policy.toml")); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fumehood", "fifo.toml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, arg, dir, want string }{
		{"missing file", "nope.toml", dir, "no such file"},
		{"missing file in a folder", "./nope", dir, "no such file"},
		{"unknown name", "nope", dir, "no such policy"},
		{"empty file", "empty", dir, "empty"},
		{"wrong file", "wrong", dir, "unknown key"},
		{"large file", "big", dir, "over the limit"},
		{"a built-in's name twice", "default", dir, "the built-in policy"},
		{"own file is empty", "", ownEmpty, "empty"},
		{"own file leads nowhere", "", dangling, "no such file"},
		{"a folder", dir, "", "not a regular file"},
		{"a pipe", fifo, "", "not a regular file"},
		{"a name that leads elsewhere", "..", dir, "not a name"},
		{"a name that acts on a terminal", "a\x1b[2J", dir, "not a name"},
		{"a flag", "-x", dir, "not a name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := Find(tt.arg, tt.dir)
			var e *Error
			if p != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, %v, want an error: %s", p, err, tt.want)
			}
		})
	}
}

func TestFindRefusesAnUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("got root, want an ordinary user: root reads every file")
	}
	dir := config(t, map[string]string{"policy.toml": "tool = \"x\"\n"})
	file := filepath.Join(dir, "fumehood", "policy.toml")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if p, _, err := Find("", dir); p != nil || err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, %v, want permission denied", p, err)
	}
	if err := os.Chmod(filepath.Dir(file), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(file), 0o700) })
	if p, _, err := Find("", dir); p != nil || err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("folder that can't be searched: got %v, %v, want permission denied", p, err)
	}
}

func TestPickTakesTheNearest(t *testing.T) {
	own := config(t, map[string]string{"policy.toml": "tool = \"own\"\n", "policies/quick.toml": "tool = \"quick\"\n"})
	broken := config(t, map[string]string{"policy.toml": "tol = 1\n"})
	named := config(t, map[string]string{"policies/quick.toml": "tool = \"quick\"\n"})
	usual, _ := Builtin(DefaultName)
	tests := []struct{ name, asked, agents, dir, tool, fault string }{
		{"asked for, whatever else there is", "quick", "default", own, "quick", ""},
		{"the user's own before the agent's", "", "default", own, "own", ""},
		{"the agent's when there is no own", "", "quick", named, "quick", ""},
		{"the agent's without a folder", "", "default", "", usual.Tool, ""},
		{"nothing at all", "", "", "", usual.Tool, ""},
		{"the own one is broken", "", "default", broken, "", "unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Pick(tt.asked, tt.agents, tt.dir)
			switch {
			case tt.fault != "" && (p != nil || err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("got %v, %v, want an error: %s", p, err, tt.fault)
			case tt.fault == "" && (err != nil || p.Tool != tt.tool):
				t.Errorf("got %v, %v, want %q", p, err, tt.tool)
			}
		})
	}
}

func TestLoadChecksAndSaysWhere(t *testing.T) {
	dir := config(t, map[string]string{"policy.toml": "tool = \"x\"\n[limits]\nprocesses = 2\n"})
	_, err := Load("", dir)
	var e *Error
	if !errors.As(err, &e) || e.Line != 3 || e.Col != 1 || e.Key != "limits.processes" {
		t.Errorf("got %v, want a fault of limits.processes at 3:1", err)
	}
}
