// Package supervisor is the process outside the sandbox that owns one live
// session: it closes the walls, owns the terminal, the clocks and the record,
// and serves the session's socket. It may be called only as the re-executed
// process that session starts; it decides nothing and writes nothing but its
// session's folder, and says so to the kernel before the agent starts. When it
// ends, for whatever reason, everything inside ends.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/egress"
	"fumehood/isolate/egress/credential"
	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/limits/cgroup"
	"fumehood/isolate/policy"
	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// Arg is the first argument that makes the binary a supervisor.
const Arg = "__supervise"

// readyFD is where the starter waits for one line: "ready" or what went wrong.
const readyFD = 3

// Dispatch runs the supervisor and ends the process when the arguments ask for
// it; else it returns at once.
func Dispatch() {
	if len(os.Args) != 3 || os.Args[1] != Arg {
		return
	}
	os.Exit(main(store.Dir(os.Args[2])))
}

// supervisor is one live session. The fields under mu are shared between the
// connections, the clocks and the main goroutine; all others are set before
// any of them starts and never change.
type supervisor struct {
	dir       store.Dir
	start     *store.Start
	pol       *policy.Policy
	sb        *isolate.Sandbox
	out       *store.Output
	log       *log.Logger
	began     chan struct{} // closed when a held start may go on
	proxy     *egress.Proxy
	keeper    *credential.Keeper // nil without accounts
	routes    atomic.Int64       // of the kernel's count, what is written down
	egressLog *store.EgressLog
	tenant    string
	place     *cgroup.Place // where the session's cgroup is; nil when it has none

	snapMu sync.Mutex // one snapshot at a time

	msgMu    sync.Mutex // one message to the agent at a time
	msgWaits bool       // a goroutine waits to hand over what is kept

	allowMu   sync.Mutex     // one entry at a time
	policyNow *policy.Policy // with the entries that were added; nil before the first

	mu       sync.Mutex
	rec      *store.Record
	main     *run           // the session's own command
	runs     map[*run]bool  // it and every exec
	ending   *wire.End      // set once: why the session ends
	endOnce  chan struct{}  // closed with ending
	paused   time.Duration  // how long everything stood still for snapshots
	peak     wire.Used      // largest samples
	conns    sync.WaitGroup // served connections
	idle     idlers         // those of them that wait for a request
	lastWarn map[string]bool
	marked   *mark // at the newest live snapshot of this run
	execs    int   // commands started beside the session's own
}

func main(dir store.Dir) int {
	privateFiles()
	ready := os.NewFile(readyFD, "ready")
	release, err := dir.HoldLive()
	if err != nil {
		_, _ = fmt.Fprintf(ready, "session %s is live already: %v\n", dir.ID(), err)
		return 1
	}
	defer release()
	s := &supervisor{
		dir: dir, log: log.New(os.Stderr, "", log.LstdFlags|log.LUTC),
		began: make(chan struct{}), endOnce: make(chan struct{}),
		runs: map[*run]bool{}, lastWarn: map[string]bool{},
	}
	if err := s.prepare(); err != nil {
		s.refuse(err)
		writeRefusal(ready, err)
		return 1
	}
	sampler, err := s.newSampler()
	if err != nil {
		s.abandon()
		s.refuse(err)
		writeRefusal(ready, err)
		return 1
	}
	listener, err := s.listen()
	if err != nil {
		s.abandon()
		s.refuse(err)
		writeRefusal(ready, err)
		return 1
	}
	if err := confine(dir, s.place); err != nil {
		s.abandon()
		s.refuse(err)
		writeRefusal(ready, err)
		return 1
	}
	_, _ = fmt.Fprintln(ready, "ready") // a starter that has gone is no reason to end
	_ = ready.Close()

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	go func() {
		for sig := range signals {
			if sig == unix.SIGHUP {
				continue // the terminal that started us went away; the session lives on
			}
			s.end(wire.End{State: wire.StateStopped, Error: "the supervisor was told to end"})
		}
	}()
	go s.serve(listener)
	stopClocks := s.startClocks(sampler)
	if !s.start.Hold {
		s.release(nil)
	}
	s.wait()
	stopClocks()
	_ = listener.Close() // it is never used again
	s.finish(sampler)
	sampler.close()
	return 0
}

// prepare reads what is to run and closes the walls.
func (s *supervisor) prepare() error {
	var err error
	if s.rec, err = s.dir.LoadRecord(); err != nil {
		return err
	}
	if s.start, err = s.dir.LoadStart(); err != nil {
		return err
	}
	src, err := os.ReadFile(s.dir.Policy())
	if err != nil {
		return err
	}
	if s.pol, err = policy.Parse(s.dir.Policy(), src); err != nil {
		return err
	}
	s.pol.Name = s.rec.PolicyName // records and refusals name entries by it
	if s.out, err = s.dir.OpenOutput(int64(s.pol.Limits.OutputBytes)); err != nil {
		return err
	}
	given, err := readGiven()
	if err != nil {
		return err
	}
	tenant, err := os.ReadFile(s.dir.Tenant())
	if err != nil {
		return fmt.Errorf("read the session's tenant: %w", err)
	}
	s.tenant = string(tenant)
	if err := s.prepareEgress(given); err != nil {
		return err
	}
	spec := s.spec()
	if spec.Caches, err = s.caches(); err != nil {
		return err
	}
	offered, err := cgroup.Offer()
	if err != nil {
		return &layer.Error{Layer: layer.Limits, Op: "look for a cgroup", Err: err}
	}
	spec.Place, spec.Bus, spec.Ungrouped = offered.Place, offered.Bus, offered.Why
	s.sb, err = isolate.Start(context.Background(), spec)
	if err != nil {
		return err
	}
	s.place = s.sb.Place()
	if err := s.serveEgress(); err != nil {
		s.abandon()
		return err
	}
	s.setState(wire.StatePreparing)
	return s.event("walls closed", "every layer is in force", map[string]any{"layers": s.sb.Layers()})
}

func (s *supervisor) spec() isolate.Spec {
	sp := isolate.Spec{
		ID:        s.dir.ID(),
		Workspace: isolate.Mount{Host: s.dir.Workspace(), Inside: s.rec.Repo},
		Home:      isolate.Mount{Host: s.dir.Home(), Inside: isolate.HomeInside},
		Canary:    s.dir.Canary(),
		Require:   s.pol.Boundary.Require,
		UID:       s.rec.UID, GID: s.rec.GID, User: s.rec.User,
		Processes: s.pol.Limits.Processes,
		DataBytes: uint64(s.pol.Limits.Memory),
		OpenFiles: 0,
		FileBytes: uint64(s.pol.Limits.Disk),
		CPUs:      s.pol.Limits.CPUs,
		TreeBytes: int64(s.pol.Limits.Memory),
		Metered:   s.pol.Limits.Memory > 0 || s.pol.Limits.Disk > 0,
		// What is in /tmp counts as memory, so more than all of it never fits;
		// unbounded, it could be filled between two samples.
		TmpBytes: uint64(s.pol.Limits.Memory),
	}
	sp.Egress, sp.Trust = true, s.dir.Trust()
	sp.ReadOnly, sp.HostHome = s.start.ReadOnly, s.start.HostHome
	return sp
}

// release lets a held start go on; more than once does no harm. client is who
// it goes on for, nil when nobody watches.
func (s *supervisor) release(client *wire.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.began:
		return
	default:
		close(s.began)
	}
	r := newRun(s, isolate.Command{
		Argv: s.start.Command, Env: s.start.Env, Dir: filepath.Join(s.rec.Repo, s.start.Folder),
	}, s.start.TTY, isolate.Size{Cols: s.start.Cols, Rows: s.start.Rows}, true)
	if !r.tty {
		r.client = client
	}
	s.main = r
	s.runs[r] = true
	s.rec.State, s.rec.Started, s.rec.Runs = wire.StateRunning, time.Now().UTC(), s.rec.Runs+1
	if err := r.begin(); err != nil {
		// A sandbox that ends before the spawner has answered may have been
		// ended by the command itself: it counts as begun.
		s.rec.Began = errors.Is(err, isolate.ErrEnded)
		go s.end(wire.End{State: wire.StateFailed, Began: s.rec.Began, Error: err.Error()})
		return
	}
	s.rec.Began = true
	s.save()
	if r.term != nil {
		s.await(r.term)
	}
}

// holdFor is how long a held start waits for its first client.
const holdFor = 30 * time.Second

// wait returns when the session is to end.
func (s *supervisor) wait() {
	select {
	case <-s.began:
	case <-s.endOnce:
		return
	case <-s.sb.Done():
		s.end(wire.End{State: wire.StateFailed, Error: "the sandbox ended before the command began"})
		return
	case <-time.After(holdFor):
		s.end(wire.End{State: wire.StateFailed, Error: fmt.Sprintf("nobody came for the session's command within %v", holdFor)})
		return
	}
	s.mu.Lock()
	r := s.main
	s.mu.Unlock()
	select {
	case <-s.endOnce:
	case <-r.exited:
		st := r.status
		s.end(wire.End{State: wire.StateExited, Began: st.StartErr == "", Code: st.Code, Signal: st.Signal, Error: st.StartErr})
	case <-s.sb.Done():
		// The command's own end and the sandbox's can come together: what the
		// spawner still said of the command counts first.
		select {
		case <-r.exited:
			st := r.status
			s.end(wire.End{State: wire.StateExited, Began: st.StartErr == "", Code: st.Code, Signal: st.Signal, Error: st.StartErr})
		case <-time.After(200 * time.Millisecond):
			s.end(wire.End{State: wire.StateFailed, Began: true, Error: "the sandbox ended under the command: its spawner or first process was ended from inside or by the kernel"})
		}
	}
}

// end sets why the session ends; the first reason stands.
func (s *supervisor) end(e wire.End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return
	}
	s.ending = &e
	close(s.endOnce)
}

// finish ends everything inside, gathers the last words, and writes the record.
func (s *supervisor) finish(m *sampler) {
	e := s.ending
	s.lastSample()
	if tree, err := limits.Tree(s.sb.PID()); err == nil {
		e.Usage.Leftover = max(0, len(tree)-1-s.main.alive()) // without the spawner
	}
	killErr := s.sb.Kill()
	s.endEgress()
	if killErr != nil {
		s.log.Printf("end the sandbox: %v", killErr)
		_ = s.event("kill", killErr.Error(), nil)
	} else {
		s.closeCaches()
	}
	m.wait()
	reached := m.memory()
	if reached == nil {
		reached = m.last(context.Background())
	}
	if reached != nil && e.Limit == nil && e.Began {
		e.State, e.Error, e.Limit = wire.StateLimit, "", &wire.Limit{Name: reached.Name, Value: reached.Value, Used: reached.Used}
		_ = s.event("limit", reached.Error(), nil)
	}
	s.mu.Lock()
	runs := make([]*run, 0, len(s.runs))
	for r := range s.runs {
		runs = append(runs, r)
	}
	started := s.rec.Started
	e.Usage.PeakRSS, e.Usage.Procs, e.Usage.CPUMS = s.peak.PeakRSS, s.peak.Procs, s.peak.CPUMS
	if !started.IsZero() {
		e.Usage.WallMS = time.Since(started).Milliseconds()
	}
	s.mu.Unlock()
	for _, r := range runs {
		r.drain()
	}
	if err := s.out.Close(); err != nil {
		s.log.Printf("close output: %v", err)
	}
	switch {
	case s.rec.TryOf != "": // nothing of a try comes back
	case killErr != nil: // what may still write is not read; a review reads it once all has ended
		_ = s.event("snapshot", "no final snapshot: not everything inside has ended", nil)
	default:
		if err := s.snapshot(context.Background(), baseline.Options{}); err != nil {
			s.log.Printf("final snapshot: %v", err)
			_ = s.event("snapshot", "final snapshot: "+err.Error(), nil)
		} else if _, err := session.Look(context.Background(), s.dir); err != nil {
			s.log.Printf("look at what changed: %v", err)
		}
	}
	s.mu.Lock()
	s.rec.State, s.rec.Limit, s.rec.Signal, s.rec.Ended = e.State, e.Limit, e.Signal, time.Now().UTC()
	s.rec.Error = e.Error
	if s.main != nil && s.main.term != nil {
		s.rec.LastLine = lastLine(s.main.term)
		f := history(s.main.term)
		f.State, f.Ended = e.State, true
		if err := s.dir.SaveFrame(f); err != nil {
			s.log.Printf("keep the last picture: %v", err)
		}
	}
	s.rec.Began = s.rec.Began && (e.Began || e.State != wire.StateExited)
	e.Began = s.rec.Began
	if e.State == wire.StateExited {
		code := e.Code
		s.rec.Code = &code
	}
	s.save()
	s.mu.Unlock()
	_ = s.event("end", string(e.State), map[string]any{"exit_code": e.Code, "signal": e.Signal, "limit": e.Limit, "error": e.Error, "leftover": e.Usage.Leftover})
	_ = os.Remove(filepath.Join(string(s.dir), socketName)) // the next supervisor takes it away
	for _, r := range runs {
		r.tell(*e)
	}
	s.idle.end()
	done := make(chan struct{})
	go func() { s.conns.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second): // a client that does not read its last frame is left behind
	}
}

// lastSampleFor is how long the end waits for a look at what is used now. What
// runs on meanwhile is over its limit or was to be stopped.
const lastSampleFor = 300 * time.Millisecond

// lastSample looks once more at what is inside, if that is quick.
func (s *supervisor) lastSample() {
	got := make(chan isolate.Usage, 1)
	go func() { // it ends with the meter, which the kill takes along
		defer close(got)
		if u, err := s.sb.Usage(); err == nil {
			got <- u
		}
	}()
	select {
	case u, ok := <-got:
		if ok {
			s.sample(u)
		}
	case <-time.After(lastSampleFor):
	}
}

// abandon ends a sandbox in which nothing was started.
func (s *supervisor) abandon() {
	if err := s.sb.Kill(); err != nil {
		s.log.Printf("end the sandbox: %v", err)
	}
}

// refuse records that nothing ran.
func (s *supervisor) refuse(err error) {
	s.log.Printf("refused: %v", err)
	_ = s.event("refused", err.Error(), nil)
	if s.rec == nil {
		return
	}
	s.rec.State, s.rec.Error, s.rec.Ended = wire.StateFailed, err.Error(), time.Now().UTC()
	s.save()
}

// writeRefusal hands the starter the error, and its hint on a second line. A
// starter that has gone finds both in the record.
func writeRefusal(w io.Writer, err error) {
	_, _ = fmt.Fprintf(w, "%v\n", err)
	var le *layer.Error
	if errors.As(err, &le) && le.Hint != "" {
		_, _ = fmt.Fprintf(w, "hint: %s\n", le.Hint)
	}
}

func (s *supervisor) setState(st wire.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec.State = st
	s.save()
}

// save writes the record; callers hold mu.
func (s *supervisor) save() {
	if err := s.dir.SaveRecord(s.rec); err != nil {
		s.log.Printf("save record: %v", err)
	}
}

func (s *supervisor) event(kind, text string, fields map[string]any) error {
	err := s.dir.AppendEvent(time.Now(), kind, text, fields)
	if err != nil {
		s.log.Printf("event log: %v", err)
	}
	return err
}
