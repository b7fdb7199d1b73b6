package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"fumehood/internal/beneath"
	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// hogs tries to take more than the policy allows of each thing that it bounds.
// Each hog is watched from outside, untraced: a tracer would slow it down and
// would be one of what is counted.
func hogs(ctx context.Context, e *env) ([]walls.Attempt, error) {
	r := &hogRun{e: e, kind: e.target.kind()}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	out, err := r.armed(ctx)
	if err != nil {
		return out, err
	}
	more, err := r.all(ctx)
	return append(out, more...), err
}

// hogRun is one run of the test.
type hogRun struct {
	e      *env
	kind   kind
	small  *policy.Policy
	own    int64 // of a session's disk, before a hog begins
	calm   time.Duration
	usable int // processors

	mu   sync.Mutex // held while a room is opened
	room room       // of the hogs that do not end it
}

func (r *hogRun) prepare() error {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("size of the probe: %w", err)
	}
	r.own = self.Size()
	r.small = hogPolicy(r.e.pol, r.own)
	cpus, err := limits.UsableCPUs()
	if err != nil {
		return err
	}
	r.usable = len(cpus)
	for range 3 {
		took, err := forkOnce()
		if err != nil {
			return err
		}
		if r.calm == 0 || took < r.calm {
			r.calm = took
		}
	}
	// What the machine has not got is refused without a limit's doing.
	if free, need := meminfo("MemAvailable"), int64(1<<30); free < need {
		return fmt.Errorf("only %s of memory are free: hogs need %s", limits.Bytes(free), limits.Bytes(need))
	}
	dir, err := beneath.OpenRoot(r.e.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	free, _, err := limits.Free(dir)
	if need := int64(512 << 20); err == nil && free < need {
		err = fmt.Errorf("only %s of disk are free: hogs need %s", limits.Bytes(free), limits.Bytes(need))
	}
	return err
}

// hogLanes is how many hogs go on at once.
const hogLanes = 2

// done is one hog's attempts.
type hogDone struct {
	at       int
	attempts []walls.Attempt
	err      error
}

// all runs every hog: those that a session survives one after the other in one,
// the others in one each.
func (r *hogRun) all(ctx context.Context) ([]walls.Attempt, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table := hogTable()
	var jobs [][]int // of one room each
	var stays []int
	for i, h := range table {
		switch {
		case !h.total:
			stays = append(stays, i)
		case r.kind != bare: // nothing watches the total of a sandbox alone
			jobs = append(jobs, []int{i})
		}
	}
	jobs = append([][]int{stays}, jobs...)
	next, results := make(chan []int, len(jobs)), make(chan hogDone)
	for _, j := range jobs {
		next <- j
	}
	close(next)
	var wg sync.WaitGroup
	for range hogLanes {
		wg.Go(func() {
			for job := range next {
				for _, i := range job {
					as, err := sure(func() ([]walls.Attempt, bool, error) { return r.one(ctx, table[i], len(job) > 1) })
					results <- hogDone{i, as, err}
				}
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
	got := make([][]walls.Attempt, len(table))
	var errs []error
	for d := range results {
		got[d.at] = d.attempts
		errs = append(errs, d.err)
		for _, a := range d.attempts {
			r.e.tell(walls.Event{Test: r.e.test, Attempt: &a})
		}
	}
	return slices.Concat(got...), errors.Join(errs...)
}

// open is a room for one hog, or the one that several share.
func (r *hogRun) open(ctx context.Context, keep bool) (room, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if keep && r.room != nil {
		return r.room, nil
	}
	rm, err := r.e.openRoom(ctx, r.small)
	if keep {
		r.room = rm
	}
	return rm, err
}

func (r *hogRun) bound(h hog) (hogBound, bool) {
	if r.kind == foreign {
		return foreignBound(h, r.e.pol)
	}
	return boundOf(h, r.e.pol, r.small, r.own)
}

// one makes one hog's attempt, and its control where it has one of its own. thin
// says that its forks were slow and too few to tell of the host.
func (r *hogRun) one(ctx context.Context, h hog, keep bool) (as []walls.Attempt, thin bool, err error) {
	b, ok := r.bound(h)
	n, text := nonce()
	a := walls.Attempt{ID: h.id, Nonce: text, Tried: h.tried, Witness: walls.Supervisor}
	fill := func(o outcome) []walls.Attempt {
		a.Observed, a.Witness, a.Evidence, a.Verdict = o.observed, o.witness, clean(o.evidence), o.verdict
		return []walls.Attempt{a}
	}
	if !ok {
		a.Expected = "no limit"
		return fill(notApplicable("the policy sets " + h.limit + " to none")), false, nil
	}
	a.Expected = b.expected(h)
	rm, err := r.open(ctx, keep)
	if err != nil {
		return fill(errored(err.Error())), false, ctx.Err()
	}
	actions, control := r.actions(h, b, rm, n, text)
	s, err := r.burst(ctx, rm, h, actions, r.folder(rm, h, text), b.ceiling)
	if err != nil {
		return fill(errored(err.Error())), false, ctx.Err()
	}
	if median(s.forks) > forkWithin {
		thin = len(s.forks) < forkSamples
		// A machine that is as slow without the hog tells nothing of it.
		var again []time.Duration
		for range 5 {
			if took, err := forkOnce(); err == nil {
				again = append(again, took)
			}
		}
		s.calm = max(s.calm, median(again))
	}
	o := judgeHog(h, b, s.hogBurst)
	a.Control = control
	if control != "" && o.verdict == walls.Held && !s.control {
		o = errored("its control did not work, so what came after it means nothing: " + control)
	}
	// Another sandbox's rooms have one probe file, and closing one would end all.
	if !keep && r.kind != foreign {
		if err := rm.close(ctx); err != nil {
			return fill(errored("end the session: " + err.Error())), false, ctx.Err()
		}
	}
	return fill(o), thin, nil
}

// hogFolder is where a disk hog writes: its place inside and on the host.
type hogFolder struct{ inside, host string }

// folder gives the workspace for what can't be in the way of a review, which
// would have to read it all, and else the session's home.
func (r *hogRun) folder(rm room, h hog, nonce string) hogFolder {
	host, inside := rm.workspace()
	if s, ok := rm.(*sess); ok && h.id != "disk one" {
		host, inside = s.dir.Home(), rm.home()
	}
	name := "fumehood-hog-" + nonce
	return hogFolder{filepath.Join(inside, name), filepath.Join(host, name)}
}

// actions is the hog, behind what is permitted next to it.
func (r *hogRun) actions(h hog, b hogBound, rm room, n uint64, nonce string) (list []probe.Action, control string) {
	num := func(n int64) string { return strconv.FormatInt(n, 10) }
	args := map[string]string{"how": h.how, "start": num(b.number * 45 / 100), "to": num(b.ceiling), "rate": num(memoryRate), "hold": "60"}
	if h.total {
		args["hold"] = "300"
	}
	if h.total && r.kind == ours && h.how != "flight" {
		// As long as it may take between two looks at a session that seems at
		// rest: one that waits for a disk uses little of a processor.
		args["hold"] = num((limits.RestEvery + 500*time.Millisecond).Milliseconds())
	}
	little := map[string]string{"how": h.how, "start": "0", "rate": "0", "hold": "0"}
	switch h.limit {
	case "cpus":
		args = map[string]string{"threads": strconv.Itoa(r.usable + 4), "ms": "600"}
		return []probe.Action{{Seq: 1, Nonce: n, Do: h.do, Args: args}}, ""
	case "processes":
		args["start"], args["rate"], little["to"] = "0", "0", "3"
		control = "three of them work"
		if h.do == "hog-threads" { // once started they stay with the probe
			return []probe.Action{{Seq: 1, Nonce: n, Do: h.do, Args: args}}, ""
		}
	case "memory":
		little["to"] = num(8 << 20)
		control = "8MiB work"
	case "disk":
		f := r.folder(rm, h, nonce)
		args["dir"], little["dir"] = f.inside, f.inside+"-little"
		args["start"], args["to"], args["rate"], little["to"] = "0", num(b.ceiling-b.used), num(diskRate), num(2<<20)
		control = "2MiB work"
		if h.id == "inodes" {
			args["rate"], little["to"], control = "0", "1000", "1000 work"
			if r.kind == ours {
				args["hold"] = num(7000) // names alone are looked for every 5 s
			}
			// In parts, so that a slow machine is not taken for one that hangs.
			const parts = 10
			args["to"] = num(b.ceiling / parts)
			list = []probe.Action{{Seq: 0, Nonce: n, Do: h.do, Args: little}}
			for i := range parts {
				part := maps.Clone(args)
				part["dir"] = fmt.Sprintf("%s/%d", f.inside, i)
				if i < parts-1 {
					part["hold"] = "0"
				}
				list = append(list, probe.Action{Seq: parts - i, Nonce: n, Do: h.do, Args: part}) // the last one's word is 1
			}
			return list, control
		}
		if h.how == "sparse" {
			// The little behind it makes whoever counts count again.
			args["to"], args["rate"], little["to"], little["how"] = num(10*b.number), "0", num((b.number-b.used)/3), "one"
			little["dir"] = f.inside
			control = limits.Bytes((b.number-b.used)/3) + " of data work"
			return []probe.Action{{Seq: 1, Nonce: n, Do: h.do, Args: args}, {Seq: 0, Nonce: n, Do: h.do, Args: little}}, control
		}
	}
	return []probe.Action{{Seq: 0, Nonce: n, Do: h.do, Args: little}, {Seq: 1, Nonce: n, Do: h.do, Args: args}}, control
}

// hogShot is a burst and its control.
type hogShot struct {
	hogBurst
	control bool
}

// burst runs one hog and gathers what was seen of it.
func (r *hogRun) burst(ctx context.Context, rm room, h hog, actions []probe.Action, f hogFolder, ceiling int64) (hogShot, error) {
	var w *hogWatch
	got, err := rm.probe(ctx, probe.Job{Actions: actions}, how{patience: hogFor, started: func(pid int) { w = startWatch(ctx, h, ceiling, pid, rm.first()) }})
	if w != nil {
		w.stop()
	}
	if err != nil {
		return hogShot{}, err
	}
	if w == nil {
		return hogShot{}, fmt.Errorf("the probe did not start: %s: %q", got.ended, tail(got.out))
	}
	if w.err != nil {
		return hogShot{}, fmt.Errorf("watch the hog: %w", w.err)
	}
	s := hogShot{hogBurst: hogBurst{
		ended: got.ended, peak: w.peak, source: w.source, forks: w.forks, forkErr: w.forkErr, calm: r.calm,
		foreign: r.kind == foreign, sampled: r.kind != foreign && !countedByCgroup(r.e.layers), allowed: w.allowed, machine: r.usable, cpu: w.cpu,
	}}
	if s.foreign {
		s.bounds = w.bounds
	}
	if said, ok := got.said[1]; ok {
		s.said = &said
	}
	if said, ok := got.said[0]; ok {
		s.control = said.Text == probe.HogUnstopped
	}
	if h.limit == "disk" {
		bytes, entries, err := takenOnDisk(f.host)
		if err != nil {
			return hogShot{}, fmt.Errorf("look at what the hog wrote: %w", err)
		}
		s.peak, s.source = bytes, "blocks below "+f.host
		if h.id == "inodes" {
			s.peak, s.source = entries, "names below "+f.host
		}
	}
	return s, r.ended(ctx, rm, w, &s.hogBurst)
}

// ended reads from the session's record whether a limit ended it, and waits for
// what goes then.
func (r *hogRun) ended(ctx context.Context, rm room, w *hogWatch, s *hogBurst) error {
	own, ok := rm.(*sess)
	if !ok || s.ended == "exit 0" {
		return nil
	}
	// The record is written when all else is done.
	for end := time.Now().Add(goneWithin); own.dir.Live() && time.Now().Before(end) && hogPause(ctx, 5*time.Millisecond); {
		continue
	}
	rec, err := own.dir.LoadRecord()
	if err != nil || rec.Limit == nil {
		return err
	}
	s.limit = rec.Limit
	if s.left, err = w.gone(ctx); err != nil {
		return err
	}
	events, _, err := own.dir.ReadEvents()
	if err != nil {
		return err
	}
	for _, ev := range events {
		if ev.Kind == "limit" && w.seen.After(ev.Time) {
			s.after = w.seen.Sub(ev.Time)
			return nil
		}
	}
	return nil
}

// hogFor is how long one hog may take: names by the ten thousand are seconds of
// the kernel's time on a busy machine.
const hogFor = 45 * time.Second

// countedByCgroup says whether the kernel counts a session's memory as a whole.
func countedByCgroup(facts []layer.Fact) bool {
	return slices.ContainsFunc(facts, func(f layer.Fact) bool { return f.What == "memory.max" && f.OK })
}
