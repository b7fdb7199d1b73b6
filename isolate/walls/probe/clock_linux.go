package probe

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clockActions are those of test 9 and 10: clocks and results.
var clockActions = map[string]action{
	"outlast": outlast,
}

// clockChildren is what the probe starts again for them: a run of test 10 is
// nothing but one of these.
var clockChildren = map[string]func([]string) int{
	"outlast":    outlastRun,
	"chatter":    chatterRun,
	"tell-much":  tellMuch,
	"tell-exit":  func([]string) int { return 7 },
	"tell-abort": func([]string) int { return endBy(unix.SIGABRT) },
	"tell-term":  func([]string) int { return endBy(unix.SIGTERM) },
	"tell-last":  tellLast,
	"tell-file":  tellFile,
}

// outlast heeds no signal and sleeps, or spins, for so long.
func outlast(args map[string]string) Said {
	ms, err := strconv.Atoi(args["ms"])
	if err != nil {
		return noHog(err)
	}
	signal.Ignore()
	until := time.Now().Add(time.Duration(ms) * time.Millisecond)
	for time.Now().Before(until) {
		if args["how"] == "sleep" {
			time.Sleep(time.Until(until))
		}
	}
	return Said{Text: HogUnstopped}
}

func outlastRun(args []string) int {
	if len(args) != 2 {
		return 2
	}
	if s := outlast(map[string]string{"how": args[0], "ms": args[1]}); s.Err != "" {
		return 2
	}
	return 0
}

// chatterRun writes a line every 50 ms for so long, and is silent then.
func chatterRun(args []string) int {
	if len(args) != 2 {
		return 2
	}
	talk, err1 := strconv.Atoi(args[0])
	silent, err2 := strconv.Atoi(args[1])
	if firstOf(err1, err2) != nil {
		return 2
	}
	for range talk / 50 {
		if _, err := os.Stdout.WriteString(Chatter + "\n"); err != nil {
			return 2
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Duration(silent) * time.Millisecond)
	return 0
}

// Chatter is a line of a run that is not idle.
const Chatter = "still here"

// Much is a piece of what the run that writes far too much writes: text with
// what would do something to a terminal in it.
const Much = "line \x1b[2J\x1b]52;c;aGk=\x07 of much\r\x00\u202e\n"

// tellMuch writes so many pieces between a first and a last word.
func tellMuch(args []string) int {
	n, err := strconv.Atoi(strings.Join(args, ""))
	if err != nil {
		return 2
	}
	piece := strings.Repeat(Much, 100)
	text := "first word\n" + strings.Repeat(piece, n/100) + "last word\n"
	if _, err := os.Stdout.WriteString(text); err != nil {
		return 2
	}
	return 0
}

// endBy ends the process by a signal, as the kernel does it by default: the
// runtime would handle some of them in its own way.
func endBy(sig unix.Signal) int {
	var act struct{ handler, flags, restorer, mask uintptr } // SIG_DFL is 0
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0); e != 0 {
		fmt.Fprintf(os.Stderr, "rt_sigaction: %v\n", e)
		return 2
	}
	_ = unix.Kill(os.Getpid(), sig) // what does not end it shows by its status
	time.Sleep(5 * time.Second)
	return 2
}

// tellLast fills its standard output up to the brim and ends at once, with the
// last word still in the pipe.
func tellLast([]string) int {
	b := make([]byte, 60<<10)
	for i := range b {
		b[i] = 'x'
	}
	copy(b[len(b)-len(LastWord):], LastWord)
	for len(b) > 0 {
		n, err := unix.Write(1, b)
		if err != nil {
			return 2
		}
		b = b[n:]
	}
	unix.Exit(0) // no deferred call, no flush
	return 2
}

// LastWord is what tell-last ends with.
const LastWord = "\nthe last word"

// tellFile writes a file where it stands.
func tellFile(args []string) int {
	if len(args) != 2 {
		return 2
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	_, err = f.WriteString(args[1] + "\n")
	if err := firstOf(err, f.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}
