package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"fumehood/ui/kit"
	"fumehood/ui/screen"
)

// Run opens the workbench on the terminal of stdin and stdout and returns when
// the person leaves it, when ctx ends, or on SIGINT, SIGTERM or SIGHUP. The
// terminal is as it was before on every way out, a panic included. Sessions go
// on; how many do is printed after leaving.
func Run(ctx context.Context, b Backend, opt Options) error {
	base, cancel := context.WithCancel(ctx)
	defer cancel()
	opt = fromEnv(opt, os.LookupEnv)
	t := &screen.TTY{In: os.Stdin, Out: os.Stdout}
	if err := t.Raw(); err != nil {
		return fmt.Errorf("workbench: %w", err)
	}
	defer t.Restore()
	scr := screen.New(os.Stdout, os.Environ())
	defer scr.Close()
	app := NewApp(base, b, opt)
	run := &program{app: app, scr: scr, tty: t, env: os.LookupEnv}
	scr.Enter(run.questions())
	w, h := t.Size()
	// The library reads keys and runs the loop; the screen draws. Its ticker has
	// nothing to do, hence one look a second.
	colours := opt.Colours
	if colours == nil {
		colours = Colours()
	}
	p := tea.NewProgram(run, tea.WithContext(ctx), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithWindowSize(w, h), tea.WithColorProfile(*colours))
	wait := t.Watch(p, base.Done())
	_, err := p.Run()
	cancel()
	wait()
	run.leave()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("workbench: %w", err)
	}
	if n := app.Live(); n > 0 {
		_, _ = fmt.Fprintf(os.Stdout, "%s on: fumehood opens the workbench again\n", kit.Plural(n, "session")+map[bool]string{true: " goes", false: " go"}[n == 1]) // a courtesy
	}
	return nil
}

// Colours asks the environment what colours the terminal of stdout has: the
// account's terminal database, and tmux where it runs in one. What confines itself
// before it opens the workbench asks before that.
func Colours() *colorprofile.Profile {
	p := colorprofile.Detect(os.Stdout, os.Environ())
	return &p
}

// fromEnv fills in what the environment says of the terminal.
func fromEnv(opt Options, env func(string) (string, bool)) Options {
	if v, ok := env("NO_COLOR"); ok && v != "" {
		opt.NoColor = true
	}
	if !utf8Locale(env) {
		opt.ASCII = true
	}
	return opt
}

// utf8Locale says whether characters beyond ASCII may be written. The first
// variable that is set decides, as in the C library; none means "C".
func utf8Locale(env func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v, ok := env(name); ok && v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
