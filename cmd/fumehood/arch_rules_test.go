package main

// An importRule says which imports a part of the tree must not have. The same
// rules stand in .golangci.yml for editors that run the linter; that section is
// written from this table (go test ./cmd/fumehood -run TestImportRules -update)
// and compared with it.
//
// A rule exists where the mistake would be silent: the code would compile, the
// tests would pass, and a wall would be thinner or every start slower.
type importRule struct {
	name  string
	in    []string // files, from the root of the tree; * within a folder, ** across folders
	notIn []string
	tests bool // test files are bound as well
	deny  []string
	allow []string // exceptions within deny
	why   string

	// Evidence that the rule can fail: an import it must catch, and one near
	// it that it must let pass. Each is "file imports path".
	wrong, fine [2]string
}

// pure is the code that decides without doing: what comes from outside is
// passed in, so that a test can pass anything.
var pure = []string{
	"diffreview/*.go", "diffreview/linediff/**.go", "diffreview/risk/**.go",
	"isolate/layer/**.go", "isolate/plan/**.go", "isolate/policy/*.go", "isolate/seccomp/*.go",
	"session/wire/**.go", "themes/**.go",
	"ui/style/**.go", "ui/syntax/**.go",
	"ui/egress/**.go", "ui/review/**.go", "ui/sessions/**.go", "ui/start/**.go", "ui/terminal/**.go", "ui/walls/**.go",
}

// impure is what reads the host within those folders.
var impure = []string{"isolate/policy/find.go", "isolate/policy/host_linux.go"}

var places = []string{
	"ui/egress/**.go", "ui/review/**.go", "ui/sessions/**.go", "ui/start/**.go", "ui/terminal/**.go", "ui/walls/**.go",
}

const (
	modChroma = "github.com/alecthomas/chroma"
	modCharm  = "charm.land"
	modCharmX = "github.com/charmbracelet"
	modCobra  = "github.com/spf13"
	modPty    = "github.com/creack/pty"
	modToml   = "github.com/pelletier/go-toml"
)

var importRules = []importRule{
	{
		name: "start-time", in: []string{"**.go"}, tests: true,
		deny:  []string{modChroma + "/v2/lexers", modChroma + "/v2/styles", "charm.land/glamour", modCharmX + "/glamour"},
		why:   "its package init costs every exec of the binary 10 to 20 ms, the stage included",
		wrong: [2]string{"ui/syntax/load.go", modChroma + "/v2/lexers"},
		fine:  [2]string{"ui/syntax/load.go", modChroma + "/v2"},
	},
	{
		name: "shipped-code", in: []string{"**.go"}, notIn: []string{"isolate/testkit/**.go", "ui/uitest/**.go"},
		deny:  []string{"testing", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "fumehood/isolate/testkit", "fumehood/ui/uitest"},
		why:   "it is there for tests and registers flags or links code that nobody runs",
		wrong: [2]string{"session/create.go", "fumehood/isolate/testkit"},
		fine:  [2]string{"session/create_test.go", "fumehood/isolate/testkit"},
	},
	{
		name: "randomness", in: []string{"**.go"},
		deny:  []string{"math/rand"},
		why:   "names, nonces and placeholders must not be guessable: crypto/rand, or passed in",
		wrong: [2]string{"session/store/layout.go", "math/rand/v2"},
		fine:  [2]string{"session/store/layout.go", "crypto/rand"},
	},
	{
		name: "http", in: []string{"**.go"}, notIn: []string{"isolate/egress/**.go"}, tests: true,
		deny:  []string{"net/http"},
		why:   "only the egress proxy speaks HTTP; elsewhere it would be a way out that no policy names",
		wrong: [2]string{"session/host.go", "net/http"},
		fine:  [2]string{"session/host.go", "net"},
	},
	{
		name: "static-binary", in: []string{"**.go"}, tests: true,
		deny:  []string{"C$", "plugin$"},
		why:   "the one static binary re-executes itself in a view without a C library",
		wrong: [2]string{"isolate/start_linux.go", "C"},
		fine:  [2]string{"isolate/start_linux.go", "context"},
	},
	{
		name: "unsafe", in: []string{"**.go"}, notIn: []string{"isolate/seccomp/load/**.go", "isolate/stage/**.go", "isolate/walls/**.go"},
		deny:  []string{"unsafe$"},
		why:   "only the stage's system calls, the loading of a filter and the tracer of the wall tests need it",
		wrong: [2]string{"session/term/pty_linux.go", "unsafe"},
		fine:  [2]string{"isolate/seccomp/load/load_linux.go", "unsafe"},
	},
	{
		name: "processes", in: []string{"**.go"},
		notIn: []string{
			"isolate/*.go", "isolate/doctor/**.go", "isolate/egress/credential/**.go", "isolate/testkit/**.go", "isolate/walls/probe/**.go",
			"session/*.go", "session/bundle/keygen.go", "session/bundle/porter_linux.go", "session/demo/**.go", "session/prove/**.go", "session/workspace/**.go", "ui/*.go",
		},
		deny:  []string{"os/exec"},
		why:   "what starts a process outside the walls is kept to the few places that a reviewer can read in full",
		wrong: [2]string{"session/baseline/scan.go", "os/exec"},
		fine:  [2]string{"session/workspace/hostgit.go", "os/exec"},
	},
	{
		name: "nothing-imports-ui", in: []string{"**.go"}, notIn: []string{"cmd/**.go", "ui/**.go"}, tests: true,
		deny:  []string{"fumehood/ui"},
		why:   "the workbench is one caller among others; run, mcp and the supervisor live without it",
		wrong: [2]string{"session/client.go", "fumehood/ui/kit"},
		fine:  [2]string{"cmd/fumehood/workbench.go", "fumehood/ui"},
	},
	{
		name: "isolate", in: []string{"isolate/**.go"}, tests: true,
		deny:  []string{"fumehood/session", "fumehood/diffreview", "fumehood/themes", modCharm, modCharmX, modChroma, modCobra, modPty},
		why:   "the walls know nothing of what stands above them, and pay for none of it at start",
		wrong: [2]string{"isolate/egress/record.go", "fumehood/session/store"},
		fine:  [2]string{"isolate/egress/record.go", "fumehood/isolate/layer"},
	},
	{
		name: "isolate-children", in: []string{"isolate/*/**.go"}, notIn: []string{"isolate/testkit/**.go"},
		deny:  []string{"fumehood/isolate$"},
		why:   "the root starts the stage by exec: a child that imports it would link the starter into what is started",
		wrong: [2]string{"isolate/stage/dispatch.go", "fumehood/isolate"},
		fine:  [2]string{"isolate/stage/dispatch.go", "fumehood/isolate/plan"},
	},
	{
		name: "isolate-root", in: []string{"isolate/*.go"},
		deny:  []string{"fumehood/isolate/stage", "fumehood/isolate/seccomp", "fumehood/isolate/doctor", modToml},
		why:   "it starts /proc/self/exe and hands over a plan; the closing of walls is the stage's alone",
		wrong: [2]string{"isolate/start_linux.go", "fumehood/isolate/stage"},
		fine:  [2]string{"isolate/start_linux_test.go", "fumehood/isolate/stage"},
	},
	{
		name: "stage", in: []string{"isolate/stage/**.go"},
		deny:  []string{"net$", "net/http", "log", "text/template", "fumehood/isolate/policy", modToml},
		why:   "the stage runs half-walled on hostile ground: no parser, no resolver, no log but its one error",
		wrong: [2]string{"isolate/stage/stage_linux.go", "log/slog"},
		fine:  [2]string{"isolate/stage/stage_linux.go", "fumehood/isolate/seccomp"},
	},
	{
		name: "leaves", in: []string{"diffreview/linediff/**.go", "internal/**.go", "isolate/layer/**.go", "themes/**.go"},
		deny: []string{"fumehood/"}, allow: []string{"fumehood/internal/"},
		why:   "a leaf that imports one of ours drags it under everything that uses the leaf",
		wrong: [2]string{"isolate/layer/layer.go", "fumehood/isolate/policy"},
		fine:  [2]string{"internal/beneath/dir_linux.go", "fumehood/internal/atomicfile"},
	},
	{
		name: "policy", in: []string{"isolate/policy/**.go"},
		deny: []string{"fumehood/"}, allow: []string{"fumehood/isolate/layer", "fumehood/isolate/egress/account", "fumehood/isolate/egress/credential", "fumehood/isolate/egress/rule"},
		why:   "a policy says what the walls must be, not how they are made",
		wrong: [2]string{"isolate/policy/check.go", "fumehood/isolate/plan"},
		fine:  [2]string{"isolate/policy/check.go", "fumehood/isolate/layer"},
	},
	{
		name: "pure", in: pure, notIn: impure,
		deny:  []string{"os", "net$", "crypto/rand", "io/ioutil", "golang.org/x/sys", "golang.org/x/term", modPty},
		why:   "this code decides and does nothing; clock, files, environment and randomness are passed in",
		wrong: [2]string{"isolate/policy/check.go", "os/user"},
		fine:  [2]string{"isolate/policy/find.go", "os"},
	},
	{
		name: "diffreview", in: []string{"diffreview/**.go"}, tests: true,
		deny:  []string{"fumehood/isolate", "fumehood/session", "fumehood/themes", modCharm, modCharmX, modChroma, modCobra, modPty},
		why:   "what is reviewed is bytes: it must mean the same whatever made them and whoever shows them",
		wrong: [2]string{"diffreview/risk/exec.go", "fumehood/isolate/policy"},
		fine:  [2]string{"diffreview/risk/exec.go", "fumehood/diffreview"},
	},
	{
		name: "diffreview-no-net", in: []string{"diffreview/**.go"},
		deny:  []string{"net$"},
		why:   "neither review nor apply has anyone to talk to",
		wrong: [2]string{"diffreview/apply/record.go", "net"},
		fine:  [2]string{"diffreview/apply/record.go", "net/url"},
	},
	{
		name: "diffreview-root", in: []string{"diffreview/*.go"},
		deny:  []string{"fumehood/diffreview/risk", "fumehood/diffreview/apply"},
		why:   "risk and apply import the root",
		wrong: [2]string{"diffreview/build.go", "fumehood/diffreview/risk"},
		fine:  [2]string{"diffreview/build.go", "fumehood/diffreview/linediff"},
	},
	{
		name: "risk-and-apply", in: []string{"diffreview/risk/**.go", "diffreview/apply/**.go"},
		deny:  []string{"fumehood/diffreview/risk", "fumehood/diffreview/apply"},
		why:   "a rule never acts, and apply writes what was decided without an opinion of its own",
		wrong: [2]string{"diffreview/apply/check.go", "fumehood/diffreview/risk"},
		fine:  [2]string{"diffreview/apply/check.go", "fumehood/diffreview"},
	},
	{
		name: "session", in: []string{"session/**.go"}, tests: true,
		deny:  []string{"fumehood/themes", modCharm, modChroma, modCobra},
		why:   "a session lives without a screen; the supervisor is idle for hours and must stay small",
		wrong: [2]string{"session/term/frame.go", "charm.land/lipgloss/v2"},
		fine:  [2]string{"session/term/frame.go", modCharmX + "/x/ansi"},
	},
	{
		name: "terminal", in: []string{"**.go"}, notIn: []string{"session/term/**.go"},
		deny:  []string{modPty, modCharmX + "/x/vt"},
		why:   "one package owns the pty and what its bytes mean; what the agent prints reaches no other parser",
		wrong: [2]string{"session/supervisor/run.go", modPty},
		fine:  [2]string{"session/term/pty_linux.go", modPty},
	},
	{
		name: "session-children",
		in: []string{
			"session/agent/**.go", "session/baseline/**.go", "session/demo/**.go", "session/store/**.go",
			"session/term/**.go", "session/wire/**.go", "session/workspace/**.go",
		},
		deny:  []string{"fumehood/session$", "fumehood/session/supervisor", "fumehood/session/mcp"},
		why:   "these lie under the root; supervisor and mcp above it",
		wrong: [2]string{"session/baseline/scan.go", "fumehood/session"},
		fine:  [2]string{"session/baseline/scan.go", "fumehood/diffreview"},
	},
	{
		name: "session-root", in: []string{"session/*.go"},
		deny:  []string{"fumehood/session/supervisor", "fumehood/session/mcp", "fumehood/session/bundle", "fumehood/isolate/stage"},
		why:   "the root talks to a supervisor over its socket, never in the same process",
		wrong: [2]string{"session/client.go", "fumehood/session/supervisor"},
		fine:  [2]string{"session/client.go", "fumehood/session/wire"},
	},
	{
		name: "workspace-bytes", in: []string{"session/baseline/**.go", "session/term/**.go", "session/workspace/**.go"},
		deny:  []string{"fumehood/isolate"},
		why:   "copying, comparing and emulating depend on no wall, so that their tests need no kernel feature",
		wrong: [2]string{"session/baseline/scan.go", "fumehood/isolate/policy"},
		fine:  [2]string{"session/supervisor/run.go", "fumehood/isolate/policy"},
	},
	{
		name: "ui", in: []string{"ui/**.go"},
		deny: []string{"net$", "fumehood/isolate", "fumehood/session/"},
		allow: []string{
			"fumehood/isolate$", "fumehood/isolate/confine", "fumehood/isolate/doctor", "fumehood/isolate/layer", "fumehood/isolate/policy", "fumehood/isolate/walls",
		},
		why:   "the workbench asks through session.Client; of the walls it shows data and starts nothing",
		wrong: [2]string{"ui/terminal/model.go", "fumehood/isolate/stage"},
		fine:  [2]string{"ui/kit/strip.go", "fumehood/isolate/layer"},
	},
	{
		name: "ui-places", in: places,
		deny: []string{"fumehood/ui"}, allow: []string{"fumehood/ui/kit", "fumehood/ui/style", "fumehood/ui/syntax"},
		why:   "a place knows no other place and not the app: what they share goes through messages and ui/kit",
		wrong: [2]string{"ui/review/model.go", "fumehood/ui/terminal"},
		fine:  [2]string{"ui/review/model.go", "fumehood/ui/kit"},
	},
	{
		name: "ui-shared", in: []string{"ui/kit/**.go", "ui/style/**.go", "ui/syntax/**.go"},
		deny: []string{"fumehood/ui", "fumehood/session"}, allow: []string{"fumehood/ui/kit", "fumehood/ui/style", "fumehood/ui/syntax"},
		why:   "what every place uses depends on none",
		wrong: [2]string{"ui/kit/list.go", "fumehood/ui/review"},
		fine:  [2]string{"ui/kit/list.go", "fumehood/ui/style"},
	},
	{
		name: "highlighting", in: []string{"**.go"}, notIn: []string{"ui/syntax/**.go"},
		deny:  []string{modChroma},
		why:   "lexers run on hostile text: one package bounds their time and size",
		wrong: [2]string{"ui/review/view.go", modChroma + "/v2"},
		fine:  [2]string{"ui/syntax/load.go", modChroma + "/v2"},
	},
	{
		name: "cmd", in: []string{"cmd/**.go"},
		deny: []string{"net$", "charm.land/bubbletea", "charm.land/lipgloss", modToml, "fumehood/isolate"},
		allow: []string{
			"fumehood/isolate$", "fumehood/isolate/confine", "fumehood/isolate/doctor", "fumehood/isolate/egress/credential", "fumehood/isolate/layer", "fumehood/isolate/policy",
			"fumehood/isolate/stage", "fumehood/isolate/walls",
		},
		why:   "the command line parses flags, makes one call and prints",
		wrong: [2]string{"cmd/fumehood/run.go", "fumehood/isolate/plan"},
		fine:  [2]string{"cmd/fumehood/policy.go", "fumehood/isolate/policy"},
	},
}

// A selectorRule says which names of a package a part of the tree may or may
// not use, where the import as such is needed.
type selectorRule struct {
	name  string
	in    []string
	notIn []string
	pkg   string
	only  []string // these names and no others
	deny  []string // or: all but these
	why   string

	wrong, fine [2]string // file, and a source line in it
}

var selectorRules = []selectorRule{
	{
		name: "walls-as-data", in: []string{"ui/**.go", "cmd/**.go"}, pkg: "fumehood/isolate",
		only:  []string{"Size", "Usage"},
		why:   "whatever acts on a sandbox goes through session",
		wrong: [2]string{"ui/terminal/model.go", "isolate.Start(ctx, spec)"},
		fine:  [2]string{"ui/terminal/model.go", "isolate.Size{}"},
	},
	{
		name: "whole-walls", in: []string{"**.go"}, notIn: []string{"session/prove/mutate*.go"}, pkg: "fumehood/isolate",
		deny:  []string{"StartWithout"},
		why:   "a session runs behind all of the walls; only what shows what each part is good for leaves one out, in a sandbox that is thrown away",
		wrong: [2]string{"session/supervisor/run.go", "isolate.StartWithout(ctx, spec, part)"},
		fine:  [2]string{"session/prove/mutate_linux.go", "isolate.StartWithout(ctx, spec, part)"},
	},
	{
		name: "clock", in: append([]string{"ui/*.go"}, pure...), notIn: append([]string{"ui/run.go"}, impure...), pkg: "time",
		deny:  []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
		why:   "the clock is passed in, so that a test stands at the time it likes",
		wrong: [2]string{"isolate/policy/block.go", "time.Now()"},
		fine:  [2]string{"isolate/policy/block.go", "time.Unix(0, 0)"},
	},
	{
		// A namespace's maps need a child that is stopped before its first instruction,
		// which the wait of os/exec would take for its end.
		name: "fork", in: []string{"**.go"}, notIn: []string{"isolate/stage/**.go", "isolate/cache_linux.go"}, pkg: "syscall",
		deny:  []string{"ForkExec", "StartProcess", "Exec", "RawSyscall", "RawSyscall6", "Syscall", "Syscall6"},
		why:   "only the stage becomes another program or makes a call that has no name",
		wrong: [2]string{"session/lifecycle.go", "syscall.ForkExec(a, b, c)"},
		fine:  [2]string{"isolate/stage/start_linux.go", "syscall.RawSyscall(a, b, c, d)"},
	},
	{
		name: "start-process", in: []string{"**.go"}, pkg: "os",
		deny:  []string{"StartProcess"},
		why:   "a process is started by os/exec, where that is allowed",
		wrong: [2]string{"session/lifecycle.go", "os.StartProcess(a, b, c)"},
		fine:  [2]string{"session/lifecycle.go", "os.ReadFile(a)"},
	},
}
