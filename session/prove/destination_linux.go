package prove

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fumehood/isolate/egress"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/witness"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// destination is everything outside that the policy names, and what it does not
// name: one server of the run's own on this machine, and made-up credentials.
type destination struct {
	srv     *witness.Server
	entries []entry
	secrets map[string]string
	label   string // made up, below wildcards and in front of look-alikes
}

// newDestination opens it for a policy.
func newDestination(pol *policy.Policy, id string) (*destination, error) {
	d := &destination{label: "fh" + id[:8], secrets: map[string]string{}}
	var err error
	if d.entries, err = entriesOf(pol, d.label); err != nil {
		return nil, err
	}
	for _, c := range pol.Credentials {
		b := make([]byte, 9)
		_, _ = rand.Read(b) // never fails: it ends the program instead
		_, text := nonce()
		// With what every encoding writes in another way.
		d.secrets[c.Name] = "fhr-" + text + "/" + base64.RawURLEncoding.EncodeToString(b) + "+=" + text[:6]
	}
	if d.srv, err = witness.Start(); err != nil {
		return nil, err
	}
	return d, nil
}

// stand has every destination of the policy, and every other one that the tests
// ask for, stood in for: should the proxy let one pass, it arrives at the run's
// own log, and nowhere else.
func (d *destination) stand(omit egress.Part) *session.StandIn {
	s := &session.StandIn{To: map[string]string{}, Roots: d.srv.Roots(), Secrets: maps.Clone(d.secrets), Omit: string(omit)}
	for _, e := range d.entries {
		s.To[e.at.String()] = d.srv.At()
	}
	for _, at := range d.forbidden() {
		s.To[at] = d.srv.At()
	}
	return s
}

// far is the run's destination, made when it is first asked for.
func (e *env) far() (*destination, error) {
	e.destMu.Lock()
	defer e.destMu.Unlock()
	if e.dest == nil {
		d, err := newDestination(e.pol, e.id)
		if err != nil {
			return nil, err
		}
		e.dest = d
	}
	return e.dest, nil
}

// passing is a table of ways through one session's proxy.
type passing struct {
	e  *env
	rm *sess
	d  *destination

	nonces  []string // of this pass, by row
	late    map[int]bool
	lines   []record.Attempt
	fences  map[string]time.Time
	settled bool
	broken  error
}

// try is one way through the proxy, and how to judge what came of it.
type try struct {
	id, tried, expected string
	control             string

	connect string // the destination of a CONNECT; "" asks the proxy itself
	header  string // lines of the CONNECT, each with its end
	clear   bool   // no TLS in the tunnel
	sni     string
	send    func(nonce string) []byte
	until   string
	within  string // how long answers are read; "" reads one
	then    []byte
	follow  bool
	lookup  func(nonce string) []byte // of a name server, instead

	reply witness.Reply
	to    func(nonce string) string // where a redirect leads

	late  bool // its line is written after the client has gone
	judge func(*passage) outcome
}

// proxyInside is where the proxy is reached from inside, and namesInside where
// lookups of names are answered.
const (
	proxyInside = egress.Address
	namesInside = "127.0.0.1:53"
)

// fenceOf is a host that no policy names: asked for before each attempt, it
// parts the proxy's record by attempts.
func fenceOf(nonce string) string { return "fh" + nonce + ".fumehood.invalid" }

// through makes every attempt of a table in a session and judges it by the
// proxy's record and the destination's log. Nothing is traced: both are outside,
// and a tracer alters the shape. Where only the kernel sees that bytes were
// sent, traced makes the attempts under the tracer instead.
func (e *env) through(ctx context.Context, rm room, list []try, traced bool) ([]walls.Attempt, error) {
	s, ok := rm.(*sess)
	if !ok {
		return nil, errors.New("there is no proxy without a session")
	}
	d, err := e.far()
	if err != nil {
		return nil, err
	}
	p := &passing{e: e, rm: s, d: d, nonces: make([]string, len(list)+1), late: map[int]bool{}}
	rows := make([]row, len(list)+1)
	for i, t := range list {
		rows[i], p.late[i] = p.row(i, t), t.late
	}
	rows[len(list)] = p.row(len(list), try{
		id: "record", tried: "ask the proxy for a host that no policy names", expected: "the record has it",
		judge: func(at *passage) outcome {
			if o, ok := at.sound(); !ok {
				return o
			}
			return held("the proxy's record was read to here", walls.Proxy, fmt.Sprintf("%d lines; %s", len(p.lines), fenceOf(at.nonce)))
		},
	})
	if err := p.knock(ctx); err != nil {
		return nil, err
	}
	return e.pass(ctx, rm, rows, traced)
}

// knock shows that the destination is alive.
func (p *passing) knock(ctx context.Context) error {
	_, word := nonce()
	if err := p.d.srv.Visit(ctx, word); err != nil {
		return err
	}
	if len(p.d.srv.With(word)) == 0 {
		return errors.New("the destination of the wall tests does not write down what arrives")
	}
	return nil
}

func (p *passing) row(i int, t try) row {
	args := map[string]string{"proxy": proxyInside, "connect": t.connect, "header": t.header, "sni": t.sni, "until": t.until, "within": t.within}
	do := probe.Action{Do: "proxied", Args: args}
	if !t.clear && t.connect != "" {
		args["tls"] = "1"
	}
	if t.follow {
		args["follow"] = "1"
	}
	args["then"] = base64.StdEncoding.EncodeToString(t.then)
	if t.lookup != nil {
		do.Do, args["to"] = "lookup", namesInside
	}
	return row{
		id: t.id, tried: t.tried, expected: t.expected, control: t.control, do: do,
		before: func() error {
			_, word := nonce()
			p.nonces[i], p.settled = word, false
			args["fence"] = fenceOf(word)
			if t.send != nil {
				args["send"] = base64.StdEncoding.EncodeToString(t.send(word))
			}
			if t.lookup != nil {
				args["ask"] = hex.EncodeToString(t.lookup(word))
			}
			to := ""
			if t.to != nil {
				to = t.to(word)
			}
			p.d.srv.Plan(word, t.reply, to)
			return nil
		},
		judge: func(s *seen) outcome { return t.judge(p.passage(i, s)) },
	}
}

// passage gathers what is known of one attempt.
func (p *passing) passage(i int, s *seen) *passage {
	p.settle()
	word := p.nonces[i]
	out := &passage{
		nonce: word, seen: s, lines: p.window(word), arrived: p.d.srv.With(word), carried: p.d.srv.Carried(word), count: p.d.srv.Count(), broken: p.broken,
	}
	if s.said == nil {
		return out
	}
	if err := json.Unmarshal([]byte(s.said.Text), &out.tell); err != nil && s.said.Err == "" {
		out.broken = fmt.Errorf("the probe's report: %w", err)
	}
	if answer, err := witness.ReadAnswer(s.said.Got); err == nil {
		out.answer = answer
	}
	return out
}

// settle reads the proxy's record until it has what was asked for last: it is
// written as attempts end.
func (p *passing) settle() {
	if p.settled {
		return
	}
	p.settled = true
	end := fenceOf(p.nonces[len(p.nonces)-1])
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if p.read(); p.broken != nil {
			return
		}
		if _, ok := p.fences[end]; ok {
			break
		}
		if time.Now().After(deadline) {
			p.broken = errors.New("the proxy's record does not have what was asked for last")
			return
		}
	}
	// A tunnel's line is written when both of its ends are gone.
	for deadline := time.Now().Add(time.Second); p.tunnelOpen() && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		p.read()
	}
	p.broken = p.knock(context.Background())
}

func (p *passing) read() {
	lines, _, err := p.rm.dir.ReadEgress(0)
	if err != nil {
		p.broken = fmt.Errorf("the proxy's record: %w", err)
		return
	}
	slices.SortStableFunc(lines, func(a, b record.Attempt) int { return a.Time.Compare(b.Time) })
	p.lines, p.fences = lines, map[string]time.Time{}
	for _, l := range lines {
		if strings.HasSuffix(l.Host, ".fumehood.invalid") {
			p.fences[l.Host] = l.Time
		}
	}
}

// tunnelOpen tells whether a tunnel has no line yet.
func (p *passing) tunnelOpen() bool {
	for i, word := range p.nonces {
		if p.late[i] && len(p.window(word)) == 0 {
			return true
		}
	}
	return false
}

// window is the record's lines of one attempt: those from its fence to the next.
func (p *passing) window(word string) []record.Attempt {
	begin, ok := p.fences[fenceOf(word)]
	if !ok {
		return nil
	}
	var out []record.Attempt
	for _, l := range p.lines {
		if !l.Time.After(begin) {
			continue
		}
		if strings.HasSuffix(l.Host, ".fumehood.invalid") {
			break
		}
		out = append(out, l)
	}
	return out
}

// placeholders are what a session sees instead of its credentials, by account.
func (e *env) placeholders(ctx context.Context, rm room) (map[string]string, error) {
	got, err := rm.probe(ctx, probe.Job{}, how{})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, c := range e.pol.Credentials {
		name, ok := strings.CutPrefix(c.Placeholder, "env:")
		for _, v := range got.hello.Environ {
			if k, value, _ := strings.Cut(v, "="); ok && k == name {
				out[c.Name] = value
			}
		}
		if out[c.Name] == "" {
			return nil, fmt.Errorf("the session does not see the placeholder of account %q in %s", c.Name, c.Placeholder)
		}
	}
	return out, nil
}
