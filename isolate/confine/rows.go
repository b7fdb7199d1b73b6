package confine

import "fumehood/isolate/seccomp"

const (
	eACCES = 13
	ePERM  = 1

	cloneThread = 0x10000
	afUnix      = 1
	sigTSTP     = 20
)

func is(arg int, val uint32) seccomp.Cond {
	return seccomp.Cond{Arg: arg, Mask: 0xffffffff, Op: seccomp.Equal, Val: val}
}

func not(arg int, val uint32) seccomp.Cond {
	return seccomp.Cond{Arg: arg, Mask: 0xffffffff, Op: seccomp.NotEqual, Val: val}
}

// rows is what a session may not do, and what the process self gives up beside
// that.
func rows(k Keep, self uint32) []seccomp.Row {
	t := seccomp.Table()
	refuse := func(errno uint16, why string, calls ...string) {
		for _, c := range calls {
			t = append(t, seccomp.Row{Call: c, Errno: errno, Why: why})
		}
	}
	when := func(call, why string, conds ...seccomp.Cond) {
		t = append(t, seccomp.Row{Call: call, When: conds, Errno: ePERM, Why: why})
	}
	refuse(ePERM, "it starts no program", "execve", "execveat", "fork", "vfork")
	when("clone", "a thread of its own, and no process", seccomp.Cond{Arg: 0, Mask: cloneThread, Op: seccomp.Equal})

	when("kill", "it signals nobody else", not(0, self), not(0, 0))
	when("kill", "its group, with the shell that waits for it, is only ever stopped: ctrl+z", is(0, 0), not(1, sigTSTP))
	when("tgkill", "the runtime wakes its own threads", not(0, self))
	refuse(ePERM, "as kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "pidfd_open")
	when("prlimit64", "another's limits", not(0, 0), not(0, self))
	refuse(ePERM, "what processes of one account share", "shmget", "shmat", "msgget", "msgsnd", "msgrcv", "semget", "mq_open", "mq_unlink")

	if k.Sockets {
		when("socket", "no network", not(0, afUnix))
	} else {
		refuse(ePERM, "no network, and nobody else's socket", "socket", "connect", "bind", "listen")
	}
	if len(k.Folders) > 0 {
		return t // which ones is Landlock's to say
	}
	refuse(eACCES, "it opens nothing any more", "open", "openat", "openat2", "creat")
	refuse(eACCES, "it changes no name", "truncate", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "rename", "renameat", "renameat2",
		"link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chdir", "inotify_add_watch")
	refuse(eACCES, "Landlock has no right for what a file says of itself", "chmod", "fchmod", "fchmodat", "fchmodat2",
		"chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr")
	return t
}
