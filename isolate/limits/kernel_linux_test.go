package limits

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

func TestTheKernelsPartOfTheMachine(t *testing.T) {
	m, err := parseMachine([]byte("MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 300 kB\nBuffers: 10 kB\nCached: 200 kB\nSwapCached: 1 kB\n"+
		"AnonPages: 400 kB\nShmem: 50 kB\nSReclaimable: 20 kB\nSUnreclaim: 30 kB\nKernelStack: 3 kB\nPageTables: 5 kB\nHugePages_Total: 2\nHugetlb: 61 kB\n"), 8<<10)
	if err != nil || m != (machine{1000 << 10, 300 << 10, 192 << 10}) {
		t.Errorf("got %+v, %v, want 1000, 300 and 192 KiB", m, err)
	}
	for _, text := range []string{"", "MemTotal: many kB\n", "MemTotal: 5\n"} {
		if m, err := parseMachine([]byte(text), 0); err == nil {
			t.Errorf("%q: got %+v, want an error", text, m)
		}
	}
}

func TestCompressedPagesAreNoneOfTheKernels(t *testing.T) {
	for text, want := range map[string]int64{
		"nr_free_pages 5\nnr_zspages 1234\nnr_free_cma 0\n": 1234, "nr_free_pages 5\n": 0, "nr_zspages x\n": 0, "xnr_zspages 7\n": 0, "": 0,
	} {
		if got := zspages([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// A name that a kernel does not have would count for nothing: what the page
// cache holds would be the kernel's then.
func TestEveryNameIsInThisKernelsMeminfo(t *testing.T) {
	source, err := os.ReadFile("kernel_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(Mem|Buffers|Cached|Swap|Anon|SRec|Page|Kernel|Huge)[A-Za-z]*"`).FindAll(source, -1)
	if len(names) < 12 {
		t.Errorf("found %d names, want all", len(names))
	}
	for _, n := range names {
		if !bytes.Contains(text, append(bytes.Trim(n, `"`), ':')) {
			t.Errorf("no %s in /proc/meminfo", n)
		}
	}
	if m, err := readMachine(); err != nil || m.kernel <= 0 || m.available <= 0 || m.kernel >= m.total {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestWhatTheKernelTakesIsOverWhenTheMachineIsShort(t *testing.T) {
	const mib = 1 << 20
	machineWith := func(available, kernel int64) machine { return machine{1600 * mib, available * mib, kernel * mib} }
	for _, tt := range []struct {
		what  string
		first machine
		now   machine
		used  int64
		over  bool
	}{
		{"grown, and short", machineWith(1000, 50), machineWith(99, 251), 0, true},
		{"grown with what else is used, and short", machineWith(1000, 50), machineWith(99, 150), 101, true},
		{"grown, and enough left", machineWith(1000, 50), machineWith(100, 900), 0, false},
		{"grown by less than the limit", machineWith(1000, 50), machineWith(10, 150), 50, false},
		{"short by others", machineWith(1000, 50), machineWith(10, 50), 199, false},
		{"shrunk", machineWith(1000, 300), machineWith(10, 50), 1000, false},
	} {
		seen := tt.first
		k := kernelGrowth{read: func() (machine, error) { return seen, nil }}
		if _, over, err := k.look(0, 200*mib); over || err != nil {
			t.Errorf("%s: got %v, %v at the first look", tt.what, over, err)
		}
		seen = tt.now
		grew, over, err := k.look(tt.used*mib, 200*mib)
		if over != tt.over || err != nil || grew != tt.now.kernel-tt.first.kernel {
			t.Errorf("%s: got %d, %v, %v, want over %v", tt.what, grew, over, err, tt.over)
		}
	}
}

func TestALookSeesWhatTheKernelTook(t *testing.T) {
	const gib = 1 << 30
	seen := machine{total: 64 * gib, available: 32 * gib, kernel: gib}
	j := Judge{kernel: kernelGrowth{read: func() (machine, error) { return seen, nil }}}
	v, err := j.Look(os.Getpid(), 8*gib, 0)
	if err != nil || v.Over || v.Kernel != 0 {
		t.Fatalf("got %v, %d, %v, want nothing over", v.Over, v.Kernel, err)
	}
	seen.available, seen.kernel = gib, 20*gib
	if v, err = j.Look(os.Getpid(), 0, 0); err != nil || v.Over {
		t.Errorf("without a limit: got %v, %v", v.Over, err)
	}
	if v, err = j.Look(os.Getpid(), 8*gib, 0); err != nil || !v.Over || v.Kernel != 19*gib {
		t.Errorf("got %v, %d, %v, want it over by 19 GiB", v.Over, v.Kernel, err)
	}
	j.kernel.read = func() (machine, error) { return machine{}, os.ErrPermission }
	if _, err = j.Look(os.Getpid(), 8*gib, 0); err == nil {
		t.Error("got no error where the machine does not tell")
	}
}
