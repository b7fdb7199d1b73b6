package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnfit says that a part can be left out here, but not of this session.
var ErrUnfit = errors.New("it can't be left out of this session")

// Without is the plan less one part of the walls; all others stay as they are.
// host is the steps that show the host's own folders, for MinimalRoot alone. A
// part that this plan does not have can't be left out of it.
func (p *Plan) Without(part Part, host []Step) (*Plan, error) {
	q := *p
	q.Steps = slices.Clone(p.Steps)
	q.Omit, q.Group = part.Omit, string(part.Group)
	none := fmt.Errorf("leave out %q: %w: it has none", part.Name, ErrUnfit)
	ok := true
	switch part.Omit {
	case Nothing:
		return nil, fmt.Errorf("leave out %q: it can't be: %s", part.Name, part.Never)
	case MinimalRoot:
		q.Steps, ok = append(q.Steps, host...), len(host) > 0
	case OwnProc:
		ok = q.hosts(func(s Step) bool { return s.Do == Proc })
	case OwnTmp:
		if at, inside := p.belowPrivate(); inside {
			return nil, fmt.Errorf("leave out %q: %w: %q lies below one, and would be made on the host", part.Name, ErrUnfit, at)
		}
		ok = q.hosts(func(s Step) bool { return s.Do == Tmpfs })
	case OwnTerminals:
		ok = q.hosts(func(s Step) bool { return s.Do == Devpts })
	case Overlays:
		ok = q.hosts(func(s Step) bool { return s.Do == Overlay })
	case SealedFolders:
		ok = q.drop(func(s Step) bool { return s.Do == ReadOnly && s.Target != procSys })
	case CoveredProc:
		ok = q.drop(func(s Step) bool { return s.Do == Mask })
	case ProcSys:
		ok = q.drop(func(s Step) bool { return s.Do == ReadOnly && s.Target == procSys })
	case LandlockFS:
		q.Landlock.FS, q.Landlock.Rules = 0, nil
	case LandlockScope:
		q.Landlock.Scoped, ok = 0, p.Landlock.Scoped != 0
	case LimitProcesses:
		q.Limits.Processes, ok = 0, p.Limits.Processes > 0
	case LimitData:
		q.Limits.Data, ok = 0, p.Limits.Data > 0
	case LimitOpenFiles:
		q.Limits.OpenFiles, ok = 0, p.Limits.OpenFiles > 0
	case LimitFileSize:
		q.Limits.FileSize, ok = 0, p.Limits.FileSize > 0
	case LimitTmp:
		ok = false
		for i, s := range q.Steps {
			if s.Do == Tmpfs && s.Size > 0 {
				q.Steps[i].Size, ok = 0, true
			}
		}
	case NetNS, IPCNS, UTSNS, CgroupNS, ParentDeath, OwnSession, Groups, EmptyEnviron, LimitCPUs:
		// The starter's to leave out.
	case ReadOnlyRoot, NoSUID, NoDev, NestedUserNS, WatchShare, OwnProgram, HiddenProgram, HiddenCanary, WatchStarter,
		NoNewPrivs, Capabilities, BoundingSet, Undumpable, Descriptors, Signals, Filter, ForeignABIs, FilterGroup, LimitCore, OOMScore:
		// The stage's.
	}
	if !ok {
		return nil, none
	}
	return &q, nil
}

// hosts has the host's own thing bound in the place of the session's.
func (p *Plan) hosts(is func(Step) bool) bool {
	found := false
	for i, s := range p.Steps {
		if !is(s) {
			continue
		}
		if s.Source == "" {
			p.Steps[i].Source = "/" + s.Target
		}
		p.Steps[i].Host, found = true, true
	}
	return found
}

func (p *Plan) drop(is func(Step) bool) bool {
	before := len(p.Steps)
	p.Steps = slices.DeleteFunc(p.Steps, is)
	return len(p.Steps) < before
}

const procSys = "proc/sys"

// belowPrivate is what is made or mounted below a private folder.
func (p *Plan) belowPrivate() (string, bool) {
	for _, tmp := range p.Steps {
		if tmp.Do != Tmpfs {
			continue
		}
		for _, s := range p.Steps {
			if strings.HasPrefix(s.Target, tmp.Target+"/") {
				return "/" + s.Target, true
			}
		}
	}
	return "", false
}

// Holds says whether something of the plan is at a path of the new root
// (without its leading slash), or only below it.
func (p *Plan) Holds(target string) (at, below bool) {
	for _, s := range p.Steps {
		if s.Do == HomeView || s.Do == CacheView {
			continue
		}
		at = at || s.Target == target
		below = below || strings.HasPrefix(s.Target, target+"/")
	}
	return at, below
}

// Mounts is the mount table that the plan leads to.
func (p *Plan) Mounts() []Mount {
	out := Expected(p.Steps)
	for i := range out {
		switch {
		case p.Omit == NoSUID:
			out[i].NoSUID = false
		case p.Omit == NoDev:
			out[i].NoDev = false
		case p.Omit == ReadOnlyRoot && out[i].Point == "/":
			out[i].RO = false
		case p.Omit == Overlays && strings.HasPrefix(out[i].Point, Home+"/"):
			out[i].Type, out[i].Own = "", false // a view of what is a bind now
		}
	}
	if p.Omit == HiddenProgram {
		out = append(out, Mount{Point: Spawner, RO: true, NoDev: true, NoSUID: true})
	}
	if p.Omit == HiddenCanary {
		out = append(out, Mount{Point: Canary, NoDev: true, NoSUID: true})
	}
	return out
}
