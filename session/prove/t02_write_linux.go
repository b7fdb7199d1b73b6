package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/plan"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// writeOutside is test 2.
func writeOutside(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	mounted, err := e.mountedPlaces()
	if err != nil {
		return nil, err
	}
	w := &writing{e: e, rm: rm}
	list, err := w.controls()
	if err != nil {
		return nil, err
	}
	for i, p := range e.places(mounted) {
		for _, d := range writeDeeds {
			if i > 0 && !d.everywhere {
				continue
			}
			id, tried := p.id+" "+d.id, d.tried+" "+p.dir+" of the host"
			if p.why != "" && !strings.Contains(p.why, "policy") {
				list = append(list, skipped(id, tried, p.why))
				continue
			}
			one, err := w.outside(id, tried, p.dir, d)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	named, err := w.named()
	if err != nil {
		return nil, err
	}
	list = append(append(list, named...), w.inside()...)
	attempts, err := e.rows(ctx, rm, list)
	host, _ := rm.workspace()
	return attempts, errors.Join(err, os.RemoveAll(filepath.Join(host, w.folder())))
}

// writing makes the rows of test 2.
type writing struct {
	e  *env
	rm room
}

func (w *writing) folder() string { return "fumehood-write-" + w.e.id }

// denied is how the kernel refuses a change of what is not there, not granted,
// or read-only.
var denied = []syscall.Errno{unix.ENOENT, unix.EACCES, unix.EPERM, unix.EROFS}

// controls is each deed in the workspace, with its effect seen on the host.
func (w *writing) controls() ([]row, error) {
	host, inside := w.rm.workspace()
	var st unix.Stat_t
	if err := unix.Stat(host, &st); err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	give := func(path string) error { return os.Lchown(path, int(st.Uid), int(st.Gid)) }
	top := filepath.Join(host, w.folder())
	if err := os.Mkdir(top, 0o755); err != nil {
		return nil, fmt.Errorf("make targets in the workspace: %w", err)
	}
	if err := give(top); err != nil {
		return nil, fmt.Errorf("make targets in the workspace: %w", err)
	}
	var out []row
	for _, d := range writeDeeds {
		name := filepath.Join(w.folder(), strings.ReplaceAll(d.id, " ", "-"))
		dir := filepath.Join(host, name)
		if err := setTargets(dir, int(st.Uid), int(st.Gid), false); err != nil {
			return nil, err
		}
		if why := unknownHere(d, dir); why != "" {
			out = append(out, skipped("workspace "+d.id, d.tried+" the workspace", why))
			continue
		}
		var before string
		out = append(out, row{
			id: "workspace " + d.id, tried: d.tried + " the workspace", expected: "works, and shows on the host", host: !d.silent,
			do: probe.Action{Steps: d.steps(filepath.Join(inside, name))},
			before: func() (err error) {
				if err = setTargets(dir, int(st.Uid), int(st.Gid), false); err == nil {
					before, err = snapshotOf(dir)
				}
				return err
			},
			judge: func(s *seen) outcome {
				after, err := snapshotOf(dir)
				what := changes(before, after)
				switch {
				case err != nil:
					return errored(err.Error())
				case d.silent:
					return works(d.call)(s)
				case what == "":
					return errored("nothing changed on the host" + s.why())
				}
				return beside(works(d.call)(s), held("it shows on the host", walls.Filesystem, what))
			},
		})
	}
	return out, nil
}

// outside is one deed on targets of its own in a place of the host's.
func (w *writing) outside(id, tried, parent string, d writeDeed) (row, error) {
	top, err := w.e.plant(parent)
	if err != nil {
		return row{}, fmt.Errorf("plant targets in %q: %w", parent, err)
	}
	dir := filepath.Join(top, strings.ReplaceAll("write "+id, " ", "-"))
	set := func() error { return setTargets(dir, -1, -1, w.e.real.UID == 0) }
	if err := set(); err != nil {
		return row{}, err
	}
	if why := unknownHere(d, dir); why != "" {
		return skipped(id, tried, why), nil
	}
	var before string
	return row{
		id: id, tried: tried, expected: "refused, and nothing changes", host: !d.silent, control: "workspace " + d.id,
		do: probe.Action{Steps: d.steps(dir)},
		before: func() (err error) {
			if err = set(); err == nil {
				before, err = snapshotOf(dir)
			}
			return err
		},
		judge: func(s *seen) outcome {
			after, err := snapshotOf(dir)
			if err != nil {
				return errored(err.Error())
			}
			o := unchanged(before, after, s)
			if s.traced {
				o = beside(refused(d.call, denied...)(s), o)
			}
			return o
		},
	}, nil
}

// unchanged judges by the host's own look at the targets.
func unchanged(before, after string, s *seen) outcome {
	switch what := changes(before, after); {
	case what != "":
		return failed("it changed on the host", walls.Filesystem, what)
	case s.said == nil || s.said.Err != "":
		return errored("it was not tried" + s.why())
	}
	return held("unchanged on the host", walls.Filesystem, "names, modes, owners, times and hashes before and after: "+digest(before))
}

// named are attempts at a new name in folders of the system, where the run
// plants nothing, and beside the workspace as it appears inside.
func (w *writing) named() ([]row, error) {
	_, inside := w.rm.workspace()
	var out []row
	for _, at := range []struct{ id, parent string }{
		{"/", "/"},
		{"/etc", "/etc"},
		{"/usr", "/usr"},
		{"/usr/bin", "/usr/bin"},
		{"the folder above the workspace", filepath.Dir(inside)},
		{"the one above that", filepath.Dir(filepath.Dir(inside))},
	} {
		parent := at.parent
		path := filepath.Join(parent, "fumehood-canary-"+w.e.id) // as sweep expects it
		if parent == w.e.dir {
			path += "-folder" // canaries have that name there
		}
		if err := w.e.expect(path); err != nil {
			return nil, err
		}
		var there bool // it can't be made twice
		out = append(out, row{
			id: "mkdir in " + at.id, tried: "make a folder in " + parent, expected: "refused, and it is not on the host", host: true, account: true, control: "workspace mkdir",
			do: probe.Action{Steps: []probe.Step{{Call: "mkdirat", Args: []string{"-100", "s:" + path, "0o755"}}}},
			judge: func(s *seen) outcome {
				_, err := os.Lstat(path)
				there = err == nil
				var o outcome
				switch {
				case there:
					o = failed("it was made on the host", walls.Filesystem, "listing: "+path)
				case !errors.Is(err, fs.ErrNotExist):
					o = errored(err.Error())
				case s.said == nil || s.said.Err != "":
					o = errored("it was not tried" + s.why())
				default:
					o = held("it is not on the host", walls.Filesystem, "listing: no "+path)
				}
				call := refused("mkdirat", denied...)(s)
				switch {
				case !s.traced:
				case call.verdict == walls.Failed && o.verdict == walls.Held && w.e.target.kind() == foreign:
					o.observed, o.evidence = "made in a folder of the sandbox's own; "+o.observed, call.evidence+"; "+o.evidence
				default:
					o = beside(call, o)
				}
				return o
			},
			after: func() (outcome, error) {
				if !there {
					return nothingMore, nil
				}
				return nothingMore, os.Remove(path)
			},
		})
	}
	return out, nil
}

// expect remembers a path that an attempt would make where no wall stands. One
// that this account can't make either is not remembered: it is not there, and a
// read-only file system would not even let it be looked for.
func (e *env) expect(path string) error {
	if mayWrite := unix.Access(filepath.Dir(path), unix.W_OK) == nil; !mayWrite {
		return nil
	}
	e.planted = append(e.planted, path)
	return atomicfile.Write(filepath.Join(e.dir, "planted"), []byte(strings.Join(e.planted, "\n")), 0o600)
}

// inside are attempts at what is the sandbox's own and stays as it was made.
// The tracer alone can judge them.
func (w *writing) inside() []row {
	open := func(path string, how int) probe.Action {
		return probe.Action{Steps: []probe.Step{
			{Call: "openat", Args: []string{"-100", "s:" + path, flagText(how), "0o644"}, Save: "fd"},
			{Call: "close", Args: []string{"$fd"}},
		}}
	}
	out := []row{{
		id: "own priority", tried: "open /proc/self/oom_score_adj for writing", expected: "refused",
		do: open("/proc/self/oom_score_adj", unix.O_WRONLY), control: "workspace overwrite", judge: refused("openat", denied...), ours: true,
	}}
	if w.e.target.kind() == foreign {
		return out // the others are names of fumehood's own
	}
	return append(out, row{
		id: "chmod /etc/hosts", tried: "change the mode of the sandbox's /etc/hosts", expected: "refused",
		do:      probe.Action{Steps: []probe.Step{{Call: "fchmodat", Args: []string{"-100", "s:/etc/hosts", "0o600"}}}},
		control: "workspace chmod", judge: refused("fchmodat", denied...),
	}, row{
		id: "place of the start's canary", tried: "create a file where the start's own attempt was made", expected: "refused or absent",
		do: open(plan.Canary+"/allowed/x", unix.O_WRONLY|unix.O_CREAT), control: "workspace create", judge: refused("openat", denied...),
	})
}
