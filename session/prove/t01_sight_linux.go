package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// sights are what can be learnt of the machine without a file of it: its name,
// its groups of processes, its keys and its mounts.
func (r *reading) sights() ([]row, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("ask for this machine's name: %w", err)
	}
	group, err := os.Readlink("/proc/self/ns/cgroup")
	if err != nil {
		return nil, fmt.Errorf("look at the own cgroup namespace: %w", err)
	}
	out := []row{
		{
			id: "machine's name", tried: "ask for the machine's name", expected: "another than the host's",
			do:    probe.Action{Steps: []probe.Step{{Call: "uname", Args: []string{"z:390"}}}},
			judge: otherThan("uname", unix.ByteSliceToString(u.Nodename[:]), nodename),
		},
		{
			id: "groups of processes", tried: "see the host's cgroup namespace", expected: "another than the host's",
			do:    lookAction("readlinkat", "/proc/self/ns/cgroup", "z:256", "256"),
			judge: otherThan("readlinkat", group, func(b []byte) string { return string(b) }),
		},
		{
			id: "own status", tried: "read a file of /proc that is not covered", expected: "has content",
			do: openAction("/proc/self/status"), judge: hasContent,
		},
	}
	for _, name := range plan.ProcMasks() {
		// Some are for writing (test 3), and one waits for the next message.
		if slices.Contains([]string{"kcore", "sysrq-trigger", "kmsg"}, name) || unix.Access("/proc/"+name, unix.F_OK) != nil {
			continue
		}
		out = append(out, row{
			id: "/proc/" + name, tried: "read /proc/" + name, expected: "refused, or nothing in it", do: openAction("/proc/" + name), control: "own status",
			judge: noContent, account: true, ours: name == "kallsyms", // a list of zeros, where addresses are hidden
		})
	}
	if r.e.target.kind() != foreign {
		out = append(out, row{
			id: "fumehood's own program", tried: "open the program that closed the walls", expected: "refused", do: onlyOpen(plan.Spawner), control: "workspace open",
			judge: refused("openat", absent...),
		})
	}
	table, err := r.mountTable()
	return append(out, table), err
}

func nodename(b []byte) string {
	const at = 65 // the second field of struct new_utsname
	if len(b) < 2*at {
		return ""
	}
	return unix.ByteSliceToString(b[at : 2*at])
}

// otherThan judges what a call handed out, as the tracer read it: it may not be
// what it is on the host.
func otherThan(call, host string, field func([]byte) string) func(*seen) outcome {
	return func(s *seen) outcome {
		calls := s.seg.Find(call)
		if len(calls) == 0 {
			return errored(call + " was not tried" + s.why())
		}
		c := calls[len(calls)-1]
		if !c.OK() {
			return held("the kernel does not tell", walls.Kernel, c.String())
		}
		got := field(c.Data)
		switch got {
		case "":
			return errored("what the kernel told was not seen")
		case host:
			return failed("it is the host's", walls.Kernel, fmt.Sprintf("%s: %q inside, %q on the host", call, got, host))
		}
		return held("it is another than the host's", walls.Kernel, fmt.Sprintf("%s: %q inside, %q on the host", call, got, host))
	}
}

func lastRead(s *seen) (trace.Call, bool) {
	calls := s.seg.Find("read")
	if len(calls) == 0 {
		return trace.Call{}, false
	}
	return calls[len(calls)-1], true
}

func hasContent(s *seen) outcome {
	if !s.traced {
		return works("read")(s) // again as a control only
	}
	c, ok := lastRead(s)
	if !ok || !c.OK() || c.Ret == 0 {
		return errored("it could not be read" + s.why())
	}
	return held("it was read", walls.Kernel, c.String())
}

func noContent(s *seen) outcome {
	c, ok := lastRead(s)
	switch {
	case !ok:
		return refused("openat", absent...)(s)
	case c.OK() && c.Ret > 0:
		return failed("it was read", walls.Kernel, c.String())
	case !c.Returned:
		return errored("the call did not return" + s.why())
	}
	return held("nothing was in it", walls.Kernel, c.String())
}

// mountTable is the table that the probe sees: it may name no folder of the
// host but those that are meant to be there.
func (r *reading) mountTable() (row, error) {
	host, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return row{}, fmt.Errorf("read the host's mount table: %w", err)
	}
	ws, _ := r.rm.workspace()
	known := append(slices.Clone(r.mounted), filepath.Dir(ws), "/dev", "/proc")
	if self, err := os.Executable(); err == nil {
		known = append(known, self)
	}
	return row{
		id: "mount table", ours: true, tried: "read the mount table", expected: "names no folder of the host that the policy does not show",
		do: probe.Action{Do: "read", Args: map[string]string{"path": "/proc/self/mountinfo"}},
		judge: func(s *seen) outcome {
			var table []byte
			for _, c := range s.seg.Find("read") {
				table = append(table, c.Data...)
			}
			if len(table) == 0 {
				if o := refused("openat", absent...)(s); o.verdict == walls.Held {
					return o
				}
				return errored("the mount table was not seen to be read" + s.why())
			}
			lines := strings.Count(string(table), "\n")
			if more := hostFolders(string(table), string(host), known); len(more) > 0 {
				return failed(fmt.Sprintf("%d folders of the host are mounted beside those of the policy", len(more)), walls.Kernel, strings.Join(more, ", "))
			}
			return held("only what the policy shows", walls.Kernel, fmt.Sprintf("%d mounts inside, read in %d bytes", lines, len(table)))
		},
	}, nil
}

// hostFolders gives the folders of the host that a mount table shows, without
// those at or below the known ones.
func hostFolders(inside, host string, known []string) []string {
	type mount struct{ dev, root, point, kind string }
	parse := func(text string) []mount {
		var out []mount
		for line := range strings.Lines(text) {
			head, tail, ok := strings.Cut(line, " - ")
			f, t := strings.Fields(head), strings.Fields(tail)
			if !ok || len(f) < 5 || len(t) < 1 {
				continue
			}
			out = append(out, mount{f[2], strings.TrimSuffix(f[3], "//deleted"), f[4], t[0]})
		}
		return out
	}
	outside := parse(host)
	var out []string
	for _, m := range parse(inside) {
		var names []string
		for _, h := range outside {
			rel, ok := strings.CutPrefix(m.root, strings.TrimSuffix(h.root, "/"))
			if h.dev != m.dev || !ok || rel != "" && rel[0] != '/' {
				continue
			}
			names = append(names, filepath.Join(h.point, rel))
		}
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return below(n, known) }) {
			out = append(out, fmt.Sprintf("%s at %s", names[0], m.point))
		}
	}
	return out
}
