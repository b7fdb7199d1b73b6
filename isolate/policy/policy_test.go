package policy

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dice gives the same throws for the same seed (splitmix64).
type dice struct{ state uint64 }

func newDice(seed uint64) *dice { return &dice{seed} }

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := (d.state ^ d.state>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// IntN is from 0 to n-1.
func (d *dice) IntN(n int) int { return int(d.next() % uint64(n)) }

// invent fills a value with what Parse could have read there.
func invent(r *dice, v reflect.Value, key string) {
	words := map[string][]string{
		"EnforcedBy": {"process restriction", "user-space kernel", "container", "microVM"},
		"Proven":     {"shown", "required"}, "History": {"head", "all", "none"},
		"Clipboard": {"deny", "ask", "allow"}, "Leave": {"diff", "artifacts"},
	}
	text := func() string {
		return []string{"", "a", `q"uote\back`, "ü né", "[x] # no comment", "'single'", "~/go/pkg", `"""`, "日本", "a,b; c"}[r.IntN(10)]
	}
	list := func() []string {
		var all []string
		for range r.IntN(3) {
			all = append(all, text())
		}
		return all
	}
	switch at := v.Addr().Interface().(type) {
	case *string:
		if *at = text(); words[key] != nil {
			*at = words[key][r.IntN(len(words[key]))]
		}
		if key == "Reviewed" {
			*at = []string{"", "2026-11-30", "1999-01-01"}[r.IntN(3)]
		}
		return
	case *int:
		*at = r.IntN(maxCount + 1)
		return
	case *bool:
		*at = r.IntN(2) == 0
		return
	case *Bytes:
		*at = Bytes(int64(r.next()%uint64(maxBytes))) >> r.IntN(50)
		return
	case *time.Duration:
		*at = time.Duration(int64(r.next()%uint64(maxTime)) >> r.IntN(50)).Truncate(time.Millisecond)
		return
	case *[]string:
		*at = list()
		return
	case *Choice:
		if *at = (Choice{List: list()}); at.List == nil {
			at.Word = []string{"auto", "none"}[r.IntN(2)]
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Type() != reflect.TypeFor[Policy]() || name != "Name" {
				invent(r, v.Field(i), name)
			}
		}
	case reflect.Slice:
		if n := r.IntN(3); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				invent(r, v.Index(i), "")
			}
		}
	default:
		panic(fmt.Sprintf("no invention for %s %s", key, v.Type()))
	}
}

func TestParseReadsBackWhatEncodePrints(t *testing.T) {
	for seed := range uint64(500) {
		want := new(Policy)
		invent(newDice(seed), reflect.ValueOf(want).Elem(), "")
		want.Name = "p"
		src := Encode(want)
		got, err := Parse("p", src)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, src)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: (-want +got)\n%s\n%s", seed, diff, src)
		}
		if again := Encode(got); !bytes.Equal(src, again) {
			t.Fatalf("seed %d: encoded twice, got\n%s\nwant\n%s", seed, again, src)
		}
	}
}

// leaves walks every value of a policy that a key sets, and gives its path.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	choice := v.Type() == reflect.TypeFor[Choice]()
	switch {
	case v.Kind() == reflect.Struct && !choice:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			leaves(v.Index(i), path, visit)
		}
	default:
		visit(path, v)
	}
}

// TestEveryPolicyFieldIsShown changes one field after the other: the block and
// the canonical form (and so the hash) must change with each. A field that is
// not in them could be weakened without anybody seeing it.
func TestEveryPolicyFieldIsShown(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	fresh := func() *Policy {
		p, _ := Builtin(DefaultName)
		p.Network.Allow = []Allow{{Destination: "a.test:443"}}
		p.Credentials = []Credential{{Name: "c"}}
		return p
	}
	block, canonical := Block(fresh(), now, nil), string(Encode(fresh()))
	n := 0
	leaves(reflect.ValueOf(fresh()).Elem(), "", func(string, reflect.Value) { n++ })
	if n < 38 {
		t.Fatalf("got %d fields, want those of the file: the walk is broken", n)
	}
	for i := range n {
		p, at, j := fresh(), "", 0
		leaves(reflect.ValueOf(p).Elem(), "", func(path string, v reflect.Value) {
			if j++; j-1 == i {
				at = path
				change(v)
			}
		})
		got := withoutHash(Block(p, now, nil))
		if got == withoutHash(block) {
			t.Errorf("%s does not show in the block", at)
		}
		if at != ".Name" && string(Encode(p)) == canonical {
			t.Errorf("%s does not show in the canonical form", at)
		}
	}
}

func change(v reflect.Value) {
	switch at := v.Addr().Interface().(type) {
	case *Choice:
		*at = Choice{List: []string{"changed"}}
	case *[]string:
		*at = []string{"changed"}
	case *string:
		*at = "2026-11-11"
	case *bool:
		*at = !*at
	default:
		v.SetInt(int64(77 * time.Minute))
	}
}

// withoutHash takes out the line that changes with everything.
func withoutHash(block string) string {
	name, rest, _ := strings.Cut(block, "\nsha256 ")
	_, rest, _ = strings.Cut(rest, "\n")
	return name + rest
}

func TestBlockIsPlainTextThatFits(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	hostile := func(seed uint64) *Policy {
		p := new(Policy)
		invent(newDice(seed+1000), reflect.ValueOf(p).Elem(), "")
		p.Name = "/x/\x1b[2J\u202e" + strings.Repeat("long", 60)
		p.Filesystem.Inputs = []string{strings.Repeat("/deep", 100), "\x1b]52;c;x\a"}
		return p
	}
	for seed := range uint64(50) {
		for i, line := range strings.Split(Block(hostile(seed), now, nil), "\n") {
			if len(line) > blockWidth {
				t.Fatalf("line %d has %d columns, want at most %d: %q", i+1, len(line), blockWidth, line)
			}
			for _, c := range []byte(line) {
				if c < ' ' || c > '~' {
					t.Fatalf("line %d holds the byte %#x: %q", i+1, c, line)
				}
			}
		}
	}
}

func TestBlockSaysWhatIsNotInForce(t *testing.T) {
	p, _ := Builtin(DefaultName)
	p.Reviewed = "2026-11-30"
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.FixedZone("east", 3600))
	got := strings.Join(strings.Fields(Block(p, now, nil)), " ")
	for _, want := range []string{
		"enforced by the kernel (affinity", "disk none: NOT IN FORCE", "run time never: NOT IN FORCE",
		"the total is sampled every 250 ms", "threads counted: enforced by the kernel",
		"8h for the whole session: by the supervisor's clock", "not yet proven", "2026-11-30 (yesterday)",
		"reach nothing", "refuses to run, exit status 125",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the block does not say %q:\n%s", want, Block(p, now, nil))
		}
	}
	if strings.Contains(got, "Refused") {
		t.Errorf("the default has a section on what is refused:\n%s", Block(p, now, nil))
	}
	p.Limits.CPUs, p.Limits.Disk = 0, 10<<30
	got = strings.Join(strings.Fields(Block(p, now, nil)), " ")
	for _, want := range []string{"cpus none: NOT IN FORCE", "disk 10GiB for workspace and home: one file by the kernel; the total is sampled every 50 ms"} {
		if !strings.Contains(got, want) {
			t.Errorf("the block does not say %q:\n%s", want, Block(p, now, nil))
		}
	}
	p.Limits.Disk = 1
	if got := Block(p, now, nil); !strings.Contains(got, "Refused: nothing starts") || !strings.Contains(got, "too small") {
		t.Errorf("a refused policy does not say so:\n%s", got)
	}
}

func TestBlockSaysWhatIsProven(t *testing.T) {
	p, _ := Builtin(DefaultName)
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	got := Block(p, now, []Line{{"wall tests", "proven in this shape"}, {"n.a.", "5 allowed\x1b[2J: nothing is allowed"}})
	for _, want := range []string{"Verified\n  wall tests   proven in this shape\n", `n.a.         5 allowed\x1b[2J: nothing`} {
		if !strings.Contains(got, want) {
			t.Errorf("got a block without %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "not yet proven") {
		t.Errorf("got %q beside a proof", "not yet proven")
	}
	p.Boundary.Proven = ProvenRequired
	if errs := Check(p); len(errs) > 0 {
		t.Errorf("got %v, want required accepted", errs)
	}
	if got := Block(p, now, nil); !strings.Contains(got, "required: nothing starts unless all wall tests held") {
		t.Errorf("got a block that does not say what required means:\n%s", got)
	}
	p.Boundary.Proven = "perhaps"
	if errs := Check(p); len(errs) != 1 || !strings.Contains(errs[0].Error(), `unknown word "perhaps"`) {
		t.Errorf("got %v, want an unknown word refused", errs)
	}
}

func TestCheckRefusesWhatIsNotBuilt(t *testing.T) {
	tests := []struct{ name, src, key, msg string }{
		{"little disk", `limits.disk = "10KiB"`, "limits.disk", "too small"},
		{"little memory", `limits.memory = "1KiB"`, "limits.memory", "too small"},
		{"few processes", `limits.processes = 2`, "limits.processes", "too small"},
		{"boundary", `boundary.enforced_by = "microVM"`, "boundary.enforced_by", "not built yet"[4:]},
		{"debuggers", `boundary.debuggers = true`, "boundary.debuggers", "not built yet"},
		{"broker", `boundary.require = ["broker"]`, "boundary.require", "broker is not built yet"},
		{"unknown layer", `boundary.require = ["landlok"]`, "boundary.require", `unknown layer "landlok"`},
		{"level of seccomp", `boundary.require = ["seccomp>=2"]`, "boundary.require", "only landlock has levels"},
		{"level that is none", `boundary.require = ["landlock>=x"]`, "boundary.require", "whole number"},
		{"level 0", `boundary.require = ["landlock>=0"]`, "boundary.require", "whole number"},
		{"level with a sign", `boundary.require = ["landlock>=+6"]`, "boundary.require", "whole number"},
		{"level with a space", `boundary.require = ["landlock >= 6"]`, "boundary.require", "unknown layer"},
		{"include that leads out", `filesystem.include = ["../x"]`, "filesystem.include", "leads out"},
		{"exclude with a bad pattern", `filesystem.exclude = ["[a"]`, "filesystem.exclude", "bad pattern"},
		{"exclude turned round", `filesystem.exclude = ["!a"]`, "filesystem.exclude", "turned round"},
		{"empty exclude", `filesystem.exclude = [""]`, "filesystem.exclude", "matches nothing"},
		{"blank exclude", `filesystem.exclude = ["  "]`, "filesystem.exclude", "matches nothing"},
		{"exclude of the root", `filesystem.exclude = ["/"]`, "filesystem.exclude", "matches nothing"},
		{"exclude that is a comment", `filesystem.exclude = ["#a"]`, "filesystem.exclude", "comment"},
		{"exclude with a space at the end", `filesystem.exclude = ["a "]`, "filesystem.exclude", "space"},
		{"the home", `filesystem.inputs = ["~"]`, "filesystem.inputs", "whole home"},
		{"the machine", `filesystem.inputs = ["//"]`, "filesystem.inputs", "whole home"},
		{"a variable", `filesystem.inputs = ["$HOME/x"]`, "filesystem.inputs", "variables"},
		{"a relative input", `filesystem.inputs = ["x"]`, "filesystem.inputs", "not absolute"},
		{"another's home", `filesystem.inputs = ["~bob/x"]`, "filesystem.inputs", "not absolute"},
		{"dots", `filesystem.inputs = ["~/a/../.."]`, "filesystem.inputs", ".. is refused"},
		{"a relative toolchain", `filesystem.toolchains = ["x"]`, "filesystem.toolchains", "not absolute"},
		{"artifacts leave", `results.leave = "artifacts"`, "results.leave", "not built yet"},
		{"artifacts", `results.artifacts = ["*.png"]`, "results.artifacts", "not built yet"},
		{"keep less", `lifecycle.keep = ["diff"]`, "lifecycle.keep", "always keeps"},
		{"keep one twice", `lifecycle.keep = ["diff", "diff"]`, "lifecycle.keep", "always keeps"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse("p.toml", []byte(tt.src))
			if err != nil {
				t.Fatalf("Parse: %v, want the fault from Check", err)
			}
			faults := Check(p)
			if len(faults) != 1 {
				t.Fatalf("got %v, want one fault", faults)
			}
			var e *Error
			if !errors.As(faults[0], &e) || e.Key != tt.key || !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("got %v, want %s: %s", faults[0], tt.key, tt.msg)
			}
			q, err := CheckFile("p.toml", []byte("tool = \"x\"\n\n"+tt.src))
			if q != nil || !errors.As(err, &e) || e.Line != 3 || e.Col < 1 {
				t.Errorf("CheckFile: got %v, %v, want a fault in line 3", q, err)
			}
		})
	}
}

func TestCheckAcceptsWhatIsInForce(t *testing.T) {
	for _, src := range []string{
		`limits.cpus = 2`, `limits.cpus = "none"`, `limits.cpus = "all but one"`, `limits.disk = "10GiB"`, `limits.disk = "none"`,
		`limits.memory = "2GiB"`, `limits.memory = "none"`, `limits.processes = 64`, `limits.processes = "none"`,
		`limits.run_time = "10m"`, `limits.session_time = "never"`, `limits.output_chars = 10`, `limits.output_bytes = "1KiB"`,
		`lifecycle.idle = "10m"`, `lifecycle.keep = ["output", "diff"]`, `filesystem.include = ["build/*.json", "dist/"]`,
		`filesystem.include = []`, `filesystem.include = "auto"`, `filesystem.exclude = ["*.pem", "**/secret", '\#a', '\!a', 'a\ ', "b c"]`, `filesystem.history = "all"`,
		`filesystem.inputs = ["~/go/pkg/mod", "/srv/data/"]`, `filesystem.toolchains = "none"`, `filesystem.toolchains = ["/nix/store"]`,
		`boundary.require = ["landlock>=6", "limits", "identity"]`, `boundary.require = []`, `reviewed = 2026-11-30`, `tenant = "me"`,
	} {
		if _, err := CheckFile("p.toml", []byte(src)); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func TestCheckRefusesAnUnusableZeroPolicy(t *testing.T) {
	if faults := Check(new(Policy)); len(faults) == 0 {
		t.Error("a policy without a word was accepted")
	}
	p, _ := Builtin(DefaultName)
	p.Owner, p.Limits.RunTime, p.Limits.OutputChars = "\x1b[2J", time.Nanosecond, -1
	if faults := Check(p); len(faults) != 3 {
		t.Errorf("got %v, want three faults", faults)
	}
}

func TestTemplateHasEveryKey(t *testing.T) {
	src := Template()
	got, err := CheckFile("t", src)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := Builtin(DefaultName)
	want.Name = "t"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("the template is not the default (-want +got)\n" + diff)
	}
	for _, p := range places() {
		if !bytes.Contains(src, []byte("\n"+p.key+" ")) && !bytes.Contains(src, []byte("\n# "+p.key+" ")) {
			t.Errorf("the template lacks %s", p.name())
		}
	}
	for _, f := range fields() {
		if len(f.doc) == 0 {
			t.Errorf("%s has no meaning in the template", f.key)
		}
	}
	for i, line := range strings.Split(string(src), "\n") {
		if len(line) > blockWidth+2 {
			t.Errorf("line %d has %d columns, want at most 80: %s", i+1, len(line), line)
		}
	}
	// Uncommenting the examples must give entries that can be in force.
	all := []byte(strings.ReplaceAll(string(src), "\n# [[", "\n[["))
	for _, f := range allowFields() {
		all = bytes.Replace(all, []byte("\n# "+f.key+" "), []byte("\n"+f.key+" "), 1)
	}
	for _, f := range credentialFields() {
		all = bytes.Replace(all, []byte("\n# "+f.key+" "), []byte("\n"+f.key+" "), 1)
	}
	p, err := CheckFile("t", all)
	if err != nil {
		t.Fatalf("the examples uncommented: %v", err)
	}
	if len(p.Network.Allow) != 1 || p.Network.Allow[0].PerMinute != 600 || len(p.Credentials) != 1 || p.Credentials[0].PlaceholderFormat != "pk_{random:40}" {
		t.Errorf("got %+v %+v, want both entries", p.Network, p.Credentials)
	}
}

func TestHashIsOfWhatThePolicySays(t *testing.T) {
	parse := func(file, src string) *Policy {
		p, err := Parse(file, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := parse("a", "# one\nlimits.run_time = \"60m\"\ntool = \"x\"\n")
	b := parse("b", "tool = \"x\" # two\n[limits]\nrun_time = \"1h\"\n")
	if Hash(a) != Hash(b) || len(Hash(a)) != 64 {
		t.Errorf("got %s and %s, want the same", Hash(a), Hash(b))
	}
	if c := parse("a", "tool = \"x\"\n[limits]\nrun_time = \"2h\"\n"); Hash(a) == Hash(c) {
		t.Error("another limit has the same hash")
	}
}

func TestErrorsAreMadeSafeToPrint(t *testing.T) {
	e := &Error{File: "a\x1b[2J.toml", Line: 1, Col: 2, Msg: "m"}
	if got, want := e.Error(), `"a\x1b[2J.toml":1:2: m`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Template())
	for _, name := range BuiltinNames() {
		src, _ := builtinSource(name)
		f.Add(src)
	}
	f.Add([]byte("[[network.allow]]\ndestination=\"a\"\n[[network.allow]]\n[[credentials]]\n"))
	f.Add([]byte("network = {allow = [{query = \"x\"}, {}]}\nlimits = {cpus = 1}"))
	f.Add([]byte("a.b.\"c d\".e = [[1,2],{x=1}]\n\"\\u001b\" = 1979-05-27T07:32:00Z"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Parse("f", src)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %T, want an *Error within", err)
			}
			if (e.Line == 0) != (e.Col == 0) || e.Line < 0 || e.Line > bytes.Count(src, []byte("\n"))+1 {
				t.Fatalf("got place %d:%d in %d lines", e.Line, e.Col, bytes.Count(src, []byte("\n"))+1)
			}
			return
		}
		Check(p)
		Block(p, time.Unix(0, 0), nil)
		again, err := Parse("f", Encode(p))
		if err != nil {
			t.Fatalf("the canonical form does not parse: %v\n%s", err, Encode(p))
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal("(-parsed +parsed again)\n" + diff)
		}
	})
}

func FuzzUnits(f *testing.F) {
	f.Add("1h30m")
	f.Add("4GiB")
	f.Add("9223372036854775807TiB")
	f.Fuzz(func(t *testing.T, s string) {
		if b, err := ParseBytes(s); err == nil {
			if again, err := ParseBytes(b.String()); b < 0 || b > maxBytes || err != nil || again != b {
				t.Errorf("%q is %d, which is printed as %q, which is %d, %v", s, b, b, again, err)
			}
		}
		if d, err := ParseDuration(s); err == nil {
			if again, err := ParseDuration(FormatDuration(d)); d < 0 || d > maxTime || err != nil || again != d {
				t.Errorf("%q is %v, which is printed as %q, which is %v, %v", s, d, FormatDuration(d), again, err)
			}
		}
	})
}

func TestTemplateOfABuiltinIsThatBuiltin(t *testing.T) {
	for _, name := range BuiltinNames() {
		want, _ := Builtin(name)
		got, err := CheckFile(name, TemplateOf(want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestBuiltinsAreWhatTheyPromise(t *testing.T) {
	tests, _ := Builtin("run-tests")
	if len(tests.Network.Allow) != 1 || len(tests.Credentials) != 1 || !tests.Network.Allow[0].named() || tests.Results.Leave != "diff" {
		t.Fatalf("got %+v, want one entry as the one account, and a diff", tests.Network)
	}
	for _, op := range tests.Network.Allow[0].Operations {
		if !strings.HasPrefix(op, "GET ") && !strings.HasPrefix(op, "HEAD ") {
			t.Errorf("got the operation %q, want downloads only", op)
		}
	}
	data, _ := Builtin("data-analysis")
	if len(data.Network.Allow)+len(data.Credentials) != 0 || data.Results.Leave != "diff" || data.Filesystem.History != "none" {
		t.Errorf("got %+v %+v, want no network and no credentials", data.Network, data.Credentials)
	}
}
