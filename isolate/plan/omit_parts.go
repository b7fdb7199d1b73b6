package plan

import (
	"fmt"

	"fumehood/isolate/layer"
	"fumehood/isolate/seccomp"
)

func limitParts() []Part {
	return of(layer.Limits,
		Part{Omit: LimitProcesses, Why: "a fork bomb ends at a number", Only: "fork beyond the policy's number: EAGAIN, without it a process"},
		Part{Omit: LimitData, Why: "one process can't take all memory", Only: "mmap(private, writable, more than the limit): ENOMEM, without it an address"},
		Part{Omit: LimitOpenFiles, Why: "descriptors are memory of the kernel's", Only: "dup2(0, the limit): EBADF, without it a descriptor"},
		Part{Omit: LimitFileSize, Why: "one file can't take the disk", Only: "ftruncate(a file of the workspace, more than the limit): EFBIG, without it 0"},
		Part{Omit: LimitCore, Why: "no image of a crashed process on the disk; the host's handler is told so", Only: "setrlimit(RLIMIT_CORE, 1): EPERM, without it 0"},
		Part{Omit: LimitTmp, Why: "files in memory end at a number", Only: "fallocate(a file in /tmp, more than its size): ENOSPC, without it 0"},
		Part{Omit: LimitCPUs, Why: "the host keeps processors for itself", Only: "sched_getaffinity(): the policy's number, without it all"},
		Part{
			Omit: OOMScore, Why: "when memory is short, the sandbox goes and not the host's programs",
			Only: "none that it refuses; read \"/proc/self/oom_score_adj\": 900, without it the starter's",
		},
	)
}

func identityParts() []Part {
	return of(layer.Identity,
		Part{
			Omit: NoNewPrivs, Why: "no exec gains anything",
			Only: "none: no mount inside knows set-user-id, and only one id exists inside; it shows in /proc/PID/status",
		},
		Part{
			Omit: Capabilities, Why: "the capabilities that closing needed are gone",
			Only: "ioctl(SIOCSIFMTU, \"lo\"): EPERM, without it 0",
		},
		Part{
			Omit: BoundingSet, Why: "no exec brings a capability back",
			Only: "none: no_new_privs and no set-user-id on mounts refuse the same; it shows in /proc/PID/status",
		},
		Part{
			Omit: Groups, Why: "no file is readable through a group of root's",
			Only: "open(a file of the host's group 0 in a read-only input, mode 0640): EACCES, without it 0",
		},
		Part{
			Omit: Undumpable, Why: "nobody inside looks into process 1",
			Only: "opendir(\"/proc/1/fd\"): EACCES, without it 0; what is read below it, Landlock refuses",
		},
		Part{
			Omit: Descriptors, Why: "an open descriptor passes every wall",
			Only: "fcntl(N, F_GETFD), N left open by the starter's parents: EBADF, without it 0",
		},
		Part{
			Omit: OwnSession, Why: "no terminal of the starter's",
			Only: "none: each command has a terminal session of its own; it shows in /proc/PID/stat",
		},
		Part{
			Omit: Signals, Why: "process 1 heeds no signal, and commands ignore none that the starter's parents ignored",
			Only: "read SigIgn in /proc/self/status, when the starter was started by nohup: 0, without it the signal's bit",
		},
		Part{
			Omit: EmptyEnviron, Why: "no variable of the starter's is inside",
			Only: "none: process 1 shows its environment to nobody inside, and hands none on; root sees it in /proc/PID/environ",
		},
	)
}

func landlockParts() []Part {
	return of(layer.Landlock,
		Part{
			Omit: LandlockFS, Why: "what is not granted is denied, a second time",
			Only: "open(\"/proc/self/oom_score_adj\", O_WRONLY): EACCES, without it 0",
		},
		Part{
			Omit: LandlockScope, Why: "signals and abstract sockets stay in the session's domain",
			Only: "kill(1, 0): EPERM, without it 0",
		},
	)
}

// only is the action that one group of the filter alone refuses.
func only(t seccomp.Trial, errno uint16) string {
	if t.Use != "" {
		return t.Use + ": refused, without it 0"
	}
	return fmt.Sprintf("none that would work: %s refuses as well; %s with arguments that the kernel's own code refuses: errno %d, without it another", t.Else, t.Call, errno)
}

func filterParts() []Part {
	parts := []Part{
		{Omit: Filter, Why: "the kernel's rare and dangerous code can't be reached", Only: "ptrace(PTRACE_TRACEME): EPERM, without it 0; and each of the groups below"},
		{
			Omit: ForeignABIs, Why: "the same calls by other numbers",
			Only: "int $0x80, getpid of the 32-bit ABI: ENOSYS, without it the number (where the kernel has that ABI)",
		},
		{
			Name: "refusal of unknown numbers", Why: "calls that a newer kernel has have not been looked at",
			Never: "a kernel that knows no higher number answers ENOSYS by itself, so that nothing would show",
		},
	}
	for _, t := range seccomp.Trials() {
		_, errno, _ := seccomp.TrialOf(t.Group)
		parts = append(parts, Part{
			Omit: FilterGroup, Group: t.Group, Name: "filter: " + string(t.Group), Why: t.Why,
			Only: only(t, errno),
		})
	}
	return of(layer.Seccomp, parts...)
}
