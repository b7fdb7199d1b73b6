package session

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/doctor"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
)

// shapeSysctls are the kernel's settings that a wall test's outcome can hang
// on. One that this kernel does not have, or that this account can't read, is
// left out of the shape.
var shapeSysctls = []string{
	"dev/tty/legacy_tiocsti",
	"fs/protected_fifos", "fs/protected_hardlinks", "fs/protected_regular", "fs/protected_symlinks", "fs/suid_dumpable",
	"kernel/apparmor_restrict_unprivileged_unconfined", "kernel/apparmor_restrict_unprivileged_userns",
	"kernel/core_pattern", "kernel/dmesg_restrict", "kernel/io_uring_disabled", "kernel/io_uring_group", "kernel/kptr_restrict",
	"kernel/perf_event_paranoid", "kernel/sysrq", "kernel/unprivileged_bpf_disabled", "kernel/unprivileged_userns_clone",
	"kernel/yama/ptrace_scope",
	"user/max_mnt_namespaces", "user/max_net_namespaces", "user/max_pid_namespaces", "user/max_user_namespaces",
	"vm/memfd_noexec", "vm/overcommit_memory", "vm/unprivileged_userfaultfd",
}

// Shape is what a proof of this policy depends on beside it, as of now. It
// starts no process.
func (h *Host) Shape(p *policy.Policy) (walls.Shape, error) {
	pr := &Prepared{Policy: p}
	if err := h.readOnly(pr); err != nil {
		return walls.Shape{}, fmt.Errorf("deployment shape: %w", err)
	}
	return h.shapeWith(p, mountsOf(pr.ReadOnly, cacheMounts(pr.Caches)))
}

func (h *Host) shapeWith(p *policy.Policy, mounts []string) (walls.Shape, error) {
	kernel, err := kernelName()
	if err != nil {
		return walls.Shape{}, fmt.Errorf("deployment shape: ask for the kernel: %w", err)
	}
	build, err := h.buildHash()
	if err != nil {
		return walls.Shape{}, fmt.Errorf("deployment shape: read fumehood itself: %w", err)
	}
	system, err := isolate.SystemPlaces()
	if err != nil {
		return walls.Shape{}, fmt.Errorf("deployment shape: %w", err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		return walls.Shape{}, fmt.Errorf("deployment shape: ask for groups: %w", err)
	}
	slices.Sort(groups)
	s := walls.Shape{
		Kernel: kernel, LSM: securityModules(), Sysctls: map[string]string{}, UID: h.UID, Groups: slices.Compact(groups),
		Cgroup: doctor.CgroupMode(), Container: doctor.Nesting(), Build: build, WayOut: h.WayOut(p), Mounts: append(system, mounts...),
	}
	for _, name := range shapeSysctls {
		if v, ok := readSetting("/proc/sys/" + name); ok {
			s.Sysctls[strings.ReplaceAll(name, "/", ".")] = v
		}
	}
	return s, nil
}

// WayOut is how requests of a session with this policy leave, when it is started
// from here.
func (h *Host) WayOut(p *policy.Policy) string {
	http, https := h.hostProxies()
	switch {
	case len(p.Network.Allow) == 0:
		return ""
	case http != "" || https != "":
		return walls.WayByProxy
	}
	return walls.WayStraight
}

// kernelName is release and build of the running kernel: a rebuilt one has the
// same release.
var kernelName = sync.OnceValues(func() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:]), nil
})

// buildHash is the SHA-256 of the program that runs. The file that the kernel
// runs can't be written meanwhile, and another in its place is another file, so
// it is read once; what was read is kept beside the records, since reading it
// takes longer than all else together.
func (h *Host) buildHash() (string, error) {
	h.proofs.build.Do(func() { h.proofs.buildSum, h.proofs.buildErr = h.Root.Proofs().Build("/proc/self/exe") })
	return h.proofs.buildSum, h.proofs.buildErr
}

// securityModules names the kernel's security modules, and how this process,
// which starts sandboxes, is confined by one.
func securityModules() string {
	lsm, ok := readSetting("/sys/kernel/security/lsm")
	if !ok {
		lsm = "not told"
	}
	if own, ok := readSetting("/proc/self/attr/current"); ok && own != "" {
		return lsm + " (this process: " + own + ")"
	}
	return lsm
}

// readSetting reads a short text of the kernel's. It does without os.File: a
// shape has some thirty of them, and is asked for every second.
func readSetting(path string) (string, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var b [4096]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return "", false
	}
	return strings.Trim(string(b[:n]), "\x00\n\t "), true
}
