package doctor

import "strings"

// CgroupMode says which cgroups this account finds: "none", "v1", "v2", or
// "v2 delegated" where it may divide its own, "v2 by scope" where its service
// manager moves a session into one that it may divide.
func CgroupMode() string {
	var f Facts
	f.cgroups()
	switch {
	case f.ByBus:
		return "v2 by scope"
	case f.CgroupV2 && f.Delegated:
		return "v2 delegated"
	case f.CgroupV2:
		return "v2"
	}
	b, err := readSmall("/proc/self/cgroup")
	if err != nil || strings.TrimSpace(string(b)) == "" {
		return "none"
	}
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "0::") {
			return "v1"
		}
	}
	return "none" // a second version that is not mounted
}

// Nesting says by what a container was recognised around this process, "" when
// by nothing.
func Nesting() string { return container() }
