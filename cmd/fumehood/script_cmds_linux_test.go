package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// scriptCommands are what the scripts need beside a shell's own.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status":    cmdStatus,
	"repo":      cmdRepo,
	"setenv":    cmdSetenv,
	"json":      cmdJSON,
	"jsonkeys":  cmdJSONKeys,
	"jsonenv":   cmdJSONEnv,
	"jsondoc":   cmdJSONDoc,
	"treesum":   cmdTreesum,
	"same":      cmdSame,
	"equal":     cmdEqual,
	"write":     cmdWrite,
	"names":     cmdNames,
	"fifo":      cmdFifo,
	"until":     cmdUntil,
	"pidof":     cmdPidof,
	"signal":    cmdSignal,
	"alive":     cmdAlive,
	"children":  cmdChildren,
	"victim":    cmdVictim,
	"listen":    cmdListen,
	"heard":     cmdHeard,
	"within":    cmdWithin,
	"contains":  cmdContains,
	"random":    cmdRandom,
	"repeat":    cmdRepeat,
	"umask":     cmdUmask,
	"allow":     cmdAllow,
	"standin":   cmdStandin,
	"arrived":   cmdArrived,
	"ttystart":  cmdTTYStart,
	"ttysend":   cmdTTYSend,
	"ttypress":  cmdTTYPress,
	"ttysee":    cmdTTYSee,
	"ttysaw":    cmdTTYSaw,
	"ttyend":    cmdTTYEnd,
	"ttymodes":  cmdTTYModes,
	"ttysize":   cmdTTYSize,
	"ttyhangup": cmdTTYHangup,

	"ttysignals": cmdTTYSignals,
}

// patience bounds every wait for something that should come about by itself.
const patience = 30 * time.Second

func need(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

// status N COMMAND...: run it; it must exit with N.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "status N COMMAND...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("got exit status %d (%v), want %d", got, err, want)
	}
}

// repo DIR...: make a git repository of what is in each folder, committed.
func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "repo DIR...")
	for _, dir := range args {
		path := ts.MkAbs(dir)
		ts.Check(os.MkdirAll(path, 0o755))
		for _, argv := range [][]string{
			{"init", "-q", "-b", "main"},
			{"add", "-A"},
			{"commit", "-q", "--allow-empty", "-m", "first"},
		} {
			ts.Check(ts.Exec("git", append([]string{"-C", path}, argv...)...))
		}
	}
}

// setenv NAME [FILE]: set a variable to the last output, or to a file's text.
func cmdSetenv(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "setenv NAME [FILE]")
	from := "stdout"
	if len(args) > 1 {
		from = args[1]
	}
	v := strings.TrimSpace(ts.ReadFile(from))
	if v == "" {
		ts.Fatalf("%s is empty", from)
	}
	ts.Setenv(args[0], v)
}

// lookJSON walks a path such as files.0.path through the last output. The
// element "len" is a list's length.
func lookJSON(ts *testscript.TestScript, path string) (any, bool) {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	if path == "." {
		return v, true
	}
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			if key == "len" {
				v = len(at)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return "null"
	case map[string]any, []any:
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	return fmt.Sprint(v)
}

// [!] json PATH REGEXP: the value at PATH fits the whole pattern.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] json PATH REGEXP")
	}
	v, ok := lookJSON(ts, args[0])
	if !ok {
		ts.Fatalf("stdout has no %s", args[0])
	}
	re, err := regexp.Compile(`^(?s:` + args[1] + `)$`)
	ts.Check(err)
	if re.MatchString(textOf(v)) == neg {
		ts.Fatalf("got %s = %q, want it %s %q", args[0], textOf(v), map[bool]string{true: "not to fit", false: "to fit"}[neg], args[1])
	}
}

// jsonkeys PATH KEY...: the object at PATH has these keys; others may be added.
func cmdJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "jsonkeys PATH KEY...")
	v, ok := lookJSON(ts, args[0])
	obj, isObj := v.(map[string]any)
	if !ok || !isObj {
		ts.Fatalf("stdout has no object at %s", args[0])
	}
	for _, k := range args[1:] {
		if _, ok := obj[k]; !ok {
			ts.Fatalf("%s has no %q", args[0], k)
		}
	}
}

// jsondoc SECTION: every key in the last output is named in that section of the
// page about JSON.
func cmdJSONDoc(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "jsondoc SECTION")
	page, err := os.ReadFile("../../docs/json.md")
	ts.Check(err)
	_, section, ok := strings.Cut(string(page), "## `"+args[0])
	if !ok {
		ts.Fatalf("docs/json.md has no section %q", args[0])
	}
	section, _, _ = strings.Cut(section, "\n## ")
	known := map[string]bool{"path_b64": true} // of every path, said once at the top
	for _, w := range regexp.MustCompile(`[a-z][a-z0-9_]*`).FindAllString(section, -1) {
		known[w] = true
	}
	v, _ := lookJSON(ts, ".")
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				if !known[k] {
					ts.Fatalf("%q is printed by %s, and docs/json.md does not say so", k, args[0])
				}
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		}
	}
	walk(v)
}

// jsonenv NAME PATH: set a variable to a value.
func cmdJSONEnv(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "jsonenv NAME PATH")
	v, ok := lookJSON(ts, args[1])
	if !ok {
		ts.Fatalf("stdout has no %s", args[1])
	}
	ts.Setenv(args[0], textOf(v))
}

// sum is what there is to know of one path.
type sum struct {
	what  string // kind, mode, size, content or target
	times string // mtime and ctime
}

type sums map[string]map[string]sum

// sumsOf keeps the trees that a script looked at, by name.
var sumsOf perScript[sums, map[string]sum]

func lookTree(dir string) (map[string]sum, error) {
	out := map[string]sum{}
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, p)
		if relErr != nil {
			return relErr
		}
		if err != nil {
			s := out[rel]
			s.what += " unreadable"
			out[rel] = s
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		s := sum{
			what:  fmt.Sprintf("mode %o", st.Mode),
			times: fmt.Sprintf("mtime %d.%09d ctime %d.%09d", st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec),
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(p)
			if err != nil {
				s.what += " unreadable"
				break
			}
			s.what += fmt.Sprintf(" size %d sha256 %x", st.Size, sha256.Sum256(b))
		case unix.S_IFLNK:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			s.what += fmt.Sprintf(" to %q", to)
		}
		out[rel] = s
		return nil
	})
	return out, err
}

// treesum NAME DIR: note every byte, mode, time and link below DIR.
func cmdTreesum(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "treesum NAME DIR")
	tree, err := lookTree(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(tree) < 2 {
		ts.Fatalf("%s is empty: comparing it would show nothing", args[1])
	}
	sumsOf.of(ts)[args[0]] = tree
}

// [!] same NAME DIR: everything below DIR is as noted, times included.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) { compareTrees(ts, neg, args, true) }

// [!] equal NAME DIR: content, kinds and modes below DIR are as noted.
func cmdEqual(ts *testscript.TestScript, neg bool, args []string) { compareTrees(ts, neg, args, false) }

func compareTrees(ts *testscript.TestScript, neg bool, args []string, times bool) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] same|equal NAME DIR")
	}
	before, ok := sumsOf.of(ts)[args[0]]
	if !ok {
		ts.Fatalf("no treesum is named %q", args[0])
	}
	after, err := lookTree(ts.MkAbs(args[1]))
	ts.Check(err)
	var diff []string
	for p, b := range before {
		a, ok := after[p]
		switch {
		case !ok:
			diff = append(diff, fmt.Sprintf("%q is gone", p))
		case a.what != b.what:
			diff = append(diff, fmt.Sprintf("%q was %s, is %s", p, b.what, a.what))
		case times && a.times != b.times:
			diff = append(diff, fmt.Sprintf("%q was %s, is %s", p, b.times, a.times))
		}
	}
	for p, a := range after {
		if _, ok := before[p]; !ok {
			diff = append(diff, fmt.Sprintf("%q is new: %s", p, a.what))
		}
	}
	sort.Strings(diff)
	switch {
	case neg && len(diff) == 0:
		ts.Fatalf("got %s unchanged, want a change", args[1])
	case !neg && len(diff) > 0:
		ts.Fatalf("got %s changed:\n%s", args[1], strings.Join(diff, "\n"))
	}
}

// unquote reads a Go string literal in single quotes' stead: names and content
// that a script can't hold.
func unquote(ts *testscript.TestScript, s string) string {
	out, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		ts.Fatalf("%s: %v", s, err)
	}
	return out
}

// write FILE TEXT: both with Go's escapes (\n, \x1b, \xff); FILE's folder is made.
func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "write FILE TEXT")
	path := ts.MkAbs(unquote(ts, args[0]))
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(unquote(ts, args[1])), 0o644))
}

// contains FILE TEXT: the file's bytes are exactly TEXT, both with Go's escapes.
func cmdContains(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] contains FILE TEXT")
	}
	b, err := os.ReadFile(ts.MkAbs(unquote(ts, args[0])))
	ts.Check(err)
	want := unquote(ts, args[1])
	if (string(b) == want) == neg {
		ts.Fatalf("got %q, want %q (negated: %v)", b, want, neg)
	}
}

// names DIR NAME...: DIR holds these entries and no others, beside .git.
func cmdNames(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "names DIR NAME...")
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got, want []string
	for _, e := range entries {
		if e.Name() != ".git" {
			got = append(got, strconv.Quote(e.Name()))
		}
	}
	for _, a := range args[1:] {
		want = append(want, strconv.Quote(unquote(ts, a)))
	}
	sort.Strings(want)
	sort.Strings(got)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		ts.Fatalf("got %s, want %s", got, want)
	}
}

// fifo PATH...
func cmdFifo(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "fifo PATH...")
	for _, p := range args {
		ts.Check(unix.Mkfifo(ts.MkAbs(p), 0o644))
	}
}

// until REGEXP COMMAND...: run it again and again until its output fits.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "until REGEXP COMMAND...")
	re, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	last := settle(patience, func() []string {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && re.MatchString(ts.ReadFile("stdout")) {
			return nil
		}
		return []string{fmt.Sprintf("%q and %q (%v)", ts.ReadFile("stdout"), ts.ReadFile("stderr"), err)}
	})
	if len(last) > 0 {
		ts.Fatalf("got %s after %v, want it to fit %q", last[0], patience, args[0])
	}
}

// within DURATION COMMAND...: it must succeed, and be done in time.
func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "within DURATION STATUS COMMAND...")
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	begin := time.Now()
	cmdStatus(ts, false, args[1:])
	if took := time.Since(begin); took > limit {
		ts.Fatalf("got it done in %v, want at most %v", took.Round(time.Millisecond), limit)
	}
}

// pidof NAME ID: set a variable to the process id of a session's supervisor.
func cmdPidof(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "pidof NAME ID")
	pid := supervisorOf(filepath.Join(ts.Getenv("SESSIONS"), args[1]))
	if pid == 0 {
		ts.Fatalf("no supervisor runs for %s", args[1])
	}
	ts.Setenv(args[0], strconv.Itoa(pid))
}

// signal NAME PID...
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "signal NAME PID...")
	sig, err := signalNamed(args[0])
	ts.Check(err)
	for _, a := range args[1:] {
		pid, err := strconv.Atoi(a)
		ts.Check(err)
		if pid <= 1 {
			ts.Fatalf("refusing to signal %d", pid)
		}
		ts.Check(unix.Kill(pid, sig))
	}
}

// [!] alive PID...: each runs; negated: each ends before long.
func cmdAlive(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		ts.Check(err)
		if !neg {
			if !alive(pid) {
				ts.Fatalf("process %d has ended", pid)
			}
			continue
		}
		left := settle(5*time.Second, func() []string {
			if alive(pid) {
				return []string{a}
			}
			return nil
		})
		if len(left) > 0 {
			ts.Fatalf("process %d still runs", pid)
		}
	}
}

// [!] children PID: it has running children; negated: has none before long.
func cmdChildren(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] children PID")
	}
	pid, err := strconv.Atoi(args[0])
	ts.Check(err)
	children := func() []string {
		var out []string
		for _, p := range processes() {
			if p.parent == pid && p.state != 'Z' {
				out = append(out, p.String())
			}
		}
		return out
	}
	switch left := children(); {
	case !neg && len(left) == 0:
		ts.Fatalf("process %d has no children", pid)
	case neg:
		if left := settle(5*time.Second, children); len(left) > 0 {
			ts.Fatalf("got running children of %d: %s; want none", pid, strings.Join(left, "; "))
		}
	}
}

// victim NAME [VAR=VALUE]...: a process of the host's own, for its id and
// variables to be tried from inside. It ends with the script.
func cmdVictim(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "victim NAME [VAR=VALUE]...")
	cmd := exec.Command("sleep", "999")
	cmd.Env = append([]string{"PATH=" + ts.Getenv("PATH")}, args[1:]...)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may have been ended, which is what the script tells
		_ = cmd.Wait()
	})
	ts.Setenv(args[0], strconv.Itoa(cmd.Process.Pid))
}

// listener is one of a script's. Each connection is one value: true when it was
// heard's own.
type listener struct {
	net.Addr
	came chan bool
}

type listeners map[string]listener

var heardBy perScript[listeners, listener]

// ownMark is what heard's own connection says.
const ownMark = "mark"

// listen NAME unix|tcp|abstract ADDRESS: a listener of the host's own. A tcp
// listener chooses its port and sets the variable NAME to its address.
func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "listen NAME unix|tcp|abstract ADDRESS")
	network, addr := args[1], args[2]
	switch network {
	case "abstract":
		network, addr = "unix", "@"+addr
	case "unix":
		addr = ts.MkAbs(addr)
	}
	l, err := net.Listen(network, addr)
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimPrefix(l.Addr().String(), "@"))
	came := make(chan bool, 64)
	heardBy.of(ts)[args[0]] = listener{l.Addr(), came}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, len(ownMark))
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second)) // one that says nothing counts too
			n, _ := c.Read(b)
			c.Close()
			came <- string(b[:n]) == ownMark
		}
	}()
	ts.Defer(func() {
		l.Close()
		<-done
	})
}

// heard NAME N: exactly N connections came since the last time. One of its own
// comes after them, so that none is on its way still.
func cmdHeard(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "heard NAME N")
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	l, ok := heardBy.of(ts)[args[0]]
	if !ok {
		ts.Fatalf("no listener is named %q", args[0])
	}
	c, err := net.Dial(l.Network(), l.String())
	ts.Check(err)
	defer c.Close()
	_, err = c.Write([]byte(ownMark))
	ts.Check(err)
	got := 0
	for {
		select {
		case own := <-l.came:
			if !own {
				got++
				continue
			}
		case <-time.After(patience):
			ts.Fatalf("the listener does not hear its own connection")
		}
		break
	}
	if got != want {
		ts.Fatalf("got %d connections, want %d", got, want)
	}
}

// random DIR N SEED: N files of all byte values and odd sizes up to 1 MiB, the
// same for the same seed; two in three are executable or not, read-only or not.
func cmdRandom(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "random DIR N SEED")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for i := range n {
		seed := sha256.Sum256(fmt.Appendf(nil, "%s/%d", args[2], i))
		// Most are small, a few come near to the largest size.
		size := int(seed[0])<<8 | int(seed[1])
		switch {
		case i == 0:
			size = 0
		case i%10 == 1:
			size = 1<<20 - int(seed[2])
		}
		b := make([]byte, 0, size+sha256.Size)
		for k := 0; len(b) < size; k++ {
			block := sha256.Sum256(fmt.Appendf(seed[:], "%d", k))
			b = append(b, block[:]...)
		}
		mode := []os.FileMode{0o644, 0o755}[i%2]
		path := filepath.Join(dir, fmt.Sprintf("f%03d", i))
		ts.Check(os.WriteFile(path, b[:size], mode))
		ts.Check(os.Chmod(path, mode))
	}
}

// repeat N STATUS COMMAND...: each time with that status, and a last line END.
func cmdRepeat(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "repeat N STATUS COMMAND...")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range n {
		cmdStatus(ts, false, args[1:])
		if out := ts.ReadFile("stdout"); !strings.HasSuffix(out, "END") {
			ts.Fatalf("got output that ends in %q, want END", out[max(0, len(out)-40):])
		}
	}
}

// umask MODE STATUS COMMAND...: run it under a umask.
func cmdUmask(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "umask MODE STATUS COMMAND...")
	cmdStatus(ts, false, append([]string{args[1], "sh", "-c", "umask " + args[0] + `; exec "$@"`, "sh"}, args[2:]...))
}
