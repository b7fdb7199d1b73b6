package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/net/http/httpproxy"

	"fumehood/isolate"
	"fumehood/isolate/egress"
	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/credential"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
	"fumehood/isolate/layer"
	"fumehood/session"
)

// maxGiven bounds what the starter gives, in bytes.
const maxGiven = 4 << 20

// readGiven takes what the starter gives in memory.
func readGiven() (*session.Given, error) {
	f := os.NewFile(session.GivenFD, "given")
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxGiven))
	if err != nil {
		return nil, fmt.Errorf("read what the starter gives: %w", err)
	}
	var g session.Given
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fmt.Errorf("read what the starter gives: %w", err)
	}
	return &g, nil
}

// prepareEgress makes the proxy and what the inside has to trust.
func (s *supervisor) prepareEgress(g *session.Given) error {
	var err error
	if s.egressLog, err = s.dir.OpenEgress(); err != nil {
		return err
	}
	// net/http's client logs by itself what a destination sends unasked: hostile
	// bytes, perhaps with a secret in them, for the supervisor's log.
	log.SetOutput(io.Discard)
	up, err := upstreamOf(g)
	if err != nil {
		return &layer.Error{Layer: layer.Egress, Op: "read the host's proxy settings", Err: err, Hint: "mend HTTPS_PROXY, HTTP_PROXY or NO_PROXY"}
	}
	var accounts []account.Account
	for _, c := range s.pol.Credentials {
		at, err := account.ParseAttach(c.Attach)
		if err != nil {
			return fmt.Errorf("account %q: %w", c.Name, err)
		}
		accounts = append(accounts, account.Account{Name: c.Name, Attach: at, Placeholder: g.Placeholders[c.Name]})
	}
	if err := s.savePlaceholders(g); err != nil {
		return err
	}
	var recorded int64
	if fi, err := os.Stat(s.dir.Egress()); err == nil { // it was just opened
		recorded = fi.Size()
	}
	if err := s.startKeeper(g); err != nil {
		return err
	}
	secret, stale := s.secretOf(g)
	omit := egress.Part("")
	if g.Stand != nil {
		omit = egress.Part(g.Stand.Omit)
	}
	s.proxy, err = egress.New(egress.Config{
		Session: s.dir.ID(), Entries: s.pol.Entries(), Accounts: accounts, Secret: secret, Stale: stale,
		Other: s.otherSession, Record: s.recordEgress, Recorded: recorded, Upstream: up, Omit: omit,
	})
	if err != nil {
		return &layer.Error{Layer: layer.Egress, Op: "make the egress proxy", Err: err}
	}
	trust := egress.Trust{CA: s.proxy.CA(), CAFile: g.CAFile, CADir: g.CADir, Home: g.Home, GitHosts: egress.GitHosts(s.pol.Entries())}
	if err := egress.WriteTrust(s.dir.Trust(), trust); err != nil {
		return &layer.Error{Layer: layer.Egress, Op: "write the session's certificates", Err: err}
	}
	s.start.Env = append(s.start.Env, egress.Environment(isolate.TrustInside, g.Home)...)
	s.start.Env = append(s.start.Env, session.PlaceholderEnv(s.pol, g)...)
	return nil
}

// serveEgress serves the sockets that the stage opened inside.
func (s *supervisor) serveEgress() error {
	l, names, err := s.sb.Egress()
	if err != nil {
		return &layer.Error{Layer: layer.Egress, Op: "take the proxy's sockets over", Err: err}
	}
	go func() {
		if err := s.proxy.Serve(l); err != nil {
			s.log.Printf("egress proxy: %v", err)
		}
	}()
	go s.proxy.ServeNames(names)
	return nil
}

// upstreamOf is how the host reaches the net. Its proxy counts, or the start
// fails: what can't be read must not turn into a way past it.
func upstreamOf(g *session.Given) (egress.Upstream, error) {
	if g.Stand != nil {
		return egress.Upstream{To: g.Stand.To, Roots: g.Stand.Roots, Resolve: g.Stand.Resolver()}, nil
	}
	up := egress.Upstream{CAFile: g.CAFile, CADir: g.CADir}
	for _, v := range []struct{ name, value string }{{"HTTP_PROXY", g.HTTPProxy}, {"HTTPS_PROXY", g.HTTPSProxy}} {
		if v.value != "" && !egress.IsProxy(v.value) {
			return up, fmt.Errorf("%s is not the URL of a proxy", v.name) // it may hold a password
		}
	}
	if g.HTTPProxy == "" && g.HTTPSProxy == "" {
		return up, nil
	}
	cfg := httpproxy.Config{HTTPProxy: g.HTTPProxy, HTTPSProxy: g.HTTPSProxy, NoProxy: g.NoProxy}
	find := cfg.ProxyFunc()
	up.Proxy = func(u *url.URL) (*url.URL, error) { return find(u) }
	return up, nil
}

// commandPath is PATH of a source that is a command: the user's own may lead
// into what a session can write to.
const commandPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// startKeeper starts the process that reads the accounts' credentials, while
// this one still can.
func (s *supervisor) startKeeper(g *session.Given) error {
	if len(s.pol.Credentials) == 0 || g.Stand != nil {
		return nil
	}
	sources := map[string]string{}
	for _, c := range s.pol.Credentials {
		sources[c.Name] = c.Source
	}
	var err error
	s.keeper, err = credential.StartKeeper(credential.Config{
		Sources: sources, Env: g.Env, Home: g.Home, Never: []string{s.rec.Repo, string(s.dir)}, Path: commandPath,
	})
	if err != nil {
		return &layer.Error{Layer: layer.Egress, Op: "read the accounts' credentials", Err: err}
	}
	return nil
}

// secretOf reads an account's credential, and says which was refused.
func (s *supervisor) secretOf(g *session.Given) (read func(context.Context, string) (string, error), stale func(string)) {
	if g.Stand != nil {
		return func(_ context.Context, name string) (string, error) { return g.Stand.Secrets[name], nil }, func(string) {}
	}
	if s.keeper == nil {
		return func(context.Context, string) (string, error) { return "", errors.New("the policy has no credentials") }, func(string) {}
	}
	return s.keeper.Secret, s.keeper.Stale
}

// endEgress ends the way out, writes what was under way down, and ends the
// keeper.
func (s *supervisor) endEgress() {
	s.proxy.Close()
	if s.keeper != nil {
		s.keeper.Close()
	}
	if n := s.proxy.Counts(); n.Unwritten > 0 {
		_ = s.event("egress", fmt.Sprintf("the record of the way out is full: %d attempts are not in it", n.Unwritten), map[string]any{
			"allowed": n.Allowed, "refused": n.Refused, "up": n.Up, "down": n.Down, "unwritten": n.Unwritten,
		})
	}
}

// missed writes down what went past the proxy: connections to addresses, which
// no route leads to. The kernel counts them; it is asked when the session is
// looked at anyway.
func (s *supervisor) missed() {
	n, ok := s.noRoutes()
	if !ok || n <= s.routes.Load() {
		return
	}
	times := n - s.routes.Swap(n)
	if s.proxy == nil || times <= 0 {
		return
	}
	s.proxy.Missed(record.Attempt{
		Time: time.Now(), Method: "DIRECT", Reason: string(rule.NoProxyUsed), Times: int(times),
		Detail: "connections or datagrams to an address, past the proxy: no route leads out of a session but the proxy",
	})
}

func (s *supervisor) noRoutes() (int64, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(s.sb.PID()), "net")
	v4, err4 := os.ReadFile(filepath.Join(dir, "snmp"))
	v6, err6 := os.ReadFile(filepath.Join(dir, "snmp6"))
	if err4 != nil && err6 != nil { // it has ended
		return 0, false
	}
	return noRoutes(string(v4), string(v6))
}

// savePlaceholders keeps the hashes of the session's placeholders, by which other
// sessions' proxies know them.
func (s *supervisor) savePlaceholders(g *session.Given) error {
	if len(g.Placeholders) == 0 {
		return nil
	}
	var sums []string
	for _, p := range g.Placeholders {
		sums = append(sums, sumOf(p))
	}
	return s.dir.SavePlaceholders(sums)
}

func sumOf(p string) string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:])
}

// otherSession tells whose placeholder a value is.
func (s *supervisor) otherSession(value string) (string, bool) {
	return s.dir.PlaceholderOwner(sumOf(value))
}

func (s *supervisor) recordEgress(a record.Attempt) {
	a.Tenant = s.tenant
	if err := s.egressLog.Append(a); err != nil {
		s.log.Printf("egress record: %v", err)
	}
}
