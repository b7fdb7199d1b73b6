package isolate

import (
	"errors"
	"fmt"
	"slices"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// Part is one part of the walls, which StartWithout can leave out.
type Part struct {
	Layer layer.Name
	Name  string
	// Why is what the part is for.
	Why string
	// Only is the action that this part alone refuses, and how it comes out with
	// the part and without. "none: ..." where the part is a second wall; it says
	// then where its absence shows.
	Only string
	// Cannot is why the part can't be left out on this machine or by this
	// account; "" when it can.
	Cannot string

	part plan.Part
}

// machine is what decides which parts can be left out here.
type machine struct {
	root        bool   // this process is root's
	groups      bool   // it has supplementary groups
	abi         int    // of Landlock; 0 is none
	noNewPrivs  bool   // this process has it already
	coreMax     uint64 // its own limit of core files
	oomScoreAdj int
	foreign     bool // the kernel takes calls of a foreign ABI
}

// cannot is why one part can't be left out; "" when it can.
func (m machine) cannot(p plan.Part) string {
	const outside = "nothing outside shows an ordinary user whether it is missing"
	for _, row := range []struct {
		is   bool
		omit plan.Omit
		why  string
	}{
		{!m.root, plan.Groups, "an ordinary user can't drop its groups: they stay in every sandbox"},
		{!m.groups, plan.Groups, "this process has no supplementary groups"},
		{!m.root, plan.EmptyEnviron, outside},
		{m.noNewPrivs, plan.NoNewPrivs, "this process has it already, and what it starts inherits it"},
		{m.coreMax == 0, plan.LimitCore, "this process may write no core files either"},
		{m.oomScoreAdj >= 900, plan.OOMScore, "this process has that already"},
		{m.abi < 6, plan.LandlockScope, fmt.Sprintf("this kernel has Landlock ABI %d, scopes came with 6", m.abi)},
		{!m.foreign, plan.ForeignABIs, "this kernel takes no calls of a foreign ABI"},
	} {
		if row.is && row.omit == p.Omit {
			return row.why
		}
	}
	return p.Never
}

func (m machine) parts() []Part {
	var out []Part
	for _, p := range plan.Parts() {
		out = append(out, Part{Layer: p.Layer, Name: p.Name, Why: p.Why, Only: p.Only, Cannot: m.cannot(p), part: p})
	}
	return out
}

// Names of facts that several places need.
const (
	wholeMounts   = "mounts of the whole"
	notGranted    = "a file not granted"
	outsideSocket = "an abstract socket outside the session's domain"
	plantedPipe   = "a descriptor given to PID 1"
)

// trace is how the absence of a part shows outside.
type trace struct {
	// gone are the facts that are not as they should be when it is missing.
	gone []string
	// open are facts that say nothing then.
	open []string
	// told says that only process 1's own attempt shows it.
	told bool
	// unseen says that nothing does before somebody tries.
	unseen bool
}

// traceOf is how the absence of each part shows.
func traceOf(o plan.Omit) trace {
	both := func(key string) []string { return []string{key + " of PID 1", key + " of spawner"} }
	switch o {
	case plan.Nothing:
		return trace{}
	case plan.NetNS:
		return trace{gone: both("net namespace")}
	case plan.IPCNS:
		return trace{gone: both("ipc namespace")}
	case plan.UTSNS:
		return trace{gone: both("uts namespace")}
	case plan.CgroupNS:
		return trace{gone: both("cgroup namespace")}
	case plan.MinimalRoot, plan.OwnProc, plan.OwnTmp, plan.OwnTerminals, plan.Overlays, plan.ReadOnlyRoot, plan.SealedFolders,
		plan.NoSUID, plan.NoDev, plan.CoveredProc, plan.ProcSys, plan.HiddenProgram, plan.HiddenCanary, plan.LimitTmp:
		return trace{gone: []string{wholeMounts}}
	case plan.OwnProgram:
		return trace{gone: []string{"mount of the own program"}}
	case plan.NestedUserNS, plan.WatchShare, plan.ForeignABIs, plan.FilterGroup:
		return trace{told: true}
	case plan.WatchStarter, plan.ParentDeath:
		return trace{unseen: true}
	case plan.NoNewPrivs:
		return trace{gone: both("NoNewPrivs")}
	case plan.Capabilities:
		return trace{gone: slices.Concat(both("CapInh"), both("CapPrm"), both("CapEff"), both("CapAmb"))}
	case plan.BoundingSet:
		return trace{gone: both("CapBnd")}
	case plan.Groups:
		return trace{gone: []string{"Groups of spawner"}}
	case plan.Undumpable:
		return trace{gone: []string{"owner of /proc/PID of PID 1"}}
	case plan.Descriptors:
		return trace{gone: []string{plantedPipe}}
	case plan.OwnSession:
		return trace{gone: []string{"terminal session of PID 1"}}
	case plan.Signals:
		return trace{gone: []string{"SigCgt and SigIgn of PID 1"}}
	case plan.EmptyEnviron:
		return trace{gone: []string{"environment of PID 1"}}
	case plan.LandlockFS:
		return trace{gone: []string{notGranted}}
	case plan.LandlockScope:
		return trace{gone: []string{outsideSocket}}
	case plan.Filter:
		// Under a filter of the starter's own "Seccomp" stays as it was.
		return trace{gone: both("Seccomp_filters"), open: both("Seccomp")}
	case plan.LimitProcesses:
		return trace{gone: []string{"max processes"}}
	case plan.LimitData:
		return trace{gone: []string{"max data size"}}
	case plan.LimitOpenFiles:
		return trace{gone: []string{"max open files"}}
	case plan.LimitFileSize:
		return trace{gone: []string{"max file size"}}
	case plan.LimitCore:
		return trace{gone: []string{"max core file size"}}
	case plan.LimitCPUs:
		return trace{gone: both("cpus")}
	case plan.OOMScore:
		return trace{gone: []string{"oom_score_adj of spawner"}}
	}
	return trace{}
}

// missing refuses a part that was left out and is there all the same: what is
// tried then would prove nothing.
func (v *verifier) missing(f layer.Fact) error {
	if !f.OK || !slices.Contains(traceOf(v.part.part.Omit).gone, f.What) {
		return nil
	}
	return &layer.Error{
		Layer: v.part.Layer, Op: "leave out " + v.part.Name,
		Err: fmt.Errorf("it is there all the same: %s is %q by %s", f.What, f.Value, f.Source),
	}
}

// excused is a fact that is not as it should be, of the part that is left out.
func (v *verifier) excused(f layer.Fact) bool {
	t := traceOf(v.part.part.Omit)
	return slices.Contains(t.gone, f.What) || slices.Contains(t.open, f.What)
}

// leftOut is the last look: each sign of the part's absence was there.
func (v *verifier) leftOut(reached bool) error {
	t := traceOf(v.part.part.Omit)
	wrong := func(err error) error {
		return &layer.Error{Layer: v.part.Layer, Op: "leave out " + v.part.Name, Err: err}
	}
	for _, what := range t.gone {
		if !slices.ContainsFunc(v.facts, func(f layer.Fact) bool { return f.What == what && !f.OK }) {
			return wrong(fmt.Errorf("%s was not seen", what))
		}
	}
	switch {
	case t.told && !reached:
		return wrong(fmt.Errorf("%w: this kernel, or what stands above, answers the same without it", ErrUnfit))
	case !t.told && reached:
		return wrong(errors.New("process 1 got through a part that is not left out"))
	case t.told:
		v.facts = append(v.facts, layer.Fact{Layer: v.part.Layer, What: v.part.Name, Value: "let process 1 through", Source: "process 1's own attempt"})
	}
	return nil
}
