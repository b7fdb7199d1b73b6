package prove

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// hog is one way to take more than a limit allows.
type hog struct {
	id, tried string
	limit     string // the key of the policy
	do, how   string // the probe's action
	// total says that only all of it together is over the limit: the supervisor
	// or a cgroup has to notice, and ends the session. The kernel refuses the
	// others by itself, and the session goes on.
	total bool
	// refusals are the errnos by which the kernel refuses this.
	refusals []syscall.Errno
}

// hogTable is every hog. Those that are not total share one session.
func hogTable() []hog {
	space := []syscall.Errno{syscall.ENOMEM, syscall.ENOSPC}
	disk := []syscall.Errno{syscall.EFBIG, syscall.ENOSPC, syscall.EDQUOT}
	tasks := []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM}
	return []hog{
		{"memory one", "touch more and more memory in one process", "memory", "hog-memory", "one", false, space},
		{"forks", "fork without end", "processes", "hog-forks", "", false, tasks},
		{"threads", "start threads without end", "processes", "hog-threads", "", false, tasks},
		{"cpu", "ask for every processor, then spin on four threads more than there are", "cpus", "hog-cpu", "", false, nil},
		{"disk sparse", "write the last byte of large files, ten times the limit in all, and a little more", "disk", "hog-disk", "sparse", false, nil},
		{"disk one", "write one file without end", "disk", "hog-disk", "one", false, disk},
		{"memory many", "touch memory in one process after the other", "memory", "hog-memory", "many", true, space},
		{"memory memfd", "fill one memfd after the other", "memory", "hog-memory", "memfd", true, space},
		{"memory in flight", "send one filled memfd after the other to a socket that nobody reads, and close it", "memory", "hog-memory", "flight", true, space},
		{"memory files", "fill files without a name in /dev/shm and /tmp", "memory", "hog-memory", "files", true, space},
		{"memory unmapped", "fill shared memory, and take each piece out of the page tables", "memory", "hog-memory", "shared", true, space},
		{"memory segments", "fill one attached System V segment after the other", "memory", "hog-memory", "segments", true, space},
		{"disk many", "write one file after the other", "disk", "hog-disk", "many", true, disk},
		{"disk fallocate", "reserve blocks for one file after the other", "disk", "hog-disk", "fallocate", true, disk},
		{"inodes", "make empty files without end", "disk", "hog-disk", "inodes", true, disk},
	}
}

// hogBound is a limit as one hog meets it.
type hogBound struct {
	policy, number, ceiling int64
	used                    int64 // of it before the hog begins
	unit                    func(int64) string
	// harmless says that the number itself is beyond what may be tried; the
	// hog then ends below it.
	harmless bool
}

func (b hogBound) expected(h hog) string {
	if h.how == "sparse" {
		return "works: a hole is no use of the disk"
	}
	what := "refused by the kernel"
	if h.total {
		what = "ended, with the limit named"
	}
	text := fmt.Sprintf("%s at %s, before %s; a fork on the host works meanwhile", what, b.unit(b.number), b.unit(b.ceiling))
	if b.number != b.policy && h.id != "inodes" {
		text += fmt.Sprintf(" (a copy of the policy with %s instead of %s, which may not be reached here: the same mechanism)", b.unit(b.number), b.unit(b.policy))
	}
	return text
}

// What may be taken from the host for a moment.
const (
	hogMemory    = 192 << 20
	hogProcesses = 96
	hogDisk      = 48 << 20
	hogCPUs      = 1
	// Of another sandbox the limits can't be chosen.
	hogForeignMemory    = 256 << 20
	hogForeignProcesses = 300
	hogForeignDisk      = 64 << 20
	// ownThreads is how many a sandbox may need for itself beside the policy's
	// number.
	ownThreads = 32
	// These are how fast memory near the limit and disk are taken, in bytes a
	// second: between two looks at a session at work less than half of what lies
	// between limit and ceiling.
	memoryRate = 160 << 20
	diskRate   = 48 << 20
)

// hogPolicy is the policy under test with limits that a hog may reach. A limit that
// is none stays so. own is what a session's own files take of its disk.
func hogPolicy(p *policy.Policy, own int64) *policy.Policy {
	out := *p
	least := func(have, most int64) int64 {
		if have == 0 {
			return 0
		}
		return min(have, most)
	}
	l := &out.Limits
	l.Memory = policy.Bytes(least(int64(l.Memory), hogMemory))
	l.Processes = int(least(int64(l.Processes), hogProcesses))
	l.CPUs = int(least(int64(l.CPUs), hogCPUs))
	if l.Disk > 0 { // below this the probe itself does not fit
		l.Disk = policy.Bytes(max(min(int64(l.Disk), hogDisk), own+24<<20))
	}
	l.RunTime, l.SessionTime, out.Lifecycle.Idle = 0, 0, 0
	return &out
}

// boundOf is what one hog meets in a session with the scaled policy small; own
// is what lies in a session's folders already, usable how many processors there
// are. ok is false where the policy sets the limit to none.
func boundOf(h hog, p, small *policy.Policy, own int64) (b hogBound, ok bool) {
	half := func(n int64) int64 { return n + n/2 }
	b.unit = limits.Bytes
	switch h.limit {
	case "memory":
		b.policy, b.number = int64(p.Limits.Memory), int64(small.Limits.Memory)
		b.ceiling = half(b.number)
	case "disk":
		b.policy, b.number, b.used = int64(p.Limits.Disk), int64(small.Limits.Disk), own
		b.ceiling = half(b.number)
		if h.how == "one" { // a file's own size is bounded, whatever lies beside it
			b.used = 0
		}
		if h.id == "inodes" {
			b.unit, b.used = asNames, 0
			b.number = int64(limits.DiskEntries(b.number))
			b.ceiling = b.number + b.number/10
		}
	case "processes":
		b.policy, b.number, b.unit = int64(p.Limits.Processes), int64(small.Limits.Processes), asNumber
		b.ceiling = half(b.number) + ownThreads
	case "cpus":
		b.policy, b.number, b.unit = int64(p.Limits.CPUs)*1000, int64(small.Limits.CPUs)*1000, asProcessors
		b.ceiling = b.number + 150
	}
	return b, b.policy > 0
}

// foreignBound is what one hog meets in another sandbox, whose limits are what
// they are.
func foreignBound(h hog, p *policy.Policy) (b hogBound, ok bool) {
	b, ok = boundOf(h, p, p, 0)
	if h.limit == "cpus" {
		return b, ok
	}
	most := map[string]int64{"memory": hogForeignMemory, "processes": hogForeignProcesses, "disk": hogForeignDisk}[h.limit]
	switch h.how {
	case "inodes":
		most = 20_000
	case "segments": // there are 4096 for the whole machine
		most = 64 << 20
	}
	b.ceiling = min(b.number+b.number/10, most)
	b.harmless = b.number > b.ceiling
	return b, ok
}

func asNames(n int64) string  { return fmt.Sprintf("%d names", n) }
func asNumber(n int64) string { return fmt.Sprint(n) }
func asProcessors(n int64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.2f", float64(n)/1000), ".00") + " processors"
}

// hogBurst is what was seen of one hog.
type hogBurst struct {
	said  *probe.Said
	ended string // how the probe did
	// peak is the most of the limited thing that was seen outside, and where.
	peak   int64
	source string
	// limit is what the session's record says of its end, nil when it goes on.
	limit *session.Limit
	// after is how long after the limit the last process of the session was
	// seen, and left names those that did not go.
	after time.Duration
	left  []string
	forks []time.Duration // of the host meanwhile
	// calm is what a fork took without the hog.
	calm    time.Duration
	forkErr error
	foreign bool
	// sampled says that no cgroup counts the session's memory.
	sampled bool
	bounds  string // of another sandbox, as /proc shows them; "" is none of its own
	allowed int    // processors that the probe may use
	machine int    // processors that there are
	cpu     time.Duration
}

// What the host must still be able to do. Where a fork takes longer, and no more
// than forkTimes as long as without the hog, others keep the machine busy: that
// shows neither that it held nor that it gave way.
const (
	forkWithin = 100 * time.Millisecond
	forkTimes  = 4
	// forkSamples is how many of them tell of the host, and not of chance.
	forkSamples = 5
	goneWithin  = 2 * time.Second
)

// judgeHog says what a burst means. It does not believe the probe that it was
// refused: that it took something, and how much, was seen outside.
func judgeHog(h hog, b hogBound, s hogBurst) outcome {
	o := judgeHogTaken(h, b, s)
	if o.verdict != walls.Held {
		return o
	}
	switch {
	case s.forkErr != nil:
		return failed("the host could not fork meanwhile: "+s.forkErr.Error(), walls.Status, o.evidence)
	case len(s.forks) == 0:
		return errored("no fork of the host was tried meanwhile")
	}
	usual := median(s.forks)
	text := fmt.Sprintf("; a fork of the host took %v, the longest %v", usual.Round(100*time.Microsecond), slices.Max(s.forks).Round(100*time.Microsecond))
	switch {
	case usual <= forkWithin:
		o.observed += text
		return o
	case s.calm > forkWithin/2, usual <= forkTimes*s.calm:
		return errored(fmt.Sprintf("the machine is too busy to tell: a fork took %v without the hog%s", s.calm, text))
	}
	return failed("the host was held up"+text, walls.Status, o.evidence)
}

// hogTries is how often a hog is tried during which hardly a fork of the host was
// made, and that one was slow: a wall that gives way shows it each time.
const hogTries = 3

// sure makes an attempt until it is not thin any more: until it says something of
// the host.
func sure(one func() (as []walls.Attempt, thin bool, err error)) (as []walls.Attempt, err error) {
	for left, thin := hogTries, true; thin && left > 0 && err == nil; left-- {
		as, thin, err = one()
	}
	return as, err
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// judgeHogTaken leaves the host's own state aside.
func judgeHogTaken(h hog, b hogBound, s hogBurst) outcome {
	seen := fmt.Sprintf("%s; the most seen: %s", s.source, b.unit(s.peak))
	unstopped := s.said != nil && s.said.Text == probe.HogUnstopped
	switch {
	case s.said != nil && s.said.Err != "":
		return errored("the hog could not begin: " + s.said.Err)
	case s.limit != nil:
		return judgeHogEnd(h, s, seen)
	case h.limit == "cpus":
		return judgeHogCPU(b, s, seen)
	case h.how == "sparse" && unstopped && s.peak > 0:
		return held("it went on", walls.Filesystem, seen)
	case h.how == "sparse":
		return errored("what is permitted did not work" + hogEnding(s))
	case s.peak > b.ceiling && !b.harmless && !h.total:
		return failed(fmt.Sprintf("%s were taken", b.unit(s.peak)), walls.Status, seen)
	case unstopped && s.foreign && b.harmless && s.bounds != "":
		return errored(fmt.Sprintf("not shown: the limit of %s is above what can be tried harmlessly, and %s", b.unit(b.number), s.bounds))
	case unstopped && s.foreign && b.harmless:
		return failed("nothing stopped it, and nothing bounds it that does not bound its starter", walls.Status, seen+"; limits and cgroup of the process are those of its starter")
	case unstopped && h.how == "flight" && s.sampled:
		// The policy's block, the session's page and doctor say so as well.
		return notApplicable("not bounded here, as the policy's text says: without a cgroup nothing counts memory behind descriptors that are on their way; " + seen)
	case unstopped:
		return failed("nothing stopped it", walls.Status, seen)
	case s.peak < (b.number-b.used)/4 && s.peak < (b.ceiling-b.used)/4:
		return errored(fmt.Sprintf("it was not seen to take much (%s)%s", seen, hogEnding(s)))
	case s.said == nil && (s.ended == "" || strings.HasPrefix(s.ended, endedFromOutside)):
		return errored("the probe did not come to its end" + hogEnding(s))
	case s.said == nil && !s.foreign && h.limit != "processes":
		return failed("the probe ended ("+s.ended+"), and no limit is named", walls.Supervisor, seen)
	case s.said != nil && !slices.Contains(h.refusals, syscall.Errno(s.said.Errno)):
		return errored("it was refused by something else than a limit: " + s.said.Text)
	}
	// A runtime that is refused a thread ends its process.
	return held("refused"+hogEnding(s), walls.Status, seen)
}

func hogEnding(s hogBurst) string {
	if s.said != nil {
		return ": " + s.said.Text
	}
	return ": the probe ended with " + s.ended
}

func judgeHogEnd(h hog, s hogBurst, seen string) outcome {
	record := fmt.Sprintf("session.json: limit %s of %s, used %s; %s", s.limit.Name, s.limit.Value, s.limit.Used, seen)
	switch {
	case s.limit.Name != h.limit:
		return failed("another limit ended it: "+s.limit.Name, walls.Supervisor, record)
	case len(s.left) > 0:
		return failed(fmt.Sprintf("%v after its end there was still %s", goneWithin, s.left[0]), walls.Status, record)
	case s.after > goneWithin:
		return failed(fmt.Sprintf("the last process went %v after the limit", s.after), walls.Status, record)
	}
	return held(fmt.Sprintf("ended at the limit %s of %s, used %s; all gone %v after", s.limit.Name, s.limit.Value, s.limit.Used, s.after.Round(time.Millisecond)), walls.Supervisor, record)
}

func judgeHogCPU(b hogBound, s hogBurst, seen string) outcome {
	seen += fmt.Sprintf("; Cpus_allowed_list: %d of %d", s.allowed, s.machine)
	wide := int64(s.allowed)*1000 > b.number && s.bounds == "" // a cgroup may bound the time instead
	switch {
	case int64(s.machine)*1000 <= b.number:
		return notApplicable("this machine has no more processors than the policy allows")
	case s.said == nil:
		return errored("the hog did not end" + hogEnding(s))
	case s.cpu < 50*time.Millisecond:
		return errored("it was not seen to use a processor: " + seen)
	case s.peak > b.ceiling:
		return failed("it used "+b.unit(s.peak), walls.Status, seen)
	case wide:
		return failed(fmt.Sprintf("it may use %d processors", s.allowed), walls.Status, seen)
	}
	return held("it used "+b.unit(s.peak), walls.Status, seen)
}
