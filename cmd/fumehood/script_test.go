package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fumehood/isolate/doctor"
	"fumehood/isolate/egress/credential"
	"fumehood/isolate/stage"
	"fumehood/isolate/walls/probe"
	"fumehood/session/bundle"
	"fumehood/session/supervisor"
	"fumehood/ui"
)

// The program re-executes /proc/self/exe as supervisor and stage; under test
// that is this binary, which therefore begins as main does.
func TestMain(m *testing.M) {
	stage.Dispatch()
	credential.Dispatch()
	probe.Dispatch()
	doctor.Dispatch()
	supervisor.Dispatch()
	bundle.Dispatch(ui.Edit)
	testscript.Main(scripts{m}, map[string]func(){
		"fumehood": func() { os.Exit(execute(os.Args[1:])) },
		"without": func() {
			fmt.Fprintln(os.Stderr, without(os.Args[1:]))
			os.Exit(2)
		},
		"probe": func() { os.Exit(kernelProbe(os.Args[1:])) },
	})
}

// scripts runs more tests at once than there are processors: most of a
// script's time is spent waiting for clocks and starts.
type scripts struct{ *testing.M }

func (s scripts) Run() int {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "6") // a number is always accepted
	}
	if err := adoptOrphans(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return s.M.Run()
}

// TestScript runs the real program through one behaviour a file. Sessions that
// a script left are removed at its end, and nothing of theirs may be left then.
func TestScript(t *testing.T) {
	requireStatic(t)
	t.Cleanup(func() {
		if left := orphans(10 * time.Second); len(left) > 0 {
			t.Errorf("got processes that outlived the scripts: %s; want none", strings.Join(left, "; "))
		}
	})
	// All scripts are parallel subtests: the group ends when the last does.
	t.Run("all", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                "../../testdata/script",
			Setup:              setup,
			Cmds:               scriptCommands,
			Condition:          condition,
			RequireUniqueNames: true,
		})
	})
}

// requireStatic fails at once where every script would, with the reason.
func requireStatic(t *testing.T) {
	t.Helper()
	b, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("got a binary without build information, want one that says how it was built")
	}
	for _, s := range b.Settings {
		if s.Key == "CGO_ENABLED" && s.Value != "0" {
			t.Fatal("got a binary built with cgo, in which no session starts; want CGO_ENABLED=0 go test")
		}
	}
}

func setup(env *testscript.Env) error {
	probe, err := exec.LookPath("probe")
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	env.Vars = append(env.Vars,
		"HOME="+home,
		"XDG_STATE_HOME="+filepath.Join(env.WorkDir, "state"),
		"SESSIONS="+filepath.Join(env.WorkDir, "state", "fumehood", "sessions"),
		"PROBE="+probe,
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"GIT_CONFIG_NOSYSTEM=1",
	)
	// One identity, and nothing of the machine's or the account's own git.
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada\n\temail = ada@fumehood.test\n"), 0o600); err != nil {
		return err
	}
	// The wall probes are this binary too; they go in read-only.
	if err := os.WriteFile(filepath.Join(env.WorkDir, "probe.toml"),
		fmt.Appendf(nil, "[filesystem]\ninputs = [%q]\n", filepath.Dir(probe)), 0o600); err != nil {
		return err
	}
	vars, work := env.Vars, env.WorkDir
	env.Defer(func() {
		if err := tidy(vars, work); err != nil {
			env.T().Fatal("after the script: " + err.Error())
		}
	})
	return nil
}

// tidy removes every session of a script and looks for what it left behind.
func tidy(vars []string, work string) error {
	root := filepath.Join(work, "state", "fumehood", "sessions")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	fumehood, err := exec.LookPath("fumehood")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(root, e.Name(), "start.json")); errors.Is(err, fs.ErrNotExist) {
			continue // prune's business, and its own test's
		}
		cmd := exec.Command(fumehood, "rm", "--force", e.Name())
		cmd.Dir, cmd.Env = work, vars
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("rm --force %s: %w: %s", e.Name(), err, out))
		} else if _, err := os.Lstat(filepath.Join(root, e.Name())); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("rm --force %s left its folder: %v", e.Name(), err))
		}
	}
	if left := processesOf(work, 5*time.Second); len(left) > 0 {
		errs = append(errs, fmt.Errorf("got processes of the script's sessions: %s; want none", strings.Join(left, "; ")))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		errs = append(errs, err)
	}
	if strings.Contains(string(mounts), work) {
		errs = append(errs, fmt.Errorf("got a mount below %s on the host, want none", work))
	}
	temp, err := os.ReadDir(filepath.Join(work, ".tmp"))
	if err != nil {
		errs = append(errs, err)
	}
	for _, e := range temp {
		errs = append(errs, fmt.Errorf("got %s in the folder for temporary files, want nothing", e.Name()))
	}
	return errors.Join(errs...)
}

// condition knows who runs the test: some cases exist only for one of them.
func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "user":
		return os.Geteuid() != 0, nil
	}
	if path, ok := strings.CutPrefix(cond, "file:"); ok {
		_, err := os.Stat(path)
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
