package prove

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// test is one of the sixteen as it is carried out.
type test struct {
	number int
	// run tries everything and judges it. An error is one of the test as a
	// whole: it could not be carried out.
	run func(ctx context.Context, e *env) ([]walls.Attempt, error)
	// against says that it can be pointed at another sandbox, and bare that it
	// needs no more than isolate's.
	against, bare bool
}

// rounds is which tests run one after the other. Lanes of one round run beside
// each other, each with things of its own; the hogs come last and alone, since
// they would disturb what the others measure.
var rounds = [][][]int{
	{{1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 16}, {15, 11, 9, 10}},
	{{8}},
}

// Run runs the tests that r names and gives the record. A record is given for
// every run that began, whatever the verdicts; an error means that nothing
// could be run. Ending ctx ends the run: what was not tried by then is an error
// in the record. tell is never called from two goroutines at once.
func Run(ctx context.Context, h *session.Host, r walls.Run, tell func(walls.Event)) (*walls.Record, error) {
	begin := time.Now()
	var telling sync.Mutex
	one := func(e walls.Event) {
		if tell != nil {
			telling.Lock()
			defer telling.Unlock()
			tell(e)
		}
	}
	var rec *walls.Record
	for _, round := range rounds {
		var open []*env
		var lanes [][]test
		for _, numbers := range round {
			mine := slices.DeleteFunc(tests(), func(t test) bool {
				return !slices.Contains(numbers, t.number) || len(r.Only) > 0 && !slices.Contains(r.Only, t.number)
			})
			if len(mine) == 0 {
				continue
			}
			e, err := newEnv(ctx, h, r, one)
			if err == nil && rec == nil {
				rec, err = e.record(begin)
			}
			if err != nil {
				for _, o := range open {
					err = errors.Join(err, o.close())
				}
				return nil, err
			}
			open, lanes = append(open, e), append(lanes, mine)
		}
		results := make([][]walls.Result, len(lanes))
		var wg sync.WaitGroup
		for i, lane := range lanes {
			wg.Go(func() {
				for _, t := range lane {
					results[i] = append(results[i], open[i].runOne(ctx, t))
				}
			})
		}
		wg.Wait()
		for i, e := range open {
			rec.Tests = append(rec.Tests, results[i]...)
			if len(rec.Layers) == 0 && e.layers != nil {
				rec.Layers = e.layers
			}
			if err := e.close(); err != nil {
				rec.Left = append(rec.Left, err.Error())
			}
			rec.Left = append(rec.Left, e.left()...)
		}
	}
	if rec == nil {
		return nil, errors.New("no test was asked for")
	}
	slices.SortFunc(rec.Tests, func(a, b walls.Result) int { return a.Number - b.Number })
	rec.TookMS = time.Since(begin).Milliseconds()
	return rec, nil
}

// runOne runs one test within its deadline.
func (e *env) runOne(ctx context.Context, t test) walls.Result {
	spec, _ := walls.Find(t.number)
	res := walls.Result{Number: t.number, Name: spec.Name, Wall: spec.Wall, Attempts: []walls.Attempt{}}
	e.tell(walls.Event{Test: t.number, Begins: true})
	begin := time.Now()
	switch {
	case e.target.kind() == foreign && !t.against:
		res.Verdict, res.Reason = walls.NA, "it judges fumehood's own record or start"
	case e.target.kind() == bare && !t.bare:
		res.Verdict, res.Reason = walls.NA, "it needs a whole session"
	default:
		most := testFor
		if e.target.kind() == foreign {
			most = foreignFor
		}
		ctx, cancel := context.WithTimeout(ctx, most)
		e.test = t.number
		attempts, err := t.run(ctx, e)
		cancel()
		if attempts != nil {
			res.Attempts = attempts
		}
		res.Verdict, res.Reason = walls.Judge(attempts)
		if err != nil {
			if walls.Worse(res.Verdict, walls.Errored) == walls.Errored {
				res.Verdict, res.Reason = walls.Errored, err.Error()
			}
		}
	}
	res.TookMS = time.Since(begin).Milliseconds()
	e.tell(walls.Event{Test: t.number, Result: &res})
	return res
}

// testFor bounds one test, and foreignFor one in another's sandbox: there each
// probe is a launch, of a program that may take a second to begin.
const (
	testFor    = 2 * time.Minute
	foreignFor = 180 * time.Second
)

// nonce is what ties one attempt inside to what was seen outside.
func nonce() (uint64, string) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return binary.BigEndian.Uint64(b[:]), fmt.Sprintf("%x", b)
}

// rows makes every attempt of a table in one room, traced, and those that a
// host's witness can judge once more untraced. An attempt that ends the probe
// does not keep the others from being made.
func (e *env) rows(ctx context.Context, rm room, list []row) ([]walls.Attempt, error) {
	var out []walls.Attempt
	if e.against() {
		list = slices.DeleteFunc(slices.Clone(list), func(r row) bool { return r.ours })
	}
	traced, err := e.pass(ctx, rm, list, true)
	out = append(out, traced...)
	if err != nil {
		return out, err
	}
	var again []row
	for _, r := range list {
		if r.host || r.judge != nil && isControl(list, r.id) {
			again = append(again, r)
		}
	}
	blind := !slices.ContainsFunc(traced, func(a walls.Attempt) bool { return a.Traced }) // they were made untraced already
	if e.once || blind || !slices.ContainsFunc(again, func(r row) bool { return r.host }) {
		return out, nil
	}
	untraced, err := e.pass(ctx, rm, again, false)
	for _, a := range untraced {
		if slices.ContainsFunc(again, func(r row) bool { return r.id == a.ID && r.host }) {
			out = append(out, a)
		}
	}
	return out, err
}

func isControl(list []row, id string) bool {
	return slices.ContainsFunc(list, func(r row) bool { return r.control == id })
}

// pass makes the attempts of a table once.
func (e *env) pass(ctx context.Context, rm room, list []row, tracing bool) ([]walls.Attempt, error) {
	all, outcomes, err := e.judgeAll(ctx, rm, list, tracing)
	if err != nil {
		return nil, err
	}
	if err := e.accountAlone(ctx, list, outcomes, tracing); err != nil {
		return nil, err
	}
	e.stricter(list, all, outcomes)
	var out []walls.Attempt
	for i, r := range list {
		o, control := outcomes[r.id], ""
		if r.control != "" {
			c, ok := outcomes[r.control]
			switch {
			case !ok:
				o = errored(fmt.Sprintf("its control %q was not tried", r.control))
			case e.strict[e.strictKey(r.control)]:
				control = r.control + ": " + c.observed
			case c.verdict != walls.Held:
				if o.verdict == walls.Held {
					o = errored("its control did not work, so the refusal means nothing: " + c.observed)
				}
				control = r.control + ": " + c.observed
			default:
				control = r.control + ": " + c.observed
			}
		}
		a := r.attempt(all[i].nonce, all[i].traced, o, control)
		out = append(out, a)
		e.tell(walls.Event{Test: e.test, Attempt: &a})
	}
	return out, nil
}

// judgeAll makes the attempts of a table once and judges each by itself.
func (e *env) judgeAll(ctx context.Context, rm room, list []row, tracing bool) ([]*seen, map[string]outcome, error) {
	for i := range list {
		if list[i].before != nil {
			if err := list[i].before(); err != nil {
				return nil, nil, fmt.Errorf("plant what %q needs: %w", list[i].tried, err)
			}
		}
	}
	all, err := e.attemptAll(ctx, rm, list, tracing)
	if err != nil {
		return nil, nil, err
	}
	outcomes := map[string]outcome{}
	for i := range list {
		r, s := &list[i], all[i]
		o := r.judge(s)
		if r.after != nil {
			more, err := r.after()
			if err != nil {
				more = errored(err.Error())
			}
			if s.traced {
				if o.verdict == more.verdict && more.evidence != "" {
					o.evidence += "; " + more.evidence
				}
				o = worst(o, more)
			} else {
				o = worst(more, o) // the host's witness speaks where the tracer does not
			}
		}
		if o.verdict == walls.Held && s.died == "" && s.traced && (s.seg == nil || !s.seg.Ended) {
			o = errored("the attempt was not seen to its end" + s.why())
		}
		if s.blind != "" && o.verdict == walls.Held && !r.host && !isControl(list, r.id) {
			o = errored("only the kernel's answer could tell, and " + s.blind)
		}
		outcomes[r.id] = o
	}
	return all, outcomes, nil
}

// maxProbes bounds how often a probe is started again after an attempt ended it.
const maxProbes = 40

// attemptAll runs the probe until each row was tried once.
func (e *env) attemptAll(ctx context.Context, rm room, list []row, tracing bool) ([]*seen, error) {
	all := make([]*seen, len(list))
	next := 0
	for probes := 0; next < len(list); probes++ {
		if probes == maxProbes {
			return nil, fmt.Errorf("the probe ended %d times before all was tried", probes)
		}
		var job probe.Job
		for i := next; i < len(list); i++ {
			a := list[i].do
			var text string
			a.Nonce, text = nonce()
			a.Seq = i
			all[i] = &seen{row: &list[i], nonce: text, traced: tracing}
			job.Actions = append(job.Actions, a)
		}
		got, err := rm.probe(ctx, job, how{trace: tracing, seek: e.sought()})
		if err != nil {
			return nil, err
		}
		if got.log != nil && got.log.Err != nil {
			return nil, fmt.Errorf("the tracer: %w", got.log.Err)
		}
		last := next - 1
		for i := next; i < len(list); i++ {
			s := all[i]
			s.out, s.ended = got.out, got.ended
			s.traced, s.blind = tracing && got.blind == "", got.blind
			if said, ok := got.said[i]; ok {
				s.said = &said
				last = i
			}
			if got.log != nil {
				s.seg = got.log.Segments[i]
				if s.seg != nil {
					last = max(last, i)
				}
			}
		}
		if got.done {
			return all, nil
		}
		// The one after the last that was told of is the one that ended it.
		culprit := last
		if last < next || all[last].said != nil {
			culprit = last + 1
		}
		if culprit >= len(list) {
			return all, nil
		}
		all[culprit].died = got.ended
		if culprit == next && got.hello.PID == 0 {
			return nil, fmt.Errorf("the probe did not start: %s: %q", got.ended, tail(got.out))
		}
		next = culprit + 1
	}
	return all, nil
}

func tail(b []byte) string { return clean(string(b[max(0, len(b)-300):])) }
