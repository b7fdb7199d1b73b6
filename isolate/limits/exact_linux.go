package limits

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Judge weighs a tree's memory against a limit, again and again. It takes the
// cheap upper bound first. Only when that is over the limit does it ask
// processes for their proportional share, which takes milliseconds each; so
// that a large build does not pay for that all the time, it then waits for
// exactRest times as long as it took.
type Judge struct {
	next time.Time // of an exact look
	last int64     // what it found

	maps map[int]seenMaps // by process

	kernel kernelGrowth
	queues func(root int) ([]queues, error) // nil for readQueues
}

const exactRest = 3

// Verdict is a sample, and what it means.
type Verdict struct {
	Sample
	// Used is what counts: the upper bound, or where that was over the limit
	// the last exact sum.
	Used int64
	Over bool
	// Kernel is, when that made it over, what the kernel took without any process
	// mapping it, since the first look, on a machine that is short of memory now.
	Kernel int64
	// Pressed is the protocol whose queues, the machine's all together, the session
	// has brought to where the kernel makes them short; that is over any limit.
	Pressed string
}

// Look samples root and weighs it; a limit of 0 is none.
func (j *Judge) Look(root int, limit int64, disk uint64) (Verdict, error) {
	v, err := j.weigh(root, limit, disk)
	if v.Over {
		return v, err
	}
	read := j.queues
	if read == nil {
		read = readQueues
	}
	all, qerr := read(root)
	if v.Pressed = pressed(all); v.Pressed != "" {
		v.Over = true
		return v, nil
	}
	if err = errors.Join(err, qerr); limit <= 0 {
		return v, err
	}
	grew, over, kerr := j.kernel.look(v.Used, limit)
	if over {
		v.Over, v.Kernel = true, grew
		return v, nil
	}
	return v, errors.Join(err, kerr)
}

// weigh judges what the processes have.
func (j *Judge) weigh(root int, limit int64, disk uint64) (Verdict, error) {
	s, err := Take(root, disk)
	if err != nil {
		return Verdict{}, err
	}
	var unread error
	if limit > 0 {
		unread = j.addAbsent(&s, limit, time.Now())
	}
	v := Verdict{Sample: s, Used: s.Total()}
	if limit <= 0 || v.Used <= limit {
		return v, unread
	}
	if s.Held > limit { // whatever else there is, which nobody has to wait for
		v.Used, v.Over = s.Held, true
		return v, nil
	}
	began := time.Now()
	if began.Before(j.next) {
		v.Used = min(max(j.last, limit/2), limit) // not known better; over half, so that it is looked at often
		return v, unread
	}
	v.Used, err = exact(s, limit)
	if err != nil {
		return Verdict{}, err
	}
	v.Over = v.Used > limit
	j.last, j.next = v.Used, time.Now().Add(exactRest*time.Since(began))
	if v.Over {
		return v, nil // what could not be read would only add to it
	}
	return v, unread
}

// Over judges a tree once.
func Over(root int, limit int64) (used int64, over bool, err error) {
	v, err := new(Judge).Look(root, limit, 0)
	return v.Used, v.Over, err
}

// exact sums proportional shares, the largest processes first, and stops as
// soon as what is left can't change the answer. What it gives is then a bound
// on that side of the limit.
func exact(s Sample, limit int64) (int64, error) {
	each := slices.Clone(s.each)
	slices.SortFunc(each, func(a, b use) int { return int(min(max(b.bytes-a.bytes, -1), 1)) })
	used, shared, rest := s.Held, int64(0), s.Mapped
	var sharing []int
	for _, u := range each {
		rest -= u.bytes
		own, shm, err := shares(u.pid)
		switch {
		case gone(err):
			continue
		case isPermission(err):
			own, shm = u.bytes-u.tables, 0 // the upper bound stands for what is hidden
		case err != nil:
			return 0, err
		}
		used, shared = used+own+u.tables, shared+shm
		if shm > 0 {
			sharing = append(sharing, u.pid)
		}
		if used+shared+rest <= limit {
			return used + shared + rest, nil
		}
		if used > limit {
			return used, nil
		}
	}
	if used+shared <= limit || s.Held == 0 {
		return used + shared, nil
	}
	// Shared memory that is mapped and held counted twice.
	for _, pid := range sharing {
		twice, err := s.heldShare(pid)
		if err != nil && !gone(err) && !errors.Is(err, fs.ErrPermission) {
			return 0, err
		}
		shared -= twice
	}
	return used + max(shared, 0), nil
}

// shares reads a process's proportional memory: its own, swapped out too, and
// that in shared memory.
func shares(pid int) (own, shared int64, err error) {
	text, err := readFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseShares(text)
}

func parseShares(text []byte) (own, shared int64, err error) {
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		to := &own
		switch string(name) {
		case "Pss_Anon", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb": // huge pages have no share
		case "Pss_Shmem":
			to = &shared
		default:
			continue
		}
		n, err := kilobytes(rest)
		if err != nil {
			return 0, 0, fmt.Errorf("smaps_rollup line %q: %w", line, err)
		}
		*to += n
	}
	return own, shared, nil
}

// heldShare is a process's share of mappings of what counts as held already.
func (s Sample) heldShare(pid int) (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var sum int64
	held := false
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<10) // a line holds one path
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) >= 5 && !strings.HasSuffix(f[0], ":"):
			held = s.holds(f[3], f[4])
		case held && len(f) == 3 && f[0] == "Pss:":
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("smaps line %q: %w", lines.Text(), err)
			}
			sum += n << 10
		}
	}
	return sum, lines.Err()
}

// holds tells a mapping by its device ("00:1b", hexadecimal) and inode.
func (s Sample) holds(device, inode string) bool {
	major, minor, _ := strings.Cut(device, ":")
	a, err1 := strconv.ParseUint(major, 16, 32)
	b, err2 := strconv.ParseUint(minor, 16, 32)
	ino, err3 := strconv.ParseUint(inode, 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return false
	}
	dev := unix.Mkdev(uint32(a), uint32(b))
	return s.tmpfs[dev] || s.memfds[[2]uint64{dev, ino}]
}

func isPermission(err error) bool { return errors.Is(err, fs.ErrPermission) }
