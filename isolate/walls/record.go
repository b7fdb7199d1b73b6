package walls

import (
	"fmt"
	"strings"
	"time"

	"fumehood/isolate/layer"
)

// Verdict is the outcome of an attempt or of a test.
type Verdict string

// The verdicts. Errored is what could not be carried out: never a pass.
const (
	Held    Verdict = "held"
	Failed  Verdict = "failed"
	NA      Verdict = "n.a."
	Errored Verdict = "error"
)

// Witness is who saw what came of an attempt; none of them is inside.
type Witness string

// The witnesses.
const (
	Kernel     Witness = "kernel"        // return values, read by the tracer
	Audit      Witness = "kernel audit"  // the kernel's own record, root only
	Status     Witness = "process table" // the host's /proc
	Filesystem Witness = "filesystem"    // listing, hash, mode and times on the host
	Listener   Witness = "listener"      // what arrived at a target outside
	Proxy      Witness = "proxy"
	Supervisor Witness = "supervisor" // its record, output and exit status
	Clock      Witness = "clock"
)

// Attempt is one row of a test.
type Attempt struct {
	ID       string  `json:"id"` // unique within its test
	Nonce    string  `json:"nonce"`
	Tried    string  `json:"tried"`
	Expected string  `json:"expected"`
	Observed string  `json:"observed"`
	Witness  Witness `json:"witness"`
	Evidence string  `json:"evidence"` // the raw line
	// Control is what the policy permits next to it, and how that came out; ""
	// where nothing near it is permitted.
	Control string  `json:"control"`
	Verdict Verdict `json:"verdict"`
	// Traced is false for an attempt made without the tracer, whose presence
	// alters the shape; it has a host's witness then.
	Traced bool `json:"traced"`
}

// Result is one test's outcome.
type Result struct {
	Number   int       `json:"number"`
	Name     string    `json:"name"`
	Wall     Wall      `json:"wall"`
	Verdict  Verdict   `json:"verdict"`
	Reason   string    `json:"reason"` // of what is not held
	Attempts []Attempt `json:"attempts"`
	TookMS   int64     `json:"took_ms"`
}

// RecordVersion is that of the stored format.
const RecordVersion = 1

// Record is one run of the tests. It is stored outside every sandbox.
type Record struct {
	Version    int          `json:"version"`
	Policy     string       `json:"policy"`
	PolicyHash string       `json:"policy_hash"`
	Shape      Shape        `json:"shape"`
	ShapeHash  string       `json:"shape_hash"`
	Kernel     string       `json:"kernel"`
	Build      string       `json:"build"`
	Date       time.Time    `json:"date"`
	By         string       `json:"by"`
	Against    string       `json:"against,omitempty"` // the command that was tested instead of fumehood
	Layers     []layer.Fact `json:"layers"`
	Tests      []Result     `json:"tests"`
	TookMS     int64        `json:"took_ms"`
	// Left is what was found left behind after the run; a run that leaves
	// something has failed.
	Left []string `json:"left"`
}

// Judge is a test's verdict: the worst of its attempts. An attempt that does
// not apply counts only when all are like it; a test without attempts is an
// error, since nothing was tried.
func Judge(attempts []Attempt) (Verdict, string) {
	worst, reason := NA, ""
	for _, a := range attempts {
		if rank(a.Verdict) <= rank(worst) {
			continue
		}
		worst = a.Verdict
		if worst != Held {
			reason = fmt.Sprintf("%s: %s", a.Tried, a.Observed)
		}
	}
	switch {
	case len(attempts) == 0:
		return Errored, "nothing was tried"
	case worst == NA:
		return NA, attempts[0].Observed
	case worst == Held:
		return Held, ""
	}
	n := 0
	for _, a := range attempts {
		if a.Verdict == worst {
			n++
		}
	}
	if n > 1 {
		reason += fmt.Sprintf(" (and %d more)", n-1)
	}
	return worst, reason
}

func rank(v Verdict) int {
	switch v {
	case NA:
		return 0
	case Held:
		return 1
	case Errored:
		return 2
	case Failed:
		return 3
	}
	return 2 // an unknown verdict is an error
}

// Worse is the more serious of two verdicts; what is not applicable gives way.
func Worse(a, b Verdict) Verdict {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// Count is how many attempts were held, of those that apply.
func (r Result) Count() (held, of int) {
	for _, a := range r.Attempts {
		if a.Verdict == NA {
			continue
		}
		of++
		if a.Verdict == Held {
			held++
		}
	}
	return held, of
}

// Clean says whether every test that was run held or did not apply, and
// nothing was left behind.
func (r *Record) Clean() bool {
	for _, t := range r.Tests {
		if t.Verdict != Held && t.Verdict != NA {
			return false
		}
	}
	return len(r.Tests) > 0 && len(r.Left) == 0
}

// Complete says whether all sixteen were run.
func (r *Record) Complete() bool {
	seen := map[int]bool{}
	for _, t := range r.Tests {
		seen[t.Number] = true
	}
	for _, t := range Tests() {
		if !seen[t.Number] {
			return false
		}
	}
	return true
}

// Shape is what a proof depends on beside the policy: a proof from another
// shape is stale.
type Shape struct {
	Kernel    string            `json:"kernel"`
	LSM       string            `json:"lsm"` // security modules in force
	Sysctls   map[string]string `json:"sysctls"`
	UID       int               `json:"uid"`
	Groups    []int             `json:"groups"`
	Cgroup    string            `json:"cgroup"`    // "none", "v1", "v2", "v2 delegated", "v2 by scope"
	Container string            `json:"container"` // how nesting was recognised; "" when not nested
	Build     string            `json:"build"`     // hash of the program
	// WayOut is how requests that the policy allows leave; "" when it allows none.
	WayOut string `json:"way_out,omitempty"`
	// Mounts is what of the host appears inside, as "host -> inside"; the
	// workspace's own path is not in it.
	Mounts []string `json:"mounts"`
}

// The ways out. By the host's own proxy nobody here sees to which addresses
// names lead.
const (
	WayStraight = "straight"
	WayByProxy  = "by the host's own proxy, which resolves names"
)

// Differences names what differs between two shapes, in words.
func (s Shape) Differences(o Shape) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s was %s, is %s", what, named(a), named(b)))
		}
	}
	add("kernel", s.Kernel, o.Kernel)
	add("fumehood build", short(s.Build), short(o.Build))
	add("security modules", s.LSM, o.LSM)
	add("uid", fmt.Sprint(s.UID), fmt.Sprint(o.UID))
	add("groups", fmt.Sprint(s.Groups), fmt.Sprint(o.Groups))
	add("cgroup mode", s.Cgroup, o.Cgroup)
	add("container", s.Container, o.Container)
	add("way out", s.WayOut, o.WayOut)
	for _, k := range keys(s.Sysctls, o.Sysctls) {
		add(k, s.Sysctls[k], o.Sysctls[k])
	}
	if a, b := strings.Join(s.Mounts, "\n"), strings.Join(o.Mounts, "\n"); a != b {
		out = append(out, "what of the host appears inside is another list")
	}
	return out
}

func named(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func short(hash string) string { return hash[:min(len(hash), 12)] }
