package prove

import (
	"context"

	"golang.org/x/sys/unix"
)

// endings are those of a session. The slow ones come first: they wait for most
// of their time.
var endings = []ending{
	{
		id: "supervisor-stop", tried: "STOP to the supervisor", says: []string{"failed", "exited by SIGKILL"},
		do:   func(_ context.Context, l *life) error { return unix.Kill(l.supervisor, unix.SIGSTOP) },
		undo: func(l *life) { _ = unix.Kill(l.supervisor, unix.SIGCONT) }, // it writes the record then
	},
	{
		id: "client-stop", tried: "STOP to the client of a captured run, then an end of the session", bound: true, says: []string{"stopped"},
		do: func(ctx context.Context, l *life) error {
			if err := unix.Kill(l.client.Process.Pid, unix.SIGSTOP); err != nil {
				return err
			}
			l.stop(ctx)
			return nil
		},
	},
	{
		id: "supervisor-kill", tried: "KILL to the supervisor", says: []string{"stopped"}, stays: true,
		do: func(_ context.Context, l *life) error { return unix.Kill(l.supervisor, unix.SIGKILL) },
	},
	{
		id: "supervisor-kill-hang", tried: "KILL to the supervisor while the first process hangs", says: []string{"stopped"}, stays: true,
		do: func(_ context.Context, l *life) error {
			release, err := hang(l.first)
			if err != nil {
				return err
			}
			l.release = release
			return unix.Kill(l.supervisor, unix.SIGKILL)
		},
	},
	{
		id: "supervisor-term", tried: "TERM to the supervisor", says: []string{"stopped"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.supervisor, unix.SIGTERM) },
	},
	{
		id: "run-kill", tried: "KILL to the session's command", says: []string{"exited by SIGKILL"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.command, unix.SIGKILL) },
	},
	{
		id: "run-term", tried: "TERM to the session's command", says: []string{"exited by SIGTERM"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.command, unix.SIGTERM) },
	},
	{
		id: "run-stop", tried: "STOP to the session's command, then an end of the session", says: []string{"stopped"},
		do: func(ctx context.Context, l *life) error {
			if err := unix.Kill(l.command, unix.SIGSTOP); err != nil {
				return err
			}
			l.stop(ctx)
			return nil
		},
	},
	{
		id: "client-kill", tried: "KILL to the client of a captured run", bound: true, says: []string{"stopped"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.client.Process.Pid, unix.SIGKILL) },
	},
	{
		id: "client-term", tried: "TERM to the client of a captured run", bound: true, says: []string{"stopped"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.client.Process.Pid, unix.SIGTERM) },
	},
	{
		id: "first-kill", tried: "KILL to the sandbox's first process", says: []string{"failed", "exited by SIGKILL"},
		do: func(_ context.Context, l *life) error { return unix.Kill(l.first, unix.SIGKILL) },
	},
}
