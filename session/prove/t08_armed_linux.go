package prove

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// armed reads from outside what the kernel holds the session under test to, and
// makes each action that one of these numbers refuses by itself.
func (r *hogRun) armed(ctx context.Context) ([]walls.Attempt, error) {
	if r.kind == foreign {
		return nil, nil // whose numbers are not the policy's
	}
	var out []walls.Attempt
	if r.kind == ours {
		rm, err := r.e.shared(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, r.numbers(ctx, r.e.pol, rm, "of the session under test"))
	}
	rm, err := r.open(ctx, true)
	if err != nil {
		return out, err
	}
	if r.kind == bare {
		out = append(out, r.numbers(ctx, r.small, rm, "of the sandbox"))
	}
	more, err := r.e.rows(ctx, rm, r.refusals(rm))
	return append(out, more...), err
}

// numbers compares what the kernel has with the policy, while a probe is there.
func (r *hogRun) numbers(ctx context.Context, pol *policy.Policy, rm room, of string) walls.Attempt {
	_, text := nonce()
	w := row{id: "armed", tried: "read the numbers " + of + " from outside", expected: "those of the policy"}
	o := errored("the probe was not seen")
	_, err := rm.probe(ctx, probe.Job{}, how{started: func(pid int) { o = judgeNumbers(wantNumbers(pol, r.usable), haveNumbers(pid)) }})
	if err != nil {
		o = errored(err.Error())
	}
	a := w.attempt(text, false, o, "")
	r.e.tell(walls.Event{Test: r.e.test, Attempt: &a})
	return a
}

// wantNumbers is what /proc has to show of a process of a session.
func wantNumbers(p *policy.Policy, usable int) map[string]string {
	want := map[string]string{"Max core file size (hard)": "0", "oom_score_adj": "900"}
	if n := p.Limits.Memory; n > 0 {
		want["Max data size"] = fmt.Sprint(int64(n))
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run"} {
			want["size of "+dir] = fmt.Sprint(int64(n) / 4096 * 4096)
		}
	}
	if n := p.Limits.Processes; n > 0 {
		want["Max processes"] = fmt.Sprint(n + ownThreads)
	}
	if n := p.Limits.Disk; n > 0 {
		want["Max file size"] = fmt.Sprint(int64(n))
	}
	if n := p.Limits.CPUs; n > 0 {
		want["processors"] = fmt.Sprint(min(n, usable))
	}
	return want
}

// haveNumbers reads the same of one process.
func haveNumbers(pid int) map[string]string {
	have := limitLines(strconv.Itoa(pid))
	dir := fmt.Sprintf("/proc/%d/", pid)
	if text, err := os.ReadFile(dir + "oom_score_adj"); err == nil {
		have["oom_score_adj"] = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile(dir + "status"); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
				if list, err := limits.ParseCPUs(rest); err == nil {
					have["processors"] = fmt.Sprint(len(list))
				}
			}
		}
	}
	text, err := os.ReadFile(dir + "mountinfo")
	if err != nil {
		return have
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[len(f)-3] != "tmpfs" {
			continue
		}
		for option := range strings.SplitSeq(f[len(f)-1], ",") {
			if size, ok := strings.CutPrefix(option, "size="); ok {
				n, _ := strconv.ParseInt(strings.TrimSuffix(size, "k"), 10, 64) // 0 is no policy's number
				have["size of "+f[4]] = fmt.Sprint(n << 10)
			}
		}
	}
	return have
}

func judgeNumbers(want, have map[string]string) outcome {
	var lines, wrong []string
	for name, n := range want {
		lines = append(lines, name+" "+have[name])
		if have[name] != n {
			wrong = append(wrong, fmt.Sprintf("%s is %q, the policy's is %s", name, have[name], n))
		}
	}
	slices.Sort(lines)
	slices.Sort(wrong)
	evidence := "/proc/PID/limits, status, mountinfo: " + strings.Join(lines, ", ")
	if len(wrong) > 0 {
		return failed(strings.Join(wrong, "; "), walls.Status, evidence)
	}
	return held("all of them are", walls.Status, evidence)
}

// refusals are what the kernel refuses by one number each.
func (r *hogRun) refusals(rm room) []row {
	_, inside := rm.workspace()
	_, name := nonce()
	tmp := []probe.Step{{Call: "openat", Args: []string{"-100", "s:/tmp", fmt.Sprint(unix.O_TMPFILE | unix.O_RDWR), "0o600"}, Save: "fd"}}
	reserve := func(n int64) probe.Action {
		return probe.Action{Steps: append(slices.Clone(tmp), probe.Step{Call: "fallocate", Args: []string{"$fd", "0", "0", fmt.Sprint(n)}}, probe.Step{Call: "close", Args: []string{"$fd"}, Always: true})}
	}
	mapping := func(n int64) probe.Action {
		const anon = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
		size := fmt.Sprint(n)
		return probe.Action{Steps: []probe.Step{
			{Call: "mmap", Args: []string{"0", size, "3", fmt.Sprint(anon), "-1", "0"}, Save: "at"},
			{Call: "munmap", Args: []string{"$at", size}},
		}}
	}
	segment := func(n int64) probe.Action {
		return probe.Action{Steps: []probe.Step{
			{Call: "shmget", Args: []string{"0", fmt.Sprint(n), fmt.Sprint(unix.IPC_CREAT | 0o600)}, Save: "id"},
			{Call: "shmctl", Args: []string{"$id", "0", "0"}},
		}}
	}
	core := func(n uint64) probe.Action {
		var b [16]byte
		binary.NativeEndian.PutUint64(b[:], n)
		binary.NativeEndian.PutUint64(b[8:], n)
		return probe.Action{Steps: []probe.Step{{Call: "prlimit64", Args: []string{"0", fmt.Sprint(unix.RLIMIT_CORE), "d:" + base64.StdEncoding.EncodeToString(b[:]), "0"}}}}
	}
	list := []row{
		{id: "small segment", tried: "make a System V segment of 64 KiB", expected: "works", do: segment(64 << 10), judge: works("shmget")},
		{id: "segment", tried: "make a System V segment of 1 MiB", expected: "refused: nothing would count it", do: segment(1 << 20), control: "small segment", judge: refused("shmget", unix.EINVAL)},
		{id: "limit of core files", tried: "read the limit of core files", expected: "works", do: probe.Action{Steps: []probe.Step{{Call: "prlimit64", Args: []string{"0", fmt.Sprint(unix.RLIMIT_CORE), "0", "z:16"}}}}, judge: works("prlimit64")},
		{id: "core", tried: "allow core files", expected: "refused", do: core(1), control: "limit of core files", judge: refused("prlimit64", unix.EPERM)},
		{id: "processors", tried: "ask which processors may be used", expected: "works", do: affinity("sched_getaffinity"), judge: works("sched_getaffinity")},
		{id: "more processors", tried: "ask for every processor", expected: "refused", do: affinity("sched_setaffinity"), control: "processors", judge: refused("sched_setaffinity", unix.EPERM)},
	}
	if r.kind != bare { // where the namespace may be the host's
		list = append(list, row{id: "segments", tried: "make as many segments of 64 KiB as there may be", expected: "at most 256MiB, which nothing counts: the stated overshoot", do: probe.Action{Do: "hog-detached", Args: map[string]string{"keep": "yes"}}, control: "small segment", judge: judgeSegments})
	}
	if n := int64(r.small.Limits.Memory); n > 0 {
		list = append(
			list,
			row{id: "small mapping", tried: "map 1MiB", expected: "works", do: mapping(1 << 20), judge: works("mmap")},
			row{id: "mapping", tried: "map more private memory than the limit at once", expected: "refused", do: mapping(n + 4<<20), control: "small mapping", judge: refused("mmap", unix.ENOMEM)},
		)
		disk := int64(r.small.Limits.Disk)
		if disk > 0 && disk < n+4<<20 {
			return r.diskRefusals(list, inside, name) // which would refuse the file in /tmp by its size alone
		}
		list = append(
			list,
			row{id: "small file in /tmp", tried: "reserve 1MiB in /tmp", expected: "works", do: reserve(1 << 20), judge: works("fallocate")},
			row{id: "file in /tmp", tried: "reserve more in /tmp than the limit at once", expected: "refused", do: reserve(n + 4<<20), control: "small file in /tmp", judge: refused("fallocate", unix.ENOSPC)},
		)
	}
	return r.diskRefusals(list, inside, name)
}

// diskRefusals adds those of the limit on disk, and of descriptors, which a
// session has none of.
func (r *hogRun) diskRefusals(list []row, inside, name string) []row {
	if n := int64(r.small.Limits.Disk); n > 0 {
		size := func(n int64, name string) probe.Action {
			return probe.Action{Do: "hog-truncate", Args: map[string]string{"path": filepath.Join(inside, name), "size": fmt.Sprint(n)}}
		}
		list = append(
			list,
			row{id: "file", tried: "make a file of 1MiB in the workspace", expected: "works", do: size(1<<20, "size-"+name), judge: works("ftruncate")},
			row{id: "large file", tried: "make a file larger than the limit in the workspace", expected: "refused", do: size(n+1<<20, "size-"+name), control: "file", judge: refused("ftruncate", unix.EFBIG)},
		)
	}
	if r.kind == bare {
		duplicate := func(to int) probe.Action {
			return probe.Action{Steps: []probe.Step{{Call: "dup3", Args: []string{"0", fmt.Sprint(to), fmt.Sprint(unix.O_CLOEXEC)}, Save: "fd"}, {Call: "close", Args: []string{"$fd"}}}}
		}
		list = append(
			list,
			row{id: "descriptor", tried: "take a descriptor below the limit", expected: "works", do: duplicate(openFiles - 1), judge: works("dup3")},
			row{id: "one more descriptor", tried: "take the descriptor at the limit", expected: "refused", do: duplicate(openFiles), control: "descriptor", judge: refused("dup3", unix.EBADF)},
		)
	}
	return list
}

// affinity is a call with a set of all processors.
func affinity(call string) probe.Action {
	set := make([]byte, 128)
	for i := range set {
		set[i] = 0xff
	}
	return probe.Action{Steps: []probe.Step{{Call: call, Args: []string{"0", "128", "d:" + base64.StdEncoding.EncodeToString(set)}}}}
}

// judgeSegments adds up what the kernel gave.
func judgeSegments(s *seen) outcome {
	if !s.traced {
		return errored("the kernel's answers were not seen")
	}
	calls := s.seg.Find("shmget")
	var sum int64
	for _, c := range calls {
		switch {
		case c.OK():
			sum += int64(c.Args[1])
		case c.Errno() == unix.ENOSPC && sum <= 256<<20 && sum > 0:
			return held(fmt.Sprintf("refused after %s", limits.Bytes(sum)), walls.Kernel, c.String())
		}
	}
	if len(calls) == 0 {
		return errored("no segment was asked for" + s.why())
	}
	if sum <= 256<<20 {
		return errored(fmt.Sprintf("it did not come to the end: %s%s", limits.Bytes(sum), s.why()))
	}
	return failed(limits.Bytes(sum)+" were given", walls.Kernel, calls[len(calls)-1].String())
}
