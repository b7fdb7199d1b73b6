package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
)

// kernel runs a program as the kernel would: on struct seccomp_data.
type kernel struct {
	t  *testing.T
	vm *bpf.VM
}

func load(t *testing.T, a Arch, rows []Row) kernel {
	t.Helper()
	raw, err := Compile(a, rows)
	if err != nil {
		t.Fatal(err)
	}
	return machine(t, raw)
}

func machine(t *testing.T, raw []bpf.RawInstruction) kernel {
	t.Helper()
	prog, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("the program does not disassemble")
	}
	vm, err := bpf.NewVM(prog)
	if err != nil {
		t.Fatal(err)
	}
	return kernel{t, vm}
}

// run gives the errno of a call, 0 when it is allowed. The VM loads words
// big-endian, so words are written that way; their places are the real ones.
func (k kernel) run(arch, nr uint32, args ...uint64) int {
	k.t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], nr)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	got, err := k.vm.Run(data)
	if err != nil {
		k.t.Fatal(err)
	}
	switch {
	case uint32(got) == retAllow:
		return 0
	case uint32(got)&0xffff0000 == retErrno:
		return int(uint32(got) & 0xffff)
	}
	k.t.Fatalf("the program returned %#x", got)
	return 0
}

func arches() []Arch { return []Arch{X86(), ARM()} }

// meeting is arguments for which every condition of the row holds. Arguments
// that the row does not look at are garbage.
func meeting(r Row) []uint64 {
	args := []uint64{0xdead_0000_0000_0000, 1 << 40, 1 << 41, 1 << 42, 1 << 43, 1 << 44}
	for _, c := range r.When {
		if c.Op == Equal {
			args[c.Arg] = args[c.Arg]&^0xffffffff | uint64(c.Val)
		}
	}
	for _, c := range r.When {
		low := uint32(args[c.Arg])
		switch c.Op {
		case Equal:
		case NotEqual:
			if c.Mask != 0xffffffff {
				low |= c.Mask
			}
			for holds := false; !holds; {
				holds = true
				for _, o := range r.When {
					if o.Arg == c.Arg && o.Op == NotEqual && o.Mask == 0xffffffff && low == o.Val {
						holds, low = false, low+97
					}
				}
			}
		case Above, AboveOrHigh:
			low = c.Val + 1
		}
		args[c.Arg] = args[c.Arg]&^0xffffffff | uint64(low)
	}
	return args
}

func TestEveryRowRefusesWhatItSays(t *testing.T) {
	for _, a := range arches() {
		k := load(t, a, Table())
		for i, r := range Table() {
			nr, ok := a.Calls[r.Call]
			if !ok {
				continue
			}
			args := meeting(r)
			got := k.run(a.Audit, nr, args...)
			if got != int(r.Errno) {
				t.Errorf("%s row %d, %s%#x: got errno %d, want %d (%s)", a.Name, i, r.Call, args, got, r.Errno, r.Why)
			}
		}
	}
}

// Each row by itself must let pass what it does not name, and each of its
// conditions must count.
func TestEveryRowLetsTheRestPass(t *testing.T) {
	for _, a := range arches() {
		for i, r := range Table() {
			nr, ok := a.Calls[r.Call]
			if !ok {
				continue
			}
			k := load(t, a, []Row{r})
			if got := k.run(a.Audit, nr+1, meeting(r)...); got != 0 {
				t.Errorf("%s row %d: the next call, %d, got errno %d, want none", a.Name, i, nr+1, got)
			}
			for _, c := range r.When {
				args := meeting(r)
				switch c.Op {
				case Equal:
					args[c.Arg] ^= uint64(c.Mask & -c.Mask) // the lowest bit that is looked at
				case NotEqual:
					if c.Mask == 0xffffffff {
						args[c.Arg] = uint64(c.Val)
					} else {
						args[c.Arg] = uint64(^c.Mask | c.Val)
					}
				case Above, AboveOrHigh:
					args[c.Arg] = uint64(c.Val)
				}
				if got := k.run(a.Audit, nr, args...); got != 0 {
					t.Errorf("%s row %d, %s%#x: condition %+v does not hold, got errno %d, want none", a.Name, i, r.Call, args, c, got)
				}
			}
		}
	}
}

func TestHighBitsDontHelp(t *testing.T) {
	a := X86()
	k := load(t, a, Table())
	for _, high := range []uint64{1 << 32, 1 << 63, 0xffffffff << 32} {
		if got := k.run(a.Audit, a.Calls["ioctl"], 0, high|0x5412); got != ePERM {
			t.Errorf("TIOCSTI with %#x: got errno %d, want %d", high, got, ePERM)
		}
		if got := k.run(a.Audit, a.Calls["shmget"], 0, high|1); got != eINVAL {
			t.Errorf("shmget of %#x bytes: got errno %d, want %d", high|1, got, eINVAL)
		}
	}
}

func TestForeignABIsAndUnknownNumbers(t *testing.T) {
	for _, a := range arches() {
		k := load(t, a, Table())
		for _, tt := range []struct {
			name     string
			arch, nr uint32
			want     int
		}{
			{"native getuid", a.Audit, map[string]uint32{"x86_64": 102, "aarch64": 174}[a.Name], 0},
			{"i386", 0x40000003, 20, eNOSYS},
			{"32-bit ARM", 0x40000028, 20, eNOSYS},
			{"the other machine", a.Audit ^ (0x3e ^ 0xb7), 39, eNOSYS},
			{"x32", a.Audit, x32Bit | 39, eNOSYS},
			{"x32 alone", a.Audit, x32Bit, eNOSYS},
			{"the highest known", a.Audit, a.Highest, 0},
			{"one above", a.Audit, a.Highest + 1, eNOSYS},
			{"far above", a.Audit, 0x3fffffff, eNOSYS},
			{"minus one", a.Audit, 0xffffffff, eNOSYS},
		} {
			if got := k.run(tt.arch, tt.nr, 0, 0, 0, 0, 0, 0); got != tt.want {
				t.Errorf("%s, %s: got errno %d, want %d", a.Name, tt.name, got, tt.want)
			}
		}
	}
}

// What ordinary programs do has to work.
func TestOrdinaryCallsPass(t *testing.T) {
	a := X86()
	k := load(t, a, Table())
	const thread = 0x3d0f00 // glibc's pthread_create
	for _, tt := range []struct {
		call string
		args []uint64
	}{
		{"clone", []uint64{thread}},
		{"clone", []uint64{17}},              // fork
		{"clone", []uint64{0x4111 | 0x1000}}, // vfork with a pidfd
		{"unshare", []uint64{0x400}},         // CLONE_FILES
		{"ioctl", []uint64{0, 0x5401}},       // TCGETS
		{"ioctl", []uint64{0, 0x5414}},       // TIOCSWINSZ
		{"ioctl", []uint64{0, 0x80045430}},   // TIOCGPTN
		{"ioctl", []uint64{0, 0x541b}},       // FIONREAD
		{"ioctl", []uint64{0, 0x5421}},       // FIONBIO
		{"ioctl", []uint64{0, 0x5451}},       // FIOCLEX
		{"ioctl", []uint64{0, 0x8912}},       // SIOCGIFCONF
		{"ioctl", []uint64{0, 0x40049409}},   // FICLONE: cp
		{"ioctl", []uint64{0, 0x4020940d}},   // FICLONERANGE
		{"ioctl", []uint64{0, 0xc020660b}},   // FIEMAP
		{"ioctl", []uint64{0, 0x80086601}},   // FS_IOC_GETFLAGS: lsattr
		{"ioctl", []uint64{0, 2}},            // FIGETBSZ
		{"fcntl", []uint64{0, 1030}},         // F_DUPFD_CLOEXEC
		{"fcntl", []uint64{0, 1033}},         // F_ADD_SEALS
		{"prctl", []uint64{4}},               // PR_SET_DUMPABLE
		{"prctl", []uint64{15}},              // PR_SET_NAME
		{"prctl", []uint64{22}},              // PR_SET_SECCOMP
		{"seccomp", []uint64{1, 1}},          // a filter of its own
		{"personality", []uint64{0xffffffff}},
		{"personality", []uint64{0x40000}},
		{"socket", []uint64{1, 1 | 0x80000, 0}},
		{"socket", []uint64{2, 1, 6}},
		{"socket", []uint64{10, 2, 17}},
		{"socket", []uint64{2, 2, 1}},
		{"socket", []uint64{16, 3 | 0x80000, 0}},
		{"socketpair", []uint64{1, 1, 0}},
		{"sendto", []uint64{0, 0, 0, 0x4000}},
		{"sendmsg", []uint64{0, 0, 0x4000}},
		{"setsockopt", []uint64{0, 6, 1}},
		{"setsockopt", []uint64{0, 1, 30}},
		{"mknod", []uint64{0, 0o010644}},
		{"mknodat", []uint64{0, 0, 0o140755}},
		{"shmget", []uint64{0, 56}},
		{"semget", []uint64{0, 20}}, // PostgreSQL
		{"semget", []uint64{0, 0}},  // of a set that is there
	} {
		if got := k.run(a.Audit, a.Calls[tt.call], append(tt.args, make([]uint64, 6-len(tt.args))...)...); got != 0 {
			t.Errorf("%s%#x: got errno %d, want none", tt.call, tt.args, got)
		}
	}
}

func TestRefusedVariants(t *testing.T) {
	a := X86()
	k := load(t, a, Table())
	for _, tt := range []struct {
		call string
		args []uint64
		want int
	}{
		{"socket", []uint64{2, 1, 262}, ePROTONOSUPPORT},  // MPTCP
		{"socket", []uint64{10, 1, 262}, ePROTONOSUPPORT}, // MPTCP
		{"socket", []uint64{2, 1, 132}, ePROTONOSUPPORT},  // SCTP
		{"socket", []uint64{2, 3 | 0x800, 6}, ePERM},      // raw, non-blocking
		{"socket", []uint64{17, 3, 0}, eAFNOSUPPORT},      // packet
		{"socket", []uint64{40, 1, 0}, eAFNOSUPPORT},      // vsock
		{"socket", []uint64{38, 5, 0}, eAFNOSUPPORT},      // alg
		{"socket", []uint64{16, 3, 9}, ePROTONOSUPPORT},   // audit
		{"socket", []uint64{16, 3, 12}, ePROTONOSUPPORT},  // netfilter
		{"clone", []uint64{0x10000000 | 17}, ePERM},
		{"clone", []uint64{0x40000000 | 17}, ePERM},
		{"unshare", []uint64{0x80}, ePERM}, // time namespace
		{"mknod", []uint64{0, 0xffff_0000 | 0o020600}, ePERM},
		{"ioctl", []uint64{0, 0x5000940e}, eNOTTY},            // BTRFS_IOC_SUBVOL_CREATE
		{"ioctl", []uint64{0, 0x50009417}, eNOTTY},            // BTRFS_IOC_SNAP_CREATE_V2
		{"ioctl", []uint64{0, 1<<40 | 0x4008941a}, eNOTTY},    // BTRFS_IOC_SUBVOL_SETFLAGS
		{"ioctl", []uint64{0, 0x9408}, eNOTTY},                // BTRFS_IOC_SYNC
		{"ioctl", []uint64{0, 0xc0506617}, eNOTTY},            // FS_IOC_ADD_ENCRYPTION_KEY
		{"ioctl", []uint64{0, 0x40086602}, eNOTTY},            // FS_IOC_SETFLAGS
		{"ioctl", []uint64{0, 0x401c5820}, eNOTTY},            // FS_IOC_FSSETXATTR
		{"ioctl", []uint64{0, 0xc0c0586d}, eNOTTY},            // XFS_IOC_SWAPEXT
		{"ioctl", []uint64{0, 0xb702}, eNOTTY},                // NS_GET_PARENT
		{"ioctl", []uint64{0, 0xc0c0ff0b}, eNOTTY},            // of a pidfd
		{"ioctl", []uint64{0, 1}, eNOTTY},                     // FIBMAP
		{"ioctl", []uint64{0, 0xffff_ffff_0000_0000}, eNOTTY}, // none
		{"file_setattr", []uint64{3, 0, 0, 24, 0}, eNOSYS},
		{"prctl", []uint64{62, 1}, eINVAL},         // PR_SCHED_CORE, a cookie of its own
		{"prctl", []uint64{1<<40 | 62, 3}, eINVAL}, // the kernel drops the high bits
		{"vmsplice", []uint64{1, 0, 1, 0}, eNOSYS},
		{"setsockopt", []uint64{3, 1, 60}, eNOPROTOOPT},                           // SO_ZEROCOPY
		{"setsockopt", []uint64{3, 1<<40 | 1, 0xffff_0000<<32 | 60}, eNOPROTOOPT}, // the kernel drops the high bits
		{"semget", []uint64{0, 65}, eINVAL},
		{"semget", []uint64{0, 1<<40 | 65}, eINVAL},
		{"clone3", []uint64{0, 88}, eNOSYS},
		{"io_uring_setup", []uint64{1, 0}, eNOSYS},
	} {
		if got := k.run(a.Audit, a.Calls[tt.call], append(tt.args, make([]uint64, 6-len(tt.args))...)...); got != tt.want {
			t.Errorf("%s%#x: got errno %d, want %d", tt.call, tt.args, got, tt.want)
		}
	}
}

func TestEveryCallOfTheTableHasANumber(t *testing.T) {
	for _, r := range Table() {
		if _, ok := x86Calls[r.Call]; !ok {
			t.Errorf("%s has no number on x86_64: misspelt?", r.Call)
		}
		if r.Why == "" || r.Errno == 0 {
			t.Errorf("%s: no reason or no errno", r.Call)
		}
	}
	x86Only := map[string]bool{
		"_sysctl": true, "create_module": true, "get_kernel_syms": true, "ioperm": true, "iopl": true, "mknod": true,
		"modify_ldt": true, "query_module": true, "sysfs": true, "uselib": true, "ustat": true,
	}
	for _, r := range Table() {
		if _, ok := armCalls[r.Call]; !ok && !x86Only[r.Call] {
			t.Errorf("%s has no number on aarch64", r.Call)
		}
	}
	for call, nr := range x86Calls {
		if nr > X86().Highest {
			t.Errorf("%s is %d, above the highest known", call, nr)
		}
	}
}

func TestCompileRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, rows := range [][]Row{
		{{Call: "mount", Errno: 0, Why: "x"}},
		{{Call: "mount", Errno: 1}},
		{{Call: "mount", When: []Cond{{Arg: 6, Mask: 1}}, Errno: 1, Why: "x"}},
		{{Call: "mount", When: []Cond{{Arg: 0, Mask: 1, Op: 99}}, Errno: 1, Why: "x"}},
	} {
		if _, err := Compile(X86(), rows); err == nil {
			t.Errorf("%+v was compiled", rows)
		}
	}
	big := Row{Call: "ioctl", Errno: 1, Why: "x"}
	for i := range 300 {
		big.When = append(big.When, is(1, uint32(i)))
	}
	if _, err := Compile(X86(), []Row{big}); err == nil {
		t.Error("a row too long for a jump was compiled")
	}
}

func TestProgramIsShort(t *testing.T) {
	for _, a := range arches() {
		raw, err := Compile(a, Table())
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 1000 {
			t.Errorf("%s: %d instructions, want at most 1000", a.Name, len(raw))
		}
		t.Logf("%s: %d instructions", a.Name, len(raw))
	}
}
