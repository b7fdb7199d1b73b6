package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// Check is one sentence of the report.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was found
	Costs  string `json:"costs"`  // what is weaker or missing for it; "" when nothing is
	Remedy string `json:"remedy"` // the one command, or sentence, that gets it; "" when there is none
	// Required tells that no session starts without it.
	Required bool `json:"required"`
}

// Bad tells whether something is missing without which no session starts.
func Bad(checks []Check) bool {
	for _, c := range checks {
		if c.Required && !c.OK {
			return true
		}
	}
	return false
}

// The lowest versions that hold what the stage and the workspace call.
const (
	floorKernel   = "5.12" // mount_setattr; openat2 is 5.6
	floorLandlock = 2      // moving files between folders
	floorGit      = "2.25" // as tested
)

const noStart = "no session starts"

// Report turns facts into checks, wall by wall.
func Report(f Facts) []Check {
	checks := []Check{
		kernel(f), namespaces(f), mounts(f), overlay(f), proc(f), terminal(f),
		landlock(f), seccomp(f), cgroups(f), git(f), state(f), filesystem(f), groups(f), yama(f),
	}
	if f.Container != "" {
		checks = append(checks, insideContainer(f))
	}
	return checks
}

func kernel(f Facts) Check {
	c := Check{Name: "kernel", Required: true, Detail: fmt.Sprintf("Linux %s on %s", orUnknown(f.Kernel), f.Arch)}
	switch {
	case f.Arch != "amd64" && f.Arch != "arm64":
		c.Costs, c.Remedy = noStart+": the seccomp filter knows amd64 and arm64 only", "use a machine with one of these"
	case !atLeast(f.Kernel, floorKernel):
		c.Costs, c.Remedy = noStart+": mounts can't be made read-only as a whole", "use a kernel of "+floorKernel+" or later"
	default:
		c.OK = true
	}
	return c
}

func namespaces(f Facts) Check {
	c := Check{Name: "user namespaces", Required: true, OK: f.Namespaces.Done && f.Tmpfs.Done}
	switch {
	case c.OK:
		c.Detail = "a child in user, mount, pid, net, ipc, uts and cgroup namespaces started and mounted a tmpfs"
		return c
	case f.Namespaces.Done:
		c.Detail = "a child starts in new namespaces but may not mount there: " + f.Tmpfs.Err
	case f.Users.Done:
		c.Detail = "a user namespace can be had, but not with all the others: " + f.Namespaces.Err
	default:
		c.Detail = "a child can't be started in a user namespace: " + f.Namespaces.Err
	}
	c.Costs = noStart + ": everything outside the workspace would be there, to be denied one by one"
	c.Remedy = namespaceRemedy(f)
	return c
}

// namespaceRemedy finds what stands in the way, the surest sign first.
func namespaceRemedy(f Facts) string {
	mayNot := isOneOf(f.Namespaces.Err, "EPERM", "EACCES") || f.Namespaces.Done && isOneOf(f.Tmpfs.Err, "EPERM", "EACCES")
	switch {
	case f.MaxUserNS == 0 || f.Namespaces.Err == "ENOSPC":
		return "sudo sysctl -w user.max_user_namespaces=15000"
	case f.CloneSysc == "0" && !f.Root:
		return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case f.Container != "" && mayNot:
		return containerRemedy
	case f.AppArmor == "1" && mayNot:
		return appArmorRemedy(f.Exe)
	case isOneOf(f.Namespaces.Err, "EINVAL", "ENOSYS"):
		return "use a kernel with user, pid, net, ipc, uts and cgroup namespaces built in"
	case mayNot:
		return `a security module or filter refuses it: ask whoever runs this machine (look into "sudo dmesg")`
	}
	return ""
}

const containerRemedy = "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"

// appArmorRemedy is the command that lets this one program make user
// namespaces and leaves the restriction in force for all others.
func appArmorRemedy(exe string) string {
	if !plainPath(exe) {
		return "install fumehood at a path of letters, digits and / . _ - alone, and run doctor again for the command"
	}
	return `printf 'abi <abi/4.0>,\nprofile fumehood ` + exe + ` flags=(unconfined) {\n  userns,\n}\n' | ` +
		`sudo tee /etc/apparmor.d/fumehood && sudo apparmor_parser -r /etc/apparmor.d/fumehood`
}

// plainPath tells whether a path means itself in a shell, in printf and in an
// AppArmor profile.
func plainPath(path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for _, r := range path {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("/._-", r) {
			return false
		}
	}
	return true
}

func mounts(f Facts) Check {
	return step("read-only mounts", f.ReadOnly, "a mount can be made read-only with all below it", "the root of a session could be written")
}

func overlay(f Facts) Check {
	c := step("overlay", f.Overlay, "the host's folders can be shown through an overlay made in a user namespace",
		"the host's folders could only be shown by binds, through which locks and leases reach the host")
	if c.OK || f.Overlay.Err == "" {
		return c
	}
	switch {
	case f.Overlay.Err == "ENODEV":
		c.Remedy = "sudo modprobe overlay"
	case !atLeast(f.Kernel, "5.11"):
		c.Remedy = "use a kernel of 5.11 or later"
	}
	return c
}

func proc(f Facts) Check {
	c := step("new /proc", f.Proc, "a session gets a /proc of its own", "the host's processes would be in sight")
	if !c.OK && isOneOf(f.Proc.Err, "EPERM", "EACCES") {
		c.Detail += "; parts of the /proc around this process are covered, as container engines do"
		c.Remedy = "run outside the container, or start it with --security-opt systempaths=unconfined (podman: --security-opt unmask=ALL)"
	}
	return c
}

func terminal(f Facts) Check {
	c := step("terminals", f.Devpts, "a session gets a terminal device of its own", "nothing could run attached")
	if c.OK && !f.Ptmx.Done {
		c.OK, c.Detail = false, "/dev/ptmx does not open: "+f.Ptmx.Err
		c.Costs, c.Remedy = "nothing can run attached here", "mount a devpts on /dev/pts, with ptmxmode=0666"
	}
	return c
}

// step reports something that the child tried. One that was never tried, since
// there were no namespaces to try it in, says that.
func step(name string, s Step, good, lost string) Check {
	c := Check{Name: name, Required: true, OK: s.Done, Detail: good}
	switch {
	case s.Done:
	case s.Err == "":
		c.Detail, c.Costs = "not tried: it takes a working user namespace", noStart
	default:
		c.Detail, c.Costs = "refused: "+s.Err, noStart+": "+lost
	}
	return c
}

// landlockRow is what one level of Landlock added, and which layer covers it
// where the kernel lacks it.
type landlockRow struct {
	abi           int
	right, covers string
}

func landlockRows() []landlockRow {
	return []landlockRow{
		{3, "truncating files", "what is not granted is absent or read-only by mounts"},
		{5, "ioctl on devices", "/dev holds a few harmless ones, and the seccomp filter refuses terminal injection"},
		{6, "signals and abstract sockets", "the pid and network namespaces hold the session's own only"},
		{9, "pathname sockets", "those of the host are absent by mounts"},
	}
}

func landlock(f Facts) Check {
	c := Check{Name: "landlock", Required: true, OK: f.LandlockABI >= floorLandlock}
	switch {
	case f.LandlockABI == 0 && f.LandlockErr == "EOPNOTSUPP":
		c.Detail, c.Remedy = "built into the kernel, but switched off at boot", "add landlock to the kernel's lsm= setting and boot again"
	case f.LandlockABI == 0 && f.LandlockErr == "ENOSYS":
		c.Detail, c.Remedy = "not in this kernel", "use a kernel of 5.19 or later with Landlock built in"
	case f.LandlockABI == 0:
		c.Detail = "refused: " + orUnknown(f.LandlockErr)
		if f.Container != "" {
			c.Remedy = containerRemedy
		}
	case !c.OK:
		c.Detail, c.Remedy = fmt.Sprintf("ABI %d, which forbids to move files between folders", f.LandlockABI), "use a kernel of 5.19 or later"
	default:
		// The stage leaves TCP to the network namespace, so that a session's own
		// servers on loopback work.
		c.Detail = fmt.Sprintf("ABI %d; TCP is left to the network namespace", f.LandlockABI)
		c.Costs = notTwice(f.LandlockABI)
		return c
	}
	c.Costs = noStart + ": nothing would deny a second time what the mounts leave out"
	return c
}

// notTwice lists what Landlock of this level does not deny, each with the
// layer that does.
func notTwice(abi int) string {
	var lost []string
	for _, row := range landlockRows() {
		if abi < row.abi {
			lost = append(lost, row.right+" ("+row.covers+")")
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return "not denied a second time by Landlock: " + strings.Join(lost, "; ")
}

func seccomp(f Facts) Check {
	c := Check{Name: "seccomp", Required: true, OK: f.Seccomp.Done, Detail: "a filter can be installed"}
	if c.OK {
		return c
	}
	c.Detail = "a filter can't be installed: " + orUnknown(f.Seccomp.Err)
	c.Costs = noStart + ": the whole kernel would be within reach"
	c.Remedy = "use a kernel with CONFIG_SECCOMP_FILTER"
	if f.Container != "" {
		c.Remedy = containerRemedy
	}
	return c
}

func cgroups(f Facts) Check {
	const sampled = "memory of a whole session is sampled every 250 ms (25 ms near the limit, 2 s at rest), and can overshoot by what is allocated in between"
	c := Check{Name: "cgroups", OK: f.CgroupV2 && f.Delegated, Costs: sampled}
	switch {
	case !f.CgroupV2:
		c.Detail = "no cgroup v2 at /sys/fs/cgroup"
	case !f.Delegated:
		c.Detail = "cgroup v2, but no part of it that this process is in is this account's to divide"
		if f.NoBus != "" {
			c.Detail += ", and no service manager moves a session into one: " + printable(f.NoBus)
		}
	case f.ByBus:
		c.Costs = ""
		c.Detail = fmt.Sprintf("cgroup v2: the kernel holds a whole session to its limits on %s; the account's service manager moves it into a scope of its own below %s",
			strings.Join(f.Controllers, ", "), printable(f.CgroupPath))
	default:
		c.Costs = ""
		c.Detail = fmt.Sprintf("cgroup v2: the kernel holds a whole session to its limits on %s, in groups of its own below %s",
			strings.Join(f.Controllers, ", "), printable(f.CgroupPath))
	}
	if f.CgroupV2 && !c.OK {
		c.Remedy = f.BusHint
	}
	return c
}

func git(f Facts) Check {
	c := Check{Name: "git", Required: true, Costs: "a repository can't be read"}
	switch {
	case f.Git == "" && f.GitErr == "":
		c.Detail, c.Remedy = "not on PATH", "install git "+floorGit+" or later"
	case f.GitVersion == "":
		c.Detail, c.Remedy = printable(f.GitErr), "install git "+floorGit+" or later"
	case !atLeast(f.GitVersion, floorGit):
		c.Detail, c.Remedy = fmt.Sprintf("%s is version %s", printable(f.Git), printable(f.GitVersion)), "install git "+floorGit+" or later"
	default:
		c.OK, c.Costs = true, ""
		c.Detail = fmt.Sprintf("%s, version %s", printable(f.Git), printable(f.GitVersion))
	}
	return c
}

func state(f Facts) Check {
	c := Check{Name: "state folder", Required: true, OK: f.StateOK.Done, Detail: printable(f.State) + " can be written"}
	if !c.OK {
		c.Detail = "nothing can be made in " + printable(f.State) + ": " + printable(f.StateOK.Err)
		c.Costs, c.Remedy = noStart, "point XDG_STATE_HOME at a folder that is yours"
	}
	return c
}

func filesystem(f Facts) Check {
	c := Check{Name: "state filesystem", OK: true, Detail: orUnknown(f.StateFS)}
	var costs []string
	if !isOneOf(f.StateFS, "ext4", "xfs", "btrfs") {
		c.OK = false
		costs = append(costs, "times of files can't be trusted there, so every file is read again for each diff")
		c.Remedy = "point XDG_STATE_HOME at a folder on ext4, xfs or btrfs"
	}
	if f.Reflink.Done {
		c.Detail += ", files can share blocks"
	} else {
		costs = append(costs, "files can't share blocks, so a copy takes its full size")
	}
	c.Costs = strings.Join(costs, "; ")
	return c
}

func groups(f Facts) Check {
	c := Check{Name: "groups", OK: true, Detail: "no supplementary groups that stay"}
	switch {
	case len(f.Groups) == 0:
	case f.Root:
		c.Detail = "dropped, since root may: " + printable(strings.Join(f.Groups, ", "))
	default:
		c.OK = false
		c.Detail = "an ordinary user can't drop: " + printable(strings.Join(f.Groups, ", "))
		c.Costs = "inside, files that come in are readable by these groups' rights too; no wall depends on them"
	}
	return c
}

func yama(f Facts) Check {
	c := Check{Name: "yama", OK: true}
	switch f.Yama {
	case -1:
		c.Detail = "not in this kernel; inside, tracing is refused by the seccomp filter in any case"
	default:
		c.Detail = fmt.Sprintf("ptrace_scope is %d; inside, tracing is refused by the seccomp filter in any case", f.Yama)
	}
	return c
}

func insideContainer(f Facts) Check {
	c := Check{Name: "container", OK: f.Namespaces.Done && f.Proc.Done, Detail: "inside one, by " + printable(f.Container)}
	if !c.OK {
		c.Costs = "its engine keeps from a session what the checks above miss"
		c.Remedy = containerRemedy
	}
	return c
}

// atLeast compares the numbers that two versions begin with. A version without
// any is not at least anything.
func atLeast(version, floor string) bool {
	have, want := numbers(version), numbers(floor)
	if len(have) == 0 {
		return false
	}
	for i, w := range want {
		h := 0
		if i < len(have) {
			h = have[i]
		}
		if h != w {
			return h > w
		}
	}
	return true
}

// numbers reads "6.1.0-13" as 6, 1, 0.
func numbers(version string) []int {
	var all []int
	for _, part := range strings.Split(version, ".") {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		if all = append(all, n); end < len(part) {
			break
		}
	}
	return all
}

func isOneOf(s string, all ...string) bool {
	for _, one := range all {
		if s == one {
			return true
		}
	}
	return false
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return printable(s)
}

// printable keeps what programs and the environment answered from acting on a
// terminal.
func printable(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
