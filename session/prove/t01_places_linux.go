package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/walls"
)

// canaries is every way at one canary in the run's own folder, and the main
// ones at one in each other place. Each that is opened is a file of its own and
// watched, so that an event belongs to one attempt.
func (r *reading) canaries() ([]row, error) {
	var out []row
	for i, p := range r.e.places(r.mounted) {
		if p.why != "" {
			out = append(out, skipped(p.id, "a canary in "+p.dir, p.why))
			continue
		}
		for _, wy := range ways {
			if i > 0 && wy.id != "open" && wy.id != "stat" {
				continue
			}
			one, err := r.canary(p.id+" "+wy.id, p.dir, wy, func(path string) string { return path })
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		folder, err := r.e.plant(p.dir)
		if err != nil {
			return nil, err
		}
		out = append(out, row{
			id: p.id + " list", tried: "list the folder of the canary, " + folder, expected: "refused or absent",
			do: listAction(folder), control: "workspace list", judge: refused("openat", absent...),
		})
	}
	return out, nil
}

// canary is one way at a canary of its own; named turns the canary's path into
// the name to use.
func (r *reading) canary(id, parent string, wy way, named func(string) string) (row, error) {
	path, err := r.e.canary(parent, strings.ReplaceAll(id, " ", "-"))
	if err != nil {
		return row{}, fmt.Errorf("plant a canary in %q: %w", parent, err)
	}
	if err := atLeast(os.Symlink(filepath.Base(path), path+linkSuffix)); err != nil {
		return row{}, fmt.Errorf("plant a link to a canary: %w", err)
	}
	one := row{
		id: id, tried: wy.tried + " the canary " + named(path), expected: "refused or absent", do: wy.do(named(path)),
		control: "workspace " + wy.id, judge: r.e.unseen(refused(wy.call, absent...)),
	}
	if wy.id != "open" {
		return one, nil
	}
	one.host, one.control = true, "workspace watched"
	one.before = func() error { return r.w.add(path) }
	one.judge = func(s *seen) outcome {
		o := r.w.unopened(path, s)
		if s.traced {
			o = beside(r.e.unseen(refused(wy.call, absent...))(s), o)
		}
		return o
	}
	return one, nil
}

// unopened judges by the watch alone.
func (w *watch) unopened(path string, s *seen) outcome {
	n, err := w.events(path)
	switch {
	case err != nil:
		return errored(err.Error())
	case n > 0:
		return failed("the file was opened on the host", walls.Filesystem, fmt.Sprintf("inotify: %d events of %s", n, path))
	case s.said == nil || s.said.Err != "":
		return errored("it was not tried" + s.why())
	}
	return held("the file was not opened on the host", walls.Filesystem, "inotify: no event of "+path)
}

// unseen adds to a judge that the token was not handed out in the attempt.
func (e *env) unseen(judge func(*seen) outcome) func(*seen) outcome {
	return func(s *seen) outcome {
		if o, found := e.found(s); found {
			return o
		}
		return judge(s)
	}
}

// otherPaths is the canary by names that lead to it around a path's own.
func (r *reading) otherPaths(c *holder) ([]row, error) {
	var out []row
	for _, n := range []struct {
		id    string
		named func(string) string
	}{
		{"self root", func(p string) string { return "/proc/self/root" + p }},
		{"root of process 1", func(p string) string { return "/proc/1/root" + p }},
		{"root of a host process", func(p string) string { return fmt.Sprintf("/proc/%d/root%s", c.pid, p) }},
		{"cwd of a host process", func(p string) string { return fmt.Sprintf("/proc/%d/cwd/%s", c.pid, filepath.Base(p)) }},
		{"climbing", func(p string) string { return strings.Repeat("../", 40) + p[1:] }},
		{"climbing from the workspace", func(p string) string {
			_, inside := r.rm.workspace()
			return inside + "/src/" + strings.Repeat("../", 40) + p[1:]
		}},
	} {
		one, err := r.canary(n.id, r.e.dir, ways[0], n.named)
		if err != nil {
			return nil, err
		}
		one.account = n.id == "root of process 1" // root's process, which only root may look into
		out = append(out, one)
	}
	return out, nil
}

// project is a second repository beside the one that the session works on.
func (r *reading) project() ([]row, error) {
	dir := filepath.Join(r.e.dir, "another-project")
	var out []row
	for _, name := range []string{".git/config", "src/main.txt", ".env"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("make another project: %w", err)
		}
		if err := atomicfile.Write(path, []byte("[token]\n\tvalue = "+r.e.token+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("make another project: %w", err)
		}
		out = append(out, row{
			id: "another project " + name, tried: "open " + path + " of another project", expected: "refused or absent", do: openAction(path), control: "workspace open",
			judge: r.e.unseen(refused("openat", absent...)),
		})
	}
	return append(out, row{
		id: "another project list", tried: "list another project", expected: "refused or absent", do: listAction(dir), control: "workspace list",
		judge: refused("openat", absent...),
	}), nil
}
