package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func TestEachBuiltinProfileIsReadAndIsWhole(t *testing.T) {
	entries, err := builtins.ReadDir("profiles")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, name := range Builtin() {
		listed[name] = true
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".toml")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if !listed[name] {
				t.Errorf("got no place for %s among those offered, want one", name)
			}
			p, err := Find(name, "")
			if err != nil {
				t.Fatal(err)
			}
			if p.Program() != "" && (p.Install == "" || !p.TakesPrompt() || len(p.Policies) == 0) {
				t.Errorf("got %+v, want to know how it is installed, asked and let out", p)
			}
		})
	}
}

func TestTheCommandLine(t *testing.T) {
	claude, err := Find("claude", "")
	if err != nil {
		t.Fatal(err)
	}
	shell, err := Find("shell", "")
	if err != nil {
		t.Fatal(err)
	}
	demo, err := Find("demo", "")
	if err != nil {
		t.Fatal(err)
	}
	const skip = "--dangerously-skip-permissions"
	for _, tt := range []struct {
		name    string
		profile Profile
		prompt  string
		tty     bool
		want    []string
		fault   string
	}{
		{"a prompt is printed", claude, "say hi", false, []string{"claude", skip, "-p", "--", "say hi"}, ""},
		{"at a terminal it goes on from there", claude, "say hi", true, []string{"claude", skip, "--", "say hi"}, ""},
		{"none at a terminal", claude, "", true, []string{"claude", skip}, ""},
		{"none without a terminal", claude, "", false, nil, "needs a prompt"},
		{"one that begins as a flag does", claude, "--help me", false, []string{"claude", skip, "-p", "--", "--help me"}, ""},
		{"one that names a template's word", claude, "{prompt} {home}", false, []string{"claude", skip, "-p", "--", "{prompt} {home}"}, ""},
		{"a shell takes none", shell, "true", false, nil, "give --agent or a command, not both"},
		{"a shell", shell, "", false, []string{"/bin/bash", "-i"}, ""},
		{"below the session's home", demo, "", false, []string{"/bin/sh", "/h/.demo-agent"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.profile.Argv(tt.prompt, tt.tty, "/h")
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Fatalf("got error %v, want %q", err, tt.fault)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A path may hold anything; what is written must still be read as it was meant.
func TestASeedKeepsItsFormWhateverTheWorkspaceIsCalled(t *testing.T) {
	for _, path := range []string{"/src/plain", `/src/"}, "x": {"`, `/src/back\slash`, "/src/new\nline", "/src/<&>", "/src/ü 漢", "/src/{workspace}"} {
		claude, err := Find("claude", "")
		if err != nil {
			t.Fatal(err)
		}
		facts := Facts{Workspace: path, Last20: map[string]string{"anthropic": "ABCDEFGHIJKLMNOPQRST"}}
		text, err := claude.Seed[0].Render(facts)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Projects              map[string]struct{ HasTrustDialogAccepted bool }
			CustomAPIKeyResponses struct{ Approved []string } `json:"customApiKeyResponses"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%q: %v in %s", path, err, text)
		}
		if !doc.Projects[path].HasTrustDialogAccepted || len(doc.Projects) != 1 {
			t.Errorf("got %v trusted, want %q", doc.Projects, path)
		}
		if diff := cmp.Diff([]string{"ABCDEFGHIJKLMNOPQRST"}, doc.CustomAPIKeyResponses.Approved); diff != "" {
			t.Error(diff)
		}
		codex, err := Find("codex", "")
		if err != nil {
			t.Fatal(err)
		}
		if text, err = codex.Seed[0].Render(facts); err != nil {
			t.Fatal(err)
		}
		var cfg struct {
			Projects map[string]struct {
				TrustLevel string `toml:"trust_level"`
			}
		}
		if err := toml.Unmarshal([]byte(text), &cfg); err != nil {
			t.Fatalf("%q: %v in %s", path, err, text)
		}
		if cfg.Projects[path].TrustLevel != "trusted" || len(cfg.Projects) != 1 {
			t.Errorf("got %v trusted, want %q", cfg.Projects, path)
		}
	}
	if _, err := (File{Path: "x", Text: "{workspace}"}).Render(Facts{Workspace: "/src/\xff"}); err == nil {
		t.Error("got no error for a path that is not UTF-8, want one: it would name another")
	}
}

func TestAnAccountThatThePolicyDoesNotHaveLeavesNothing(t *testing.T) {
	got, err := File{Text: `a{placeholder:x:last20}b {placeholder:x} {other} {`}.Render(Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `ab {placeholder:x} {other} {`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAProfileIsReadStrictly(t *testing.T) {
	const good = "title = \"x\"\ncommand = [\"x\"]\n"
	for _, tt := range []struct{ name, src, want string }{
		{"good", good, ""},
		{"an unknown key", good + "comand = [\"y\"]\n", `line 3, column 1: unknown key "comand"`},
		{"a command on the host", good + "[[seed]]\npath = \"a\"\ncommand = \"id\"\n", `unknown key "seed.command"`},
		{"a wrong type", "title = 1\ncommand = [\"x\"]\n", "line 1, column"},
		{"not TOML", "title = \n", "line 1, column"},
		{"no command", "title = \"x\"\n", "no command"},
		{"no title", "command = [\"x\"]\n", "no title"},
		{"print alone", good + "print = [\"{prompt}\"]\n", "both or neither"},
		{"print without its prompt", good + "print = [\"-p\"]\nprompt = [\"{prompt}\"]\n", "each needs {prompt}"},
		{"policies without advice", good + "policies = [\"p\"]\n", "say what to set"},
		{"a seed above the home", good + "[[seed]]\npath = \"../x\"\ntext = \"\"\n", "no path below the home"},
		{"a seed at a place of its own", good + "[[seed]]\npath = \"/etc/x\"\ntext = \"\"\n", "no path below the home"},
		{"a seed through another folder", good + "[[seed]]\npath = \"a/../../x\"\ntext = \"\"\n", "no path below the home"},
		{"a seed twice", good + "[[seed]]\npath = \"a\"\n[[seed]]\npath = \"a\"\n", "twice"},
		{"another proxy", good + "[env]\nHTTPS_PROXY = \"http://127.0.0.1:1\"\n", "env.HTTPS_PROXY"},
		{"another loader", good + "[env]\nLD_PRELOAD = \"/x\"\n", "env.LD_PRELOAD"},
		{"another path", good + "[env]\nPATH = \"/x\"\n", "the session sets it"},
		{"a variable of two lines", good + "[env]\nX = \"a\\nb\"\n", "line break"},
		{"a name that is none", good + "[env]\n\"A B\" = \"\"\n", "not a name"},
		{"an unknown signal", good + "[waits]\nsignals = [\"bell\"]\n", `"bell" is not one of`},
		{"a title without glyphs", good + "[waits]\nsignals = [\"title\"]\n", "go together"},
		{"a pause without end", good + "[send]\npause = \"1h\"\n", "send.pause"},
		{"too long", good + "# " + strings.Repeat("x", maxProfile), "over the limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("x", "x.toml", []byte(tt.src))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if err != nil && !strings.HasPrefix(got, "x.toml: ") {
				t.Errorf("got %q, want it to begin with the file", got)
			}
		})
	}
}

func TestTheUsersOwnAgents(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "fumehood", "agents")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"mine.toml": "title = \"Mine\"\ncommand = [\"mine\"]\n", "claude.toml": "title = \"c\"\ncommand = [\"c\"]\n",
		"bad.toml": "nothing = 1\n", "No.toml": "", "command.toml": "", "note.txt": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(append(Builtin(), "bad", "mine"), Names(dir)); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct{ name, want string }{
		{"mine", ""},
		{"bad", "unknown key"},
		{"claude", "has the name of a built-in agent"},
		{"nobody", "there are: claude, codex"},
		{"../agents/mine", "no agent is named"},
		{"command", "no agent is named"},
	} {
		p, err := Find(tt.name, dir)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if err == nil && p.Title != "Mine" {
			t.Errorf("%s: got %+v", tt.name, p)
		}
	}
}

func TestTitlesTellWhatAnAgentIsAt(t *testing.T) {
	w := Waits{TitleWaiting: "✳◇", TitleWorking: "⠁-⣿✦"}
	for _, tt := range []struct {
		title        string
		waits, works bool
	}{
		{"✳ Claude Code", true, false},
		{"◇  Ready (dir)", true, false},
		{"⠂ thinking", false, true},
		{"⣿", false, true},
		{"✦  Working…", false, true},
		{"⠀", false, false}, // the empty one is a blank
		{"- dash", false, false},
		{"vim", false, false},
		{"", false, false},
		{"\xff", false, false},
	} {
		if waits, works := w.OfTitle(tt.title); waits != tt.waits || works != tt.works {
			t.Errorf("%q: got %v %v, want %v %v", tt.title, waits, works, tt.waits, tt.works)
		}
	}
}
