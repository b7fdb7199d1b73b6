package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/egress"
	"fumehood/isolate/layer"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session"
)

// mutants is how many throw-away sandboxes are tried at once.
const mutants = 2

// Mutate leaves out one part of the walls after the other in throw-away
// sandboxes, and says which tests notice. The tests are the same as Run's, where
// they need no more than a sandbox; each part is judged against a run with all
// parts in force, which has to be clean. What a session's supervisor watches
// from outside has no part in a sandbox: for each such limit a session is
// started whose policy has it set to none, and judged as if it were set. A part
// of the egress proxy is left out of the proxy of a session, whose policy gets a
// made-up destination when it has none.
func Mutate(ctx context.Context, h *session.Host, name string, tell func(walls.Event)) (*walls.Matrix, error) {
	if tell == nil {
		tell = func(walls.Event) {}
	}
	jobs := mutations()
	tell(walls.Event{Note: fmt.Sprintf("%d parts; first everything in force", len(jobs))})
	for _, whole := range []mutation{
		{quick: slices.Concat(quickTests, []int{8})},
		{loosen: func(*policy.Policy) {}, quick: supervisorTests},
		{proxy: true, quick: proxyTests},
	} {
		sound, err := tryMutation(ctx, h, name, whole)
		if err != nil {
			return nil, err
		}
		if len(sound.unclean) > 0 {
			return nil, fmt.Errorf("with every part in force the tests are not clean (%s): what a missing part changes would mean nothing", strings.Join(sound.unclean, "; "))
		}
	}
	m := &walls.Matrix{Parts: make([]walls.Part, len(jobs))}
	var mu sync.Mutex
	next := make(chan int)
	var wg sync.WaitGroup
	for range mutants {
		wg.Go(func() {
			for i := range next {
				part := jobs[i].part(ctx, h, name)
				mu.Lock()
				m.Parts[i] = part
				tell(walls.Event{Note: noteOf(part)})
				mu.Unlock()
			}
		})
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func noteOf(p walls.Part) string {
	switch {
	case p.Cannot != "":
		return fmt.Sprintf("%s: can't be left out: %s", p.Name, p.Cannot)
	case p.Error != "":
		return fmt.Sprintf("%s: could not be tried: %s", p.Name, p.Error)
	case p.Silent():
		return fmt.Sprintf("%s: nothing noticed", p.Name)
	}
	return fmt.Sprintf("%s: %s", p.Name, strings.Join(p.Attempts, ", "))
}

// mutation is one part to leave out.
type mutation struct {
	layer, name, cannot string
	piece               *isolate.Part        // of a sandbox
	loosen              func(*policy.Policy) // or of a supervisor
	environ             bool                 // or the choice of variables
	proxy               bool                 // or of the egress proxy, this:
	omit                egress.Part
	quick               []int // the tests to run
}

// The tests that a missing part of a sandbox can turn red. That of the limits
// takes seconds, so that it is made only where the part is one of them.
var (
	quickTests = []int{1, 2, 3, 4, 6, 12, 14}
	limitTests = []int{8, 14}
	proxyTests = []int{5, 6, 7, 13}
	// supervisorTests are those of the limits that a session's supervisor watches.
	supervisorTests = []int{8, 9, 10}
)

// mutations is every part that there is.
func mutations() []mutation {
	var out []mutation
	for _, p := range isolate.Parts() {
		m := mutation{layer: string(p.Layer), name: p.Name, cannot: p.Cannot, piece: &p, quick: quickTests}
		switch {
		case p.Layer == "limits":
			m.quick = limitTests
		case m.cannot == "" && slices.Contains([]string{"watch of the starter", "parent-death signal"}, p.Name):
			m.cannot = "here this process is the starter, and would have to be stopped or killed to show it; test 11 does that to a session's supervisor"
		}
		if m.cannot == "" && p.Name == "read-only own program" {
			m.cannot = "only a command that the session's own process starts as an interpreter shows it; the tests of package isolate do"
		}
		out = append(out, m)
	}
	out = append(out, mutation{layer: "identity", name: "choice of variables", environ: true, quick: []int{4}})
	for _, p := range egress.Parts() {
		out = append(out, mutation{layer: string(layer.Egress), name: string(p), proxy: true, omit: p, quick: proxyTest(p)})
	}
	for _, l := range []struct {
		name string
		off  func(*policy.Policy)
		test int
	}{
		{"memory in all", func(p *policy.Policy) { p.Limits.Memory = 0 }, 8},
		{"disk in all", func(p *policy.Policy) { p.Limits.Disk = 0 }, 8},
		{"run_time", func(p *policy.Policy) { p.Limits.RunTime = 0 }, 9},
		{"session_time", func(p *policy.Policy) { p.Limits.SessionTime = 0 }, 9},
		{"idle", func(p *policy.Policy) { p.Lifecycle.Idle = 0 }, 9},
		{"output_chars", func(p *policy.Policy) { p.Limits.OutputChars = 0 }, 10},
	} {
		out = append(out, mutation{layer: "limits", name: l.name + " (supervisor)", loosen: l.off, quick: []int{l.test}})
	}
	return out
}

// proxyTest is the test whose subject a part of the proxy is.
func proxyTest(p egress.Part) []int {
	switch p {
	case egress.PartDestination, egress.PartAddress, egress.PartNames:
		return []int{6}
	case egress.PartOperation, egress.PartAccount:
		return []int{7}
	case egress.PartOther:
		return []int{13}
	case egress.PartSearch:
		return []int{5}
	}
	return proxyTests // one that was added since
}

// part tries one mutation.
func (m mutation) part(ctx context.Context, h *session.Host, name string) walls.Part {
	out := walls.Part{Layer: m.layer, Name: m.name, Cannot: m.cannot, Red: []int{}, Attempts: []string{}, Ran: m.quick}
	if m.cannot != "" {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	got, err := tryMutation(ctx, h, name, m)
	if errors.Is(err, isolate.ErrUnfit) {
		out.Cannot = err.Error()
		return out
	}
	if err != nil {
		out.Error = err.Error()
	}
	out.Attempts = append(out.Attempts, got.red...)
	out.Red = append(out.Red, got.tests...)
	return out
}

type noticed struct {
	tests []int
	red   []string // number.id of each attempt that failed
	// unclean says of what failed, and of tests in error, why.
	unclean []string
}

// tryMutation runs a mutation's tests and lists what failed. An attempt that
// could not be carried out did not notice anything.
func tryMutation(ctx context.Context, h *session.Host, name string, m mutation) (noticed, error) {
	e, err := newEnv(ctx, h, walls.Run{Policy: name}, nil)
	if err != nil {
		return noticed{}, err
	}
	var n noticed
	judged := *e.pol
	switch {
	case m.loosen != nil:
		everyLimit(&judged)
		e.loosen = m.loosen
	case m.proxy:
		withEntry(&judged)
		e.omit = m.omit
	default:
		smallLimits(&judged)
		e.target = &bareTarget{e: e, part: m.piece, environ: m.environ}
	}
	e.pol = &judged
	e.once = true
	if m.piece != nil {
		// A part that this session does not have is no finding of any test.
		if _, err := e.shared(ctx); errors.Is(err, isolate.ErrUnfit) {
			return n, errors.Join(err, e.close())
		}
	}
	for _, t := range tests() {
		if !slices.Contains(m.quick, t.number) {
			continue
		}
		res := e.runOne(ctx, t)
		for _, a := range res.Attempts {
			if a.Verdict == walls.Failed {
				n.red = append(n.red, fmt.Sprintf("%d.%s", t.number, a.ID))
				n.unclean = append(n.unclean, fmt.Sprintf("%d.%s: %s", t.number, a.ID, a.Observed))
				if !slices.Contains(n.tests, t.number) {
					n.tests = append(n.tests, t.number)
				}
			}
		}
		if res.Verdict == walls.Errored {
			n.unclean = append(n.unclean, fmt.Sprintf("%d: %s", t.number, res.Reason))
		}
	}
	return n, e.close()
}

// everyLimit sets what a policy may leave at none, so that there is something
// to judge.
func everyLimit(p *policy.Policy) {
	smallLimits(p)
	p.Limits.RunTime, p.Limits.SessionTime, p.Lifecycle.Idle = time.Minute, time.Hour, time.Minute
	if p.Limits.OutputChars == 0 {
		p.Limits.OutputChars = 20000
	}
}

// smallLimits are numbers that a hog reaches without harm.
func smallLimits(p *policy.Policy) {
	p.Limits.CPUs, p.Limits.Memory, p.Limits.Processes, p.Limits.Disk = 1, 192<<20, 96, 48<<20
}
