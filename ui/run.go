package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// Run opens the workbench on the terminal of stdin and stdout and returns when
// the person leaves it, when ctx ends, or on SIGINT, SIGTERM or SIGHUP. The
// terminal is as it was before on every way out, a panic included. Sessions go
// on; how many do is printed after leaving.
func Run(ctx context.Context, b Backend, opt Options) error {
	base, cancel := context.WithCancel(ctx)
	defer cancel()
	opt = fromEnv(opt, os.LookupEnv)
	app := NewApp(base, b, opt)
	p := tea.NewProgram(app, tea.WithContext(ctx))

	// The library ends on SIGINT and SIGTERM; a terminal that goes away sends
	// SIGHUP, which would otherwise end the process before it has tidied up.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		select {
		case <-hup:
			p.Quit()
		case <-base.Done():
		}
	}()
	_, err := p.Run()
	cancel()
	<-watch
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
