package credential

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/wire"
)

// arg is the word after the program's name that makes it a keeper.
const arg = "__keeper"

// keeperFD is a keeper's end of the socket.
const keeperFD = 3

const (
	setupFor    = 10 * time.Second
	between     = 250 * time.Millisecond // at least, from one start of a command to its next
	lookEvery   = 2 * time.Second        // at the parent
	suspectFor  = time.Second            // when it was found stopped once
	statusOther = 125
)

// Dispatch becomes a keeper when this process was started as one, and never
// returns then; else it returns at once. It belongs in the first lines of main.
func Dispatch() {
	if len(os.Args) == 2 && os.Args[1] == arg {
		os.Exit(keep())
	}
}

// keeper answers one supervisor. What it holds is fixed after prepare; each memo
// has its own lock.
type keeper struct {
	set     setup
	sources map[string]source
	memos   map[string]*memo
	runner  *runner
	conn    *wire.Conn
	reads   chan struct{} // full while maxReads files are read
}

func keep() int {
	conn, err := wire.New(keeperFD, "keeper", maxSetup)
	if err != nil {
		return statusOther
	}
	k := &keeper{conn: conn, reads: make(chan struct{}, maxReads)}
	if err = harden(); err == nil {
		err = k.prepare()
	}
	if err != nil {
		_ = conn.Send(answer{Err: err.Error()}) // the status says it too
		return statusOther
	}
	if conn.Send(answer{}) != nil {
		return 0 // nobody is there any more
	}
	go k.watch()
	defer k.runner.end()
	for {
		var a ask
		if fds, err := conn.Recv(&a); err != nil || len(fds) > 0 {
			return 0 // the other end closed, or is none of ours
		}
		if a.Stale {
			k.stale(a.Name)
			continue
		}
		go func() { // maxAsks of them at most: the other end counts
			ans := answer{ID: a.ID}
			var err error
			if ans.Secret, err = k.secret(a.Name); err != nil {
				ans.Secret, ans.Err = "", err.Error()
			}
			_ = conn.Send(ans) // without a reader the loop above ends as well
		}()
	}
}

// harden comes before anything is known: no other process of the user's may
// look into this one, and no memory of it reaches a disk.
func harden() error {
	return errors.Join(
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		everyThread(unix.PR_SET_NO_NEW_PRIVS, 1),
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
}

// everyThread makes a prctl that holds for its thread alone on all of them: any
// may be the one that starts a command. It needs a build without cgo.
func everyThread(option, value uintptr) error {
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, option, value, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("prctl on every thread: %w", e)
	}
	return nil
}

func (k *keeper) prepare() error {
	if err := k.conn.SetReadDeadline(time.Now().Add(setupFor)); err != nil {
		return err
	}
	if fds, err := k.conn.Recv(&k.set); err != nil || len(fds) > 0 {
		return errors.New("no setup came")
	}
	k.sources, k.memos = map[string]source{}, map[string]*memo{}
	for name, s := range k.set.Sources {
		src, err := parse(s)
		if err != nil {
			return fmt.Errorf("account %q: %w", name, err)
		}
		k.sources[name] = src
		k.memos[name] = new(memo)
	}
	k.runner = &runner{env: k.env(), never: k.set.Never, deadline: k.set.Deadline, live: map[int]bool{}}
	return k.conn.SetReadDeadline(time.Time{})
}

// env is all that a command gets.
func (k *keeper) env() []string {
	out := []string{"PATH=" + k.set.Path, "HOME=" + k.set.Home, "LANG=C.UTF-8"}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		out = append(out, "USER="+u.Username)
	}
	return out
}

// watch ends the keeper when its parent is stopped: its session ends then, and
// nothing of it may stay.
func (k *keeper) watch() {
	for suspect := false; ; {
		every := lookEvery
		if suspect {
			every = suspectFor
		}
		<-time.After(every)
		st, err := limits.ReadStat(os.Getppid(), 0)
		now := err == nil && (st.State == 'T' || st.State == 't')
		if now && suspect {
			k.runner.end()
			os.Exit(0)
		}
		suspect = now
	}
}

func (k *keeper) secret(name string) (string, error) {
	src, ok := k.sources[name]
	if !ok {
		return "", fmt.Errorf("account %q: it has no source", name)
	}
	var s string
	var err error
	switch src.kind {
	case kindEnv:
		v, ok := k.set.Env[src.name]
		if !ok {
			err = errors.New("it is not set")
			break
		}
		s, err = extract([]byte(v), nil)
	case kindFile:
		path := src.path
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = k.set.Home + "/" + rest
		}
		var content []byte
		k.reads <- struct{}{}
		content, err = readFile(path, k.set.Never)
		<-k.reads
		if err == nil {
			s, err = extract(content, src.pointer)
		}
	case kindCommand:
		s, err = k.memos[name].get(k.set.Keep, func() (string, error) {
			text, err := k.runner.run(src.argv)
			if err != nil {
				return "", err
			}
			return extract(text, nil)
		})
	}
	if err != nil {
		return "", fmt.Errorf("account %q: its %s source: %w", name, src.kind, err)
	}
	return s, nil
}

func (k *keeper) stale(name string) {
	if m := k.memos[name]; m != nil {
		m.forget()
	}
}

// memo keeps what a command said. Whoever asks while it runs shares the run;
// runs begin some time apart, since the inside can bring them about at will.
type memo struct {
	mu    sync.Mutex
	value string
	until time.Time
	last  time.Time // when the last run began
	run   *run      // under way, and not stale
}

type run struct {
	done  chan struct{}
	value string
	err   error
}

func (m *memo) get(keep time.Duration, read func() (string, error)) (string, error) {
	m.mu.Lock()
	if m.value != "" && time.Now().Before(m.until) {
		defer m.mu.Unlock()
		return m.value, nil
	}
	r := m.run
	if r != nil {
		m.mu.Unlock()
		<-r.done
		return r.value, r.err
	}
	r = &run{done: make(chan struct{})}
	m.run = r
	wait := time.Until(m.last.Add(between))
	m.last = time.Now().Add(max(wait, 0))
	m.mu.Unlock()
	if wait > 0 {
		<-time.After(wait)
	}
	r.value, r.err = read()
	m.mu.Lock()
	if m.run == r {
		m.run = nil
		if r.err == nil {
			m.value, m.until = r.value, time.Now().Add(keep)
		}
	}
	m.mu.Unlock()
	close(r.done)
	return r.value, r.err
}

// forget drops what was kept. A run under way may have read the old secret, so
// that nobody joins it any more.
func (m *memo) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value, m.run = "", nil
}
