package limits

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// ChooseCPUs gives the n processors that a session may use, of those that its
// starter may use itself; all of them when it has no more than n. The session's
// ID decides where to begin, so that two sessions seldom crowd onto the same
// ones while others are idle, and a session keeps its own when it is resumed.
func ChooseCPUs(usable []int, n int, id string) []int {
	if n <= 0 || n >= len(usable) {
		return slices.Clone(usable)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash takes anything
	first := int(h.Sum32() % uint32(len(usable)))
	out := make([]int, n)
	for i := range out {
		out[i] = usable[(first+i)%len(usable)]
	}
	slices.Sort(out)
	return out
}

// maxCPU is the highest processor number that the kernel can be built for.
const maxCPU = 8191

// ParseCPUs reads a list as /proc/PID/status prints it, such as "0-3,8".
func ParseCPUs(text string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > maxCPU {
			return nil, fmt.Errorf("list of processors %q is not understood", text)
		}
		for cpu := a; cpu <= b; cpu++ {
			out = append(out, cpu)
		}
	}
	return out, nil
}

// CPUs describes the limit on processors on a machine where usable are to be
// had.
func CPUs(n, usable int) Line {
	switch {
	case n <= 0:
		return Line{Name: "cpus", Value: "none", How: None}
	case n >= usable:
		return Line{Name: "cpus", Value: fmt.Sprint(n), How: Enforced, Note: fmt.Sprintf("all %d that fumehood itself may use", usable)}
	}
	return Line{Name: "cpus", Value: fmt.Sprint(n), How: Enforced, Note: fmt.Sprintf("affinity to %d of %d", n, usable)}
}
