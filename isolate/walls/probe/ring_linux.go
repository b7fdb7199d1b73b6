package probe

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of io_uring(7), Linux 5.6.
const (
	ringFDs       = 0          // offset of both rings, with one mapping
	ringEntries   = 0x10000000 // offset of the entries
	ringConnect   = 16
	ringSend      = 26
	ringLink      = 1 << 2 // the next one waits for this one, and is dropped when it fails
	ringGetEvents = 1
	ringOneMap    = 1 // a feature: both rings in one mapping, since 5.4
)

// ring sends a word to an address by io_uring: connect and send are made by the
// kernel itself, where no filter of system calls looks.
func ring(args map[string]string) Said {
	w, err := wayOf(args)
	if err != nil {
		return Said{Err: err.Error()}
	}
	fd, e := call(unix.SYS_SOCKET, uintptr(w.domain), uintptr(w.kind|unix.SOCK_CLOEXEC), uintptr(w.proto))
	if e != 0 {
		return refusal(stepSocket, e)
	}
	defer unix.Close(int(fd))
	patience(int(fd))
	params := memory(120)
	ringFD, e := call(unix.SYS_IO_URING_SETUP, 2, address(params))
	if e != 0 {
		return refusal(stepOption, e)
	}
	defer unix.Close(int(ringFD))
	field := func(at int) int { return int(binary.NativeEndian.Uint32(params[at:])) }
	if field(20)&ringOneMap == 0 {
		return Said{Err: "this kernel maps its rings in two pieces"}
	}
	// struct io_uring_params: the offsets of the rings begin at 40 and 80.
	sq := struct{ tail, array int }{field(44), field(64)}
	cq := struct{ tail, entries int }{field(84), field(100)}
	size := max(sq.array+4*field(0), cq.entries+16*field(4))
	rings, err := unix.Mmap(int(ringFD), ringFDs, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return Said{Err: "map the rings: " + err.Error()}
	}
	defer func() { _ = unix.Munmap(rings) }() // as all memory at the end
	entries, err := unix.Mmap(int(ringFD), ringEntries, 64*field(0), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return Said{Err: "map the entries: " + err.Error()}
	}
	defer func() { _ = unix.Munmap(entries) }() // as the rings

	entry := func(i int, op, flags byte, addr uintptr, off uint64, length uint32) {
		b := entries[64*i:]
		b[0], b[1] = op, flags
		binary.NativeEndian.PutUint32(b[4:], uint32(fd))
		binary.NativeEndian.PutUint64(b[8:], off)
		binary.NativeEndian.PutUint64(b[16:], uint64(addr))
		binary.NativeEndian.PutUint32(b[24:], length)
		binary.NativeEndian.PutUint32(rings[sq.array+4*i:], uint32(i))
	}
	entry(0, ringConnect, ringLink, address(w.to), uint64(len(w.to)), 0)
	entry(1, ringSend, 0, address(w.data), 0, uint32(len(w.data)))
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&rings[sq.tail])), 2)
	_, e = call(unix.SYS_IO_URING_ENTER, ringFD, 2, 2, ringGetEvents, 0, 0)
	runtime.KeepAlive(w)
	if e != 0 {
		return refusal(stepAddress, e)
	}
	for i := range min(int(atomic.LoadUint32((*uint32)(unsafe.Pointer(&rings[cq.tail])))), 2) {
		if res := int32(binary.NativeEndian.Uint32(rings[cq.entries+16*i+8:])); res < 0 {
			return Said{Step: stepAddress, Errno: int(-res)}
		}
	}
	return Said{}
}
