package isolate

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/plan"
)

// verifier reads each layer from outside, from the host's own /proc and not
// from what the stage says, and collects what it saw. The first fact that is
// not as it should be is an error.
type verifier struct {
	first int
	plan  *plan.Plan
	cpus  []int    // that it was bound to; nil is not
	group *grouped // nil when it has none
	// ungrouped is why it has none.
	ungrouped string
	facts     Facts
	// part is what was left out, and whole the plan that has it.
	part  Part
	whole *plan.Plan
	// planted is readable to its end once PID 1 and what it started closed it.
	planted *os.File
}

// spawnerClosed looks at what is closed when the spawner has reported.
func (v *verifier) spawnerClosed(inside int) error {
	spawner, err := findSpawner(v.first, inside)
	if err != nil {
		return notSeen(layer.Namespaces, err)
	}
	return v.see(
		look{layer.Namespaces, func() (Facts, error) { return namespaceFacts("PID 1", v.first) }},
		look{layer.Namespaces, func() (Facts, error) { return namespaceFacts("spawner", spawner) }},
		look{layer.Limits, func() (Facts, error) { return limitFacts(spawner, v.whole.Limits) }},
		look{layer.Limits, func() (Facts, error) { return cpuFacts(v.first, spawner, v.cpus) }},
		look{layer.Limits, func() (Facts, error) { return cgroupFacts(v.first, v.group, v.ungrouped) }},
		look{layer.Limits, func() (Facts, error) { return oomFacts(spawner) }},
		look{layer.Identity, func() (Facts, error) { return statusFacts("spawner", spawner, []int{spawner}) }},
		look{layer.Identity, func() (Facts, error) { return gidFacts(spawner) }},
		look{layer.Namespaces, func() (Facts, error) { return programFacts(spawner) }},
	)
}

// firstClosed looks at what PID 1 closes last.
func (v *verifier) firstClosed() error {
	threads, err := limits.Tasks(v.first)
	if err != nil {
		return notSeen(layer.Identity, err)
	}
	return v.see(
		look{layer.Namespaces, func() (Facts, error) { return mountFacts(v.first, v.plan, v.whole) }},
		look{layer.Identity, func() (Facts, error) { return firstFacts(v.first, v.planted) }},
		look{layer.Identity, func() (Facts, error) { return statusFacts("PID 1", v.first, threads) }},
	)
}

// look is one look at a layer.
type look struct {
	layer layer.Name
	at    func() (Facts, error)
}

func (v *verifier) see(looks ...look) error {
	for _, l := range looks {
		facts, err := l.at()
		if err != nil {
			return notSeen(l.layer, err)
		}
		v.facts = append(v.facts, facts...)
		for _, f := range facts {
			if err := v.missing(f); err != nil {
				return err
			}
			if !f.OK && !v.excused(f) {
				return &layer.Error{
					Layer: f.Layer, Op: "look from outside",
					Err: fmt.Errorf("%s is %q by %s", f.What, f.Value, f.Source), Hint: hintLie,
				}
			}
		}
	}
	return nil
}

func notSeen(l layer.Name, err error) error {
	return hinted(&layer.Error{Layer: l, Op: "look from outside", Err: err})
}

// findSpawner is the one child of PID 1, with the number inside that was told.
func findSpawner(first, inside int) (int, error) {
	kids, err := limits.Tree(first)
	if err != nil {
		return 0, err
	}
	if len(kids) != 1 {
		return 0, fmt.Errorf("%d processes below PID 1, want the spawner alone", len(kids))
	}
	st, err := readStatus(kids[0], 0)
	if err != nil {
		return 0, err
	}
	pids := strings.Fields(st["NSpid"])
	if len(pids) < 2 || pids[len(pids)-1] != strconv.Itoa(inside) {
		return 0, fmt.Errorf("the process below PID 1 is %q, want %d inside", st["NSpid"], inside)
	}
	return kids[0], nil
}

func namespaceFacts(name string, pid int) (Facts, error) {
	var out Facts
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		path := fmt.Sprintf("/proc/%d/ns/%s", pid, ns)
		theirs, err := os.Readlink(path)
		if err != nil {
			return nil, err
		}
		ours, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return nil, err
		}
		out = append(out, layer.Fact{
			Layer: layer.Namespaces, What: ns + " namespace of " + name, Value: theirs,
			Source: "/proc/PID/ns/" + ns, OK: theirs != ours && strings.HasPrefix(theirs, ns+":["),
		})
	}
	return out, nil
}

func mountFacts(pid int, p, whole *plan.Plan) (Facts, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	host, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	fact := func(what string, want []plan.Mount) layer.Fact {
		diffs := plan.Compare(want, string(text), string(host))
		f := layer.Fact{
			Layer: layer.Namespaces, What: what, Value: fmt.Sprintf("%d, as planned", len(want)),
			Source: "/proc/PID/mountinfo", OK: len(diffs) == 0,
		}
		if !f.OK {
			f.Value = strings.Join(diffs, "; ")
		}
		return f
	}
	out := Facts{fact("mounts", p.Mounts())}
	if p != whole {
		out = append(out, fact(wholeMounts, whole.Mounts()))
	}
	return out, nil
}

// statusFacts reads each thread of tids. Of PID 1 that is every one, since they
// closed their layers one by one; the spawner had them closed from its start.
func statusFacts(name string, pid int, tids []int) (Facts, error) {
	ours, err := readStatus(os.Getpid(), 0)
	if err != nil {
		return nil, err
	}
	filters := map[string]int{}
	filters["ours"], err = number(ours, "Seccomp_filters")
	if err != nil {
		return nil, err
	}
	worst := map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": ""}
	for _, key := range capKeys {
		worst[key] = noCapabilities
	}
	read := 0
	for _, tid := range tids {
		st, err := readStatus(pid, tid)
		if gone(err) {
			continue // the thread that started the spawner ends by itself
		}
		if err != nil {
			return nil, err
		}
		read++
		for key, good := range worst {
			switch {
			case key == "Seccomp_filters":
				n, err := number(st, key)
				if err != nil {
					return nil, err
				}
				if good == "" || n <= filters["ours"] {
					worst[key] = st[key]
				}
			case key == "CapBnd" && tid != pid:
				// Other threads keep the bounding set. It only matters in an exec,
				// and there no_new_privs lets nothing be gained.
			case st[key] != good && (good == "1" || good == "2" || good == noCapabilities):
				worst[key] = st[key]
			}
		}
	}
	if read == 0 {
		return nil, fmt.Errorf("%s: no thread could be read", name)
	}
	n, err := strconv.Atoi(worst["Seccomp_filters"])
	if err != nil {
		return nil, fmt.Errorf("%s: filters: %w", name, err)
	}
	fact := func(l layer.Name, key string, ok bool) layer.Fact {
		return layer.Fact{Layer: l, What: key + " of " + name, Value: worst[key], Source: "/proc/PID/status", OK: ok}
	}
	// The filter first: PID 1's other threads got no_new_privs by it.
	out := Facts{
		fact(layer.Seccomp, "Seccomp", worst["Seccomp"] == "2"),
		fact(layer.Seccomp, "Seccomp_filters", n > filters["ours"]),
		fact(layer.Identity, "NoNewPrivs", worst["NoNewPrivs"] == "1"),
	}
	for _, key := range capKeys {
		out = append(out, fact(layer.Identity, key, worst[key] == noCapabilities))
	}
	return out, nil
}

var capKeys = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

const noCapabilities = "0000000000000000"

func limitFacts(spawner int, l plan.Limits) (Facts, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", spawner))
	if err != nil {
		return nil, err
	}
	var out Facts
	for line := range strings.Lines(string(text)) {
		check := func(prefix string, want uint64) {
			rest, ok := strings.CutPrefix(line, prefix)
			f := strings.Fields(rest)
			if !ok || len(f) < 2 {
				return
			}
			hard, err := strconv.ParseUint(f[1], 10, 64)
			out = append(out, layer.Fact{
				Layer: layer.Limits, What: strings.ToLower(prefix), Value: f[1], Source: "/proc/PID/limits",
				OK: err == nil && hard <= want,
			})
		}
		check("Max core file size", 0)
		if l.Processes > 0 {
			check("Max processes", l.Processes+plan.OwnThreads)
		}
		if l.Data > 0 {
			check("Max data size", l.Data)
		}
		if l.OpenFiles > 0 {
			check("Max open files", l.OpenFiles)
		}
		if l.FileSize > 0 {
			check("Max file size", l.FileSize)
		}
	}
	want := 1
	for _, v := range []uint64{l.Processes, l.Data, l.OpenFiles, l.FileSize} {
		if v > 0 {
			want++
		}
	}
	if len(out) != want {
		return nil, fmt.Errorf("%d of %d limits found in /proc/PID/limits", len(out), want)
	}
	return out, nil
}

// checkCanary proves Landlock, for which /proc has no field: on the host must
// be what it grants and must not be what it alone refuses.
func checkCanary(spec Spec, p *plan.Plan, told plan.CanaryTold, knocked int) (Facts, error) {
	allowed, denied, err := seeCanary(spec, p.Nonce)
	if err != nil {
		return nil, notSeen(layer.Landlock, err)
	}
	if !allowed {
		return nil, notSeen(layer.Landlock, fmt.Errorf("the canary did not do what is granted: %w", syscall.Errno(told.Allowed)))
	}
	made := "not made"
	if denied {
		made = "made: Landlock is not in force"
	}
	out := Facts{
		{Layer: layer.Landlock, What: "a granted file", Value: "made", Source: "canary on the host", OK: true},
		{Layer: layer.Landlock, What: notGranted, Value: made, Source: "canary on the host", OK: !denied && told.Denied == int(syscall.EACCES)},
		{Layer: layer.Landlock, What: "ABI", Value: strconv.Itoa(p.Landlock.ABI), Source: "kernel", OK: true},
	}
	if p.Landlock.Scoped == 0 {
		return out, nil
	}
	came, err := readable(knocked, 0)
	if err != nil {
		return nil, notSeen(layer.Landlock, err)
	}
	f := layer.Fact{Layer: layer.Landlock, What: outsideSocket, Value: "not reached", Source: "its queue", OK: !came}
	if came {
		f.Value = "reached"
	}
	return append(out, f), nil
}

func readStatus(pid, tid int) (map[string]string, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	if tid != 0 {
		path = fmt.Sprintf("/proc/%d/task/%d/status", pid, tid)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[k] = strings.TrimSpace(v)
		}
	}
	return out, nil
}

func number(status map[string]string, key string) (int, error) {
	n, err := strconv.Atoi(status[key])
	if err != nil {
		return 0, fmt.Errorf("%s in /proc/PID/status: %q", key, status[key])
	}
	return n, nil
}
