package trace

// shape says how many arguments of a call are shown, and which are text in the
// caller's memory: p a path, a an address whose length is the next argument.
type shape struct {
	n    int
	text string // one letter an argument, "-" for a number
}

var shapes = map[string]shape{
	"open": {3, "p"}, "openat": {4, "-p"}, "openat2": {4, "-p"}, "creat": {2, "p"}, "truncate": {2, "p"}, "unlink": {1, "p"}, "unlinkat": {3, "-p"},
	"rename": {2, "pp"}, "renameat": {4, "-p-p"}, "renameat2": {5, "-p-p"}, "mkdir": {2, "p"}, "mkdirat": {3, "-p"}, "rmdir": {1, "p"},
	"chmod": {2, "p"}, "fchmodat": {3, "-p"}, "fchmodat2": {4, "-p"}, "chown": {3, "p"}, "lchown": {3, "p"}, "fchownat": {5, "-p"},
	"utimensat": {4, "-p"}, "utime": {2, "p"}, "utimes": {2, "p"}, "futimesat": {3, "-p"}, "setxattr": {5, "pp"}, "lsetxattr": {5, "pp"}, "removexattr": {2, "pp"},
	"symlink": {2, "pp"}, "symlinkat": {3, "p-p"}, "link": {2, "pp"}, "linkat": {5, "-p-p"}, "readlink": {4, "p"}, "readlinkat": {4, "-p"},
	"stat": {2, "p"}, "lstat": {2, "p"}, "newfstatat": {4, "-p"}, "statx": {5, "-p"}, "access": {2, "p"}, "faccessat": {3, "-p"}, "faccessat2": {4, "-p"},
	"execve": {3, "p"}, "execveat": {5, "-p"}, "chdir": {1, "p"}, "chroot": {1, "p"}, "mount": {5, "ppp"}, "umount2": {2, "p"}, "pivot_root": {2, "pp"},
	"mknod": {3, "p"}, "mknodat": {4, "-p"}, "inotify_add_watch": {3, "-p"}, "name_to_handle_at": {5, "-p"}, "statfs": {2, "p"}, "memfd_create": {2, "p"},
	"connect": {3, "-a"}, "bind": {3, "-a"}, "sendto": {6, "----a"}, "acct": {1, "p"}, "swapon": {2, "p"}, "move_mount": {5, "-p-p"}, "open_tree": {3, "-p"},
	"sethostname": {2, "p"}, "getxattr": {4, "pp"}, "utimensat_time64": {4, "-p"},
	"socket": {3, ""}, "kill": {2, ""}, "tgkill": {3, ""}, "ptrace": {4, ""}, "ioctl": {3, ""}, "fcntl": {3, ""}, "flock": {2, ""}, "prctl": {5, ""}, "mmap": {6, ""},
	"read": {3, ""}, "write": {3, ""}, "close": {1, ""}, "listen": {2, ""}, "accept": {3, ""}, "accept4": {4, ""}, "fork": {0, ""}, "vfork": {0, ""},
}

func argCount(name string) int {
	if s, ok := shapes[name]; ok {
		return s.n
	}
	return 6
}

// reads says in which argument a call is given the place to write to.
var reads = map[string]int{
	"read": 1, "pread64": 1, "readlink": 1, "readlinkat": 2, "recvfrom": 1, "getxattr": 2, "lgetxattr": 2, "uname": 0, "getdents64": 1, "getcwd": 0,
}

// utsBytes is the size of struct new_utsname, which uname fills.
const utsBytes = 6 * 65

// noise is what a Go runtime calls by itself at any time; on threads other
// than the one that made the mark it is not part of an attempt.
var noise = map[string]bool{
	"futex": true, "sched_yield": true, "nanosleep": true, "clock_nanosleep": true, "epoll_wait": true, "epoll_pwait": true, "epoll_ctl": true, "epoll_create1": true,
	"rt_sigprocmask": true, "rt_sigaction": true, "rt_sigreturn": true, "sigaltstack": true, "madvise": true, "tgkill": true, "getpid": true, "gettid": true,
	"restart_syscall": true, "mmap": true, "munmap": true, "mprotect": true, "timer_create": true, "timer_settime": true, "timer_delete": true, "getrandom": true,
	"set_robust_list": true, "rseq": true, "arch_prctl": true, "eventfd2": true, "clone": true, "clone3": true, "exit": true, "write": true, "read": true,
}
