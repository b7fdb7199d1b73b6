package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fumehood/isolate"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// runFlags are what run and resume share.
type runFlags struct {
	timeout time.Duration
	asJSON  bool
	detach  bool
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end the command after this long (overrides limits.run_time)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "capture, and print one JSON object at the end; with --detach, the session at once")
	c.Flags().BoolVarP(&f.detach, "detach", "d", false, "leave it running and print its ID")
}

func (f *runFlags) check() error {
	if f.timeout < 0 {
		return fmt.Errorf("--timeout %v is in the past; give a duration such as 90s or 10m", f.timeout)
	}
	return nil
}

func runCommand() *cobra.Command {
	var f runFlags
	var repo, pol, agent, name string
	var rm bool
	c := &cobra.Command{
		Use: "run [flags] -- CMD...", Annotations: usage("run [--flags] -- CMD..."),
		Short: "Start a session and run a command in it",
		Long: "Copies the repository in, closes the walls and runs CMD. When stdin and stdout are terminals it is\n" +
			"attached (ctrl+\\ then d leaves it running); else its streams pass through byte for byte. CMD starts in the folder\n" +
			"that it would start in here: below the repository's top, in the same one of the copy.\n\n" +
			"Exit status: the command's own; 128+N when signal N ended it; 124 when a limit did; 125 when\n" +
			"fumehood refused or failed before the command ran; 126 not executable; 127 not found.",
		Example: "fumehood run -- go test ./...\nfumehood run --json -- sh -c 'make && ./prog'\nfumehood run --agent shell\n" +
			"fumehood run --agent claude -- explain what the tests leave out",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if rm && f.detach {
				return errors.New("--rm and --detach don't go together: nobody is there at the end; \"fumehood prune\" removes what is done with")
			}
			h, err := host()
			if err != nil {
				return err
			}
			tty := !f.asJSON && isTerminal(os.Stdin) && isTerminal(os.Stdout)
			argv, agent, err := commandOf(h, agent, args, tty || f.detach && !f.asJSON)
			if err != nil {
				return err
			}
			var note string // told when the line of progress is gone
			req := session.Request{
				Repo: repo, From: repo, Note: func(s string) { note = s }, Policy: pol, Agent: agent, Name: name, Command: argv, TTY: tty || f.detach && !f.asJSON, Timeout: f.timeout,
				Hold: !f.detach, Bound: !f.detach && !tty, Size: terminalSize(),
			}
			progress, done := progressLine(cmd.ErrOrStderr())
			id, err := h.Create(cmd.Context(), req, progress)
			done()
			if err != nil {
				return err
			}
			d := h.Root.Dir(id)
			printNotes(d)
			if note != "" {
				printNote(note)
			}
			if f.detach {
				return printStarted(cmd, d, f)
			}
			return finishRun(cmd, h, d, f, tty, rm)
		},
	}
	f.add(c)
	c.Flags().StringVarP(&repo, "repo", "C", ".", "the repository around this folder")
	c.Flags().StringVarP(&pol, "policy", "p", "", "a policy's name, or a file")
	c.Flags().StringVar(&agent, "agent", "", "what runs when no command is given, with what follows -- as its prompt: "+strings.Join(session.Agents(), ", "))
	c.Flags().StringVarP(&name, "name", "n", "", "the session's name")
	c.Flags().BoolVar(&rm, "rm", false, "remove the session at the end, unless it holds undecided changes")
	return c
}

// printStarted names a session that was left running.
func printStarted(cmd *cobra.Command, d store.Dir, f runFlags) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), struct {
			Session string `json:"session"`
		}{d.ID()})
	}
	fmt.Fprintln(cmd.OutOrStdout(), d.ID())
	return nil
}

// commandOf is what to run: the arguments as they are, or an agent, to which
// they are a prompt.
func commandOf(h *session.Host, agent string, args []string, tty bool) ([]string, string, error) {
	switch {
	case agent == "" && len(args) > 0:
		return args, "command", nil
	case agent == "":
		return nil, "", errors.New("no command given; put one after --, or name an agent with --agent")
	}
	argv, err := h.AgentCommand(agent, strings.Join(args, " "), tty)
	return argv, agent, err
}

// printNotes says on stderr what a person should know of the copy.
func printNotes(d store.Dir) {
	rec, err := d.LoadRecord()
	if err != nil {
		return // the next step fails on it, and says so
	}
	for _, n := range rec.Notes {
		printNote(n)
	}
}

func printNote(text string) { fmt.Fprintf(os.Stderr, "fumehood: note: %s\n", visible(text)) }

// finishRun follows a started command to its end and prints what a user or a
// program needs to know of it.
func finishRun(cmd *cobra.Command, h *session.Host, d store.Dir, f runFlags, tty, rm bool) error {
	if f.asJSON {
		return runJSON(cmd, h, d, rm)
	}
	refused := watchEgress(cmd, d)
	end, err := followSession(cmd, d, tty)
	if errors.Is(err, session.ErrDetached) {
		fmt.Fprintf(os.Stderr, "\nfumehood: left %s running; \"fumehood attach %s\" comes back to it\n", d.ID(), d.ID())
		return nil
	}
	if err != nil {
		return err
	}
	report(end)
	hintMissing(h, d, end)
	refused(endCode(end))
	afterRun(cmd, h, d, rm)
	if code := endCode(end); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// report says on stderr what the exit status alone does not.
func report(e *wire.End) {
	switch {
	case e.Limit != nil:
		fmt.Fprintf(os.Stderr, "fumehood: stopped at limit %s: %s reached, used %s; the workspace is kept\n", e.Limit.Name, e.Limit.Value, e.Limit.Used)
	case e.Error != "":
		fmt.Fprintf(os.Stderr, "fumehood: %s\n", visible(e.Error))
	case e.Signal != 0:
		fmt.Fprintf(os.Stderr, "fumehood: ended by %s\n", session.SignalName(e.Signal))
	}
	if e.Usage.Leftover > 0 && e.State == wire.StateExited {
		fmt.Fprintf(os.Stderr, "fumehood: %s still running when the command ended; ended too\n", plural(e.Usage.Leftover, "process"))
	}
}

// hintMissing says what would bring a program in that this machine has.
func hintMissing(h *session.Host, d store.Dir, e *wire.End) {
	if text := h.Missing(d, endCode(e), e.Began); text != "" {
		fmt.Fprintf(os.Stderr, "fumehood: hint: %s\n", visible(text))
	}
}

// afterRun says what changed, and removes a session that nothing was left in.
func afterRun(cmd *cobra.Command, h *session.Host, d store.Dir, rm bool) {
	r, err := h.Review(cmd.Context(), d, false)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fumehood: look at what changed: %v\n", err)
		return
	}
	n, risky := len(r.Set.Files), 0
	for i := range r.Set.Files {
		if r.Set.Files[i].Severity().Rank() > 1 {
			risky++
		}
	}
	if n > 0 {
		fmt.Fprintf(os.Stderr, "fumehood: %s in %s%s; see \"fumehood diff %s\", then \"fumehood apply --all %s\"\n", plural(n, "changed file"), d.ID(), riskyText(risky), d.ID(), d.ID())
	}
	if !rm {
		return
	}
	// The last snapshot was taken with everything inside gone: when it found
	// nothing, there is nothing to look for again.
	if err := h.Remove(cmd.Context(), d, n == 0); err != nil {
		fmt.Fprintf(os.Stderr, "fumehood: %v\n", err)
	}
}

func runJSON(cmd *cobra.Command, h *session.Host, d store.Dir, rm bool) error {
	res, end, err := h.RunResult(cmd.Context(), d, os.Stdin)
	if err != nil {
		return err
	}
	if err := printJSON(cmd.OutOrStdout(), res); err != nil {
		return err
	}
	hintMissing(h, d, end)
	if rm {
		if err := h.Remove(cmd.Context(), d, len(res.Files) == 0); err != nil {
			fmt.Fprintf(os.Stderr, "fumehood: %v\n", err)
		}
	}
	if code := endCode(end); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

func resumeCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "resume [ID] [-- CMD...]", Annotations: usage("resume [--flags] [ID] [-- CMD...]"),
		Short: "Start a session again: new processes and walls, the same workspace, home and baseline",
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, argv := args, []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				ids, argv = args[:n], args[n:]
			}
			if len(ids) > 1 {
				return errors.New("one session at a time; a command goes after --")
			}
			if err := f.check(); err != nil {
				return err
			}
			h, d, err := openSession(cmd, ids)
			if err != nil {
				return err
			}
			tty := !f.asJSON && isTerminal(os.Stdin) && isTerminal(os.Stdout)
			req := session.Request{Command: argv, Note: printNote, TTY: tty || f.detach && !f.asJSON, Timeout: f.timeout, Hold: !f.detach, Bound: !f.detach && !tty, Size: terminalSize()}
			if req.From = "."; len(argv) == 0 { // the same again, in the same folder
				rec, err := d.LoadRecord()
				if err != nil {
					return err
				}
				req.Command, req.From = rec.Command, ""
			}
			if err := h.Resume(cmd.Context(), d, req); err != nil {
				return err
			}
			if f.detach {
				return printStarted(cmd, d, f)
			}
			return finishRun(cmd, h, d, f, tty, false)
		},
	}
	f.add(c)
	return c
}

func attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach [ID]",
		Short: "Connect this terminal to a running session (ctrl+\\ then d leaves it running)",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, d, err := openLive(cmd, args)
			if err != nil {
				return err
			}
			tty := isTerminal(os.Stdin) && isTerminal(os.Stdout)
			rec, err := d.LoadRecord()
			if err != nil {
				return err
			}
			if rec.TTY && !tty {
				return errors.New("attach needs a terminal on stdin and stdout; \"fumehood log\" prints the output so far")
			}
			return finishRun(cmd, h, d, runFlags{}, rec.TTY, false)
		},
	}
}

func execCommand() *cobra.Command {
	var noTTY bool
	c := &cobra.Command{
		Use: "exec ID -- CMD...", Annotations: usage("exec [--flags] [ID] -- CMD..."),
		Short:   "Run another command in a live session's sandbox",
		Example: "fumehood exec calm-1 -- ps aux\nfumehood exec -- ps aux  # the repository's only live session",
		RunE: func(cmd *cobra.Command, args []string) error {
			n := cmd.ArgsLenAtDash()
			if n < 0 || n > 1 || len(args) == n {
				return errors.New("a command is needed after --, as in: fumehood exec [ID] -- ls")
			}
			_, d, err := openLive(cmd, args[:n])
			if err != nil {
				return err
			}
			tty := !noTTY && isTerminal(os.Stdin) && isTerminal(os.Stdout)
			refused := watchEgress(cmd, d)
			rec, err := d.LoadRecord()
			if err != nil {
				return err
			}
			folder, note := session.StartFolder(d, rec.Repo, ".")
			if note != "" {
				printNote(note)
			}
			end, err := followExec(cmd, d, session.Execed{Argv: args[n:], Folder: folder, TTY: tty, Term: os.Getenv("TERM")})
			if errors.Is(err, session.ErrDetached) {
				return nil
			}
			if err != nil {
				return err
			}
			report(end)
			refused(endCode(end))
			if code := endCode(end); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&noTTY, "no-tty", "T", false, "pass streams through even on a terminal")
	return c
}

// terminalSize is the size of the terminal on stdout, or a usual one.
func terminalSize() isolate.Size {
	cols, rows, ok := sizeOf(os.Stdout)
	if !ok {
		return isolate.Size{Cols: 80, Rows: 24}
	}
	return isolate.Size{Cols: cols, Rows: rows}
}

func riskyText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d risky", n)
}
