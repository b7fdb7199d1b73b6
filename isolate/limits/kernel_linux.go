package limits

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// What the kernel takes for a session without any process mapping it shows in no
// count of the session: what waits in sockets and pipes, locks, filters, rules,
// and whole large pages that a pipe keeps for the sake of one byte. The kernel
// tells their sum for the machine alone, so nobody can say whose it is while
// there is enough. When there is not, a session that is as old as the growth and
// whose limit the growth passes has to end: the kernel would end its processes
// next, and whatever else it finds.

// shortPart of the machine's memory left is short.
const shortPart = 16

// machine is the memory of the machine, in bytes.
type machine struct {
	total, available int64
	// kernel is what neither a process, a file nor a cache that can shrink has.
	kernel int64
}

func readMachine() (machine, error) {
	text, err := readFile("/proc/meminfo")
	if err != nil {
		return machine{}, err
	}
	pages, err := readFile("/proc/vmstat")
	if err != nil {
		return machine{}, err
	}
	return parseMachine(text, zspages(pages)*int64(os.Getpagesize()))
}

// zspages is what zram and zswap take in /proc/vmstat: pages of processes,
// compressed, which count as swapped out there. A kernel without them says
// nothing of it.
func zspages(text []byte) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("nr_zspages ")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 50)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// parseMachine reads /proc/meminfo (proc(5)). What is kept compressed is not in
// it.
func parseMachine(text []byte, compressed int64) (machine, error) {
	m := machine{kernel: -compressed}
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		sign := int64(-1)
		switch string(name) {
		case "MemTotal":
			sign = 1
		case "MemAvailable", "MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable", "PageTables", "KernelStack", "Hugetlb":
		default:
			continue
		}
		n, err := kilobytes(rest)
		if err != nil {
			return machine{}, fmt.Errorf("/proc/meminfo: line %q: %w", line, err)
		}
		switch string(name) {
		case "MemAvailable":
			m.available = n
			continue
		case "MemTotal":
			m.total = n
		}
		m.kernel += sign * n
	}
	if m.total == 0 {
		return machine{}, errors.New("/proc/meminfo has no MemTotal")
	}
	return m, nil
}

// kernelGrowth is what the kernel's part grew by since a session began. The zero
// value looks at this machine.
type kernelGrowth struct {
	read  func() (machine, error) // nil for readMachine
	began bool
	first int64
}

// look says by how much, and whether that, with what else the session uses,
// passes its limit on a machine that is short of memory.
func (k *kernelGrowth) look(used, limit int64) (grew int64, over bool, err error) {
	read := k.read
	if read == nil {
		read = readMachine
	}
	now, err := read()
	if err != nil {
		return 0, false, err
	}
	if !k.began {
		k.began, k.first = true, now.kernel
	}
	grew = now.kernel - k.first
	return grew, grew > 0 && used+grew > limit && now.available < now.total/shortPart, nil
}
