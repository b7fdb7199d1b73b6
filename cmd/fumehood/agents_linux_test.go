package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/egress/vendortest"
)

// A turn is one agent's, with one kind of credential.
type agentTurn struct {
	name     string
	agent    string
	pack     string // of npm, with the version that was tried
	variable string // on the host
	secret   string // made up
	sees     string // the variable that has the placeholder inside
	shape    string // what the placeholder begins with
	scrubbed bool   // the agent keeps that variable from its commands
	attached string // how the secret has to arrive
	host     string // the only one that may be called
	policy   string
}

var agentTurns = []agentTurn{
	{
		name: "claude with a key", agent: "claude", pack: "@anthropic-ai/claude-code@2.1.197",
		variable: "ANTHROPIC_API_KEY", secret: "sk-ant-api03-MADEUPMADEUPMADEUPMADEUP0123456789", sees: "ANTHROPIC_API_KEY", shape: "sk-ant-api03-",
		attached: "x-api-key: ", host: "api.anthropic.com", policy: "agent-claude",
	},
	{
		name: "claude with a token", agent: "claude", pack: "@anthropic-ai/claude-code@2.1.197",
		variable: "CLAUDE_CODE_OAUTH_TOKEN", secret: "sk-ant-oat01-MADEUPMADEUPMADEUPMADEUP0123456789", sees: "CLAUDE_CODE_OAUTH_TOKEN", shape: "sk-ant-oat01-", scrubbed: true,
		attached: "authorization: Bearer ", host: "api.anthropic.com", policy: "agent-claude-token",
	},
	{
		name: "codex", agent: "codex", pack: "@openai/codex@0.171.0",
		variable: "OPENAI_API_KEY", secret: "sk-proj-MADEUPMADEUPMADEUPMADEUP0123456789", sees: "CODEX_API_KEY", shape: "sk-proj-",
		attached: "authorization: Bearer ", host: "api.openai.com", policy: "agent-codex",
	},
	{
		name: "opencode", agent: "opencode", pack: "opencode-ai@1.18.33",
		variable: "ANTHROPIC_API_KEY", secret: "sk-ant-api03-MADEUPMADEUPMADEUPMADEUP9876543210", sees: "ANTHROPIC_API_KEY", shape: "sk-ant-api03-",
		attached: "x-api-key: ", host: "api.anthropic.com", policy: "agent-opencode",
	},
}

const (
	installWithin = 3 * time.Minute
	turnWithin    = 4 * time.Minute // a turn takes seconds; a machine with ten others at work, more
	answer        = "It is done, and the number is forty-two."
)

// TestRealAgentsTakeATurn has the real programs do one whole turn behind the
// walls: a prompt in, one command run inside, a file changed, the answer out.
// The vendor is played on this machine; the secret that arrives there is never
// inside.
func TestRealAgentsTakeATurn(t *testing.T) {
	requireStatic(t)
	switch {
	case testing.Short():
		t.Skip("got -short, want the time that three agents take to install and run")
	case os.Geteuid() == 0:
		t.Skip("got root, want an ordinary user: each agent is tried once, and as people run it")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("got no npm on PATH (%v), want it to install the agents", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("got no cache folder (%v), want one for the agents", err)
	}
	// The account's home in these sessions: ~/.local is brought in by itself.
	home := filepath.Join(cache, "fumehood-test", "agents")
	// All of them together have this long: where one can't be had, waiting for
	// each would only make the run longer.
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	t.Cleanup(cancel)
	for _, turn := range agentTurns {
		t.Run(turn.name, func(t *testing.T) {
			install(ctx, t, npm, home, turn)
			turn.take(t, home)
		})
	}
}

// install brings an agent's program in, once.
func install(ctx context.Context, t *testing.T, npm, home string, turn agentTurn) {
	t.Helper()
	prefix := filepath.Join(home, ".local")
	done := filepath.Join(home, strings.NewReplacer("/", "_", "@", "_").Replace(turn.pack)+".installed")
	if _, err := os.Stat(done); err == nil {
		return
	}
	if err := os.MkdirAll(prefix, 0o700); err != nil {
		t.Fatal(err)
	}
	bare := turn.pack[:strings.LastIndex(turn.pack, "@")]
	cmd := exec.CommandContext(ctx, npm, "install", "--global", "--prefix", prefix, "--no-audit", "--no-fund", "--fetch-retries=0", "--allow-scripts="+bare, turn.pack)
	cmd.Dir = home
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(home, "npm-cache"))
	// Node has certificates of its own, and does not see those that this machine
	// was told to trust for its way out.
	const bundle = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(bundle); err == nil && os.Getenv("NODE_EXTRA_CA_CERTS") == "" {
		cmd.Env = append(cmd.Env, "NODE_EXTRA_CA_CERTS="+bundle)
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = os.WriteFile(done, nil, 0o600)
	}
	if err != nil {
		t.Skipf("got no %s within %v (%v: %s), want it installed", turn.pack, installWithin, err, tail(out, 300))
	}
}

func (turn agentTurn) take(t *testing.T, home string) {
	vendor, err := vendortest.Start(vendortest.Script{
		Command: fmt.Sprintf(`printf '%%s' "$%s" > seen.txt; echo "made-$((6*7))" > made.txt; cat made.txt`, turn.sees),
		Answer:  answer, Keys: []string{turn.attached + turn.secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vendor.Close(); err != nil {
			t.Errorf("close the vendor: %v", err)
		}
	})
	work := t.TempDir()
	repo, state, ca := filepath.Join(work, "repo"), filepath.Join(work, "state"), filepath.Join(work, "ca.pem")
	if err := os.WriteFile(ca, vendor.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	fumehood, err := exec.LookPath("fumehood")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + home, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + filepath.Join(work, "config"), "LANG=C.UTF-8", "TERM=xterm-256color",
		"PATH=" + filepath.Join(home, ".local", "bin") + ":" + os.Getenv("PATH"),
		"HTTPS_PROXY=" + vendor.Proxy(), "HTTP_PROXY=" + vendor.Proxy(), "SSL_CERT_FILE=" + ca,
		turn.variable + "=" + turn.secret, "GIT_CONFIG_NOSYSTEM=1",
	}
	run := func(within time.Duration, name string, args ...string) (string, string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = work, env, &stdout, &stderr, 5*time.Second
		err := cmd.Run()
		if ctx.Err() != nil {
			err = fmt.Errorf("it took longer than %v", within)
		}
		return stdout.String(), stderr.String(), err
	}
	if _, out, err := run(20*time.Second, "git", "init", "-q", repo); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	t.Cleanup(func() {
		for _, d := range sessionFolders(t, state) {
			if _, out, err := run(30*time.Second, fumehood, "rm", "--force", filepath.Base(d)); err != nil {
				t.Errorf("remove the session: %v %s", err, out)
			}
		}
	})
	stdout, stderr, err := run(turnWithin, fumehood, "run", "--repo", repo, "--agent", turn.agent, "--", "make", "the", "file")
	if err != nil {
		t.Fatalf("got %v, want a turn; stdout: %s\nstderr: %s", err, tail([]byte(stdout), 2000), tail([]byte(stderr), 4000))
	}
	if !strings.Contains(stdout, answer) && !strings.Contains(stderr, answer) {
		t.Errorf("got %q and %q, want the model's answer", stdout, stderr)
	}
	folders := sessionFolders(t, state)
	if len(folders) != 1 {
		t.Fatalf("got sessions %q, want one", folders)
	}
	turn.inside(t, folders[0])
	turn.arrived(t, vendor)
	turn.nowhere(t, state)
	if egress := read(t, filepath.Join(folders[0], "egress.jsonl")); !strings.Contains(egress, `"allowed":true`) || !strings.Contains(egress, `"rule":"`+turn.policy+` 1"`) {
		t.Errorf("got the egress record %q, want allowed requests by %s", egress, turn.policy)
	}
}

// inside looks at what the command left in the workspace.
func (turn agentTurn) inside(t *testing.T, session string) {
	t.Helper()
	if got := read(t, filepath.Join(session, "workspace", "made.txt")); got != "made-42\n" {
		t.Errorf("got made.txt with %q, want what the command wrote", got)
	}
	seen := read(t, filepath.Join(session, "workspace", "seen.txt"))
	switch {
	case seen == turn.secret:
		t.Error("got the secret in the environment of the agent's command, want a placeholder")
	case seen == "" && turn.scrubbed:
	case !strings.HasPrefix(seen, turn.shape) || len(seen) < len(turn.secret):
		t.Errorf("got %q in %s inside, want a placeholder of the form %s…", seen, turn.sees, turn.shape)
	}
}

// arrived looks at what reached the vendor.
func (turn agentTurn) arrived(t *testing.T, vendor *vendortest.Vendor) {
	t.Helper()
	calls := vendor.Calls()
	if len(calls) == 0 {
		t.Fatal("got no call at the vendor, want a turn's")
	}
	for _, c := range calls {
		if c.Host != turn.host {
			t.Errorf("got a call of %s %s %s, want none but of %s", c.Method, c.Host, c.Path, turn.host)
		}
		if c.Credential != turn.attached+turn.secret {
			t.Errorf("got %q with %s %s, want the secret, attached outside", c.Credential, c.Method, c.Path)
		}
		if strings.Contains(c.Body, turn.secret) {
			t.Errorf("got the secret in the body of %s %s, want it in no request's", c.Method, c.Path)
		}
	}
}

// nowhere looks for the secret in all that fumehood and the inside wrote.
func (turn agentTurn) nowhere(t *testing.T, state string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if bytes.Contains(b, []byte(turn.secret)) {
			t.Errorf("got the secret in %s, want it in no file", path)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("got %d files searched (%v), want the session's", files, err)
	}
}

func sessionFolders(t *testing.T, state string) []string {
	t.Helper()
	out, err := filepath.Glob(filepath.Join(state, "fumehood", "sessions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("got %v, want the file", err)
	}
	return string(b)
}

// tail is the end of an output, for a message.
func tail(b []byte, n int) string {
	return strings.TrimSpace(string(b[max(0, len(b)-n):]))
}
