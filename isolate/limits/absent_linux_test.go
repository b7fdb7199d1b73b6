package limits

import (
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSharedMemoryOutOfThePageTablesCounts(t *testing.T) {
	const size = 64<<20 + 12<<10 // like no other mapping here
	seen := func() (held int64, there bool) {
		t.Helper()
		var j Judge
		v, err := j.Look(os.Getpid(), 1<<40, 0)
		if err != nil {
			t.Fatal(err)
		}
		return v.Held, slices.ContainsFunc(j.maps[os.Getpid()].pieces, func(p piece) bool { return p.end == size })
	}
	if _, there := seen(); there {
		t.Fatal("a mapping of this size is there already")
	}
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	for i := 0; i < size; i += 4096 {
		mem[i] = 1
	}
	if err := unix.Madvise(mem, unix.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if held, there := seen(); held < size || !there {
		t.Errorf("got %d held, counted %v; want %d more: the memory is there, in no page table", held, there, size)
	}
}

func TestMappingsThemselvesCount(t *testing.T) {
	const many = 20_000
	seen := func() (held int64, mappings int) {
		t.Helper()
		var j Judge
		v, err := j.Look(os.Getpid(), 1<<40, 0)
		if err != nil {
			t.Fatal(err)
		}
		return v.Held, j.maps[os.Getpid()].mappings
	}
	before, had := seen()
	mem, err := unix.Mmap(-1, 0, many*4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	for i := 0; i < many; i += 2 { // neighbours that differ are not joined
		if err := unix.Mprotect(mem[i*4096:(i+1)*4096], unix.PROT_READ); err != nil {
			t.Fatal(err)
		}
	}
	held, has := seen()
	if has-had < many-100 || held-before < (many-100)*mappingBytes {
		t.Errorf("got %d mappings and %d bytes more, want some %d and %d", has-had, held-before, many, many*mappingBytes)
	}
}

func TestTooManyMappingsAreAnError(t *testing.T) {
	at := time.Unix(100, 0)
	j := Judge{maps: map[int]seenMaps{7: {virtual: 1 << 30, until: at, mappings: maxMappings}, 8: {virtual: 1 << 30, until: at, mappings: 1}}}
	s := Sample{memfds: map[[2]uint64]bool{}, each: []use{{pid: 7, virtual: 1 << 30}}}
	if err := j.addAbsent(&s, 1<<40, at); err != nil || s.Held != maxMappings*mappingBytes {
		t.Errorf("got %d, %v at the bound; want it counted", s.Held, err)
	}
	j.maps[8] = seenMaps{virtual: 1 << 30, until: at, mappings: 1}
	s.each = append(s.each, use{pid: 8, virtual: 1 << 30})
	if err := j.addAbsent(&s, 1<<40, at); err == nil {
		t.Error("got no error beyond the bound")
	}
}

// What is over the limit already is not looked at any further: reading the maps
// of many processes takes seconds on a busy machine, and nothing is bounded then.
func TestALookEndsOverTheLimit(t *testing.T) {
	self := os.Getpid()
	for _, c := range []struct {
		limit int64
		read  bool
	}{{100 * mappingBytes, true}, {100*mappingBytes - 1, false}} {
		j := Judge{maps: map[int]seenMaps{7: {virtual: 1 << 30, until: time.Unix(100, 0), mappings: 100}}}
		s := Sample{memfds: map[[2]uint64]bool{}, each: []use{{pid: 7, virtual: 1 << 30}, {pid: self, virtual: 1 << 30}}}
		if err := j.addAbsent(&s, c.limit, time.Unix(100, 0)); err != nil {
			t.Fatal(err)
		}
		if _, read := j.maps[self]; read != c.read || s.Held < 100*mappingBytes {
			t.Errorf("limit %d: got the next process read: %v, %d held; want %v", c.limit, read, s.Held, c.read)
		}
	}
}

func TestHeldAloneDecides(t *testing.T) {
	held := int64(64 << 20)                     // more than the machine's own tmpfs have, which are this process's
	j := Judge{next: time.Now().Add(time.Hour)} // no exact look is due
	v, err := j.Look(os.Getpid(), held, 0)
	if err != nil || v.Over {
		t.Fatalf("got %v, %v before anything is held", v.Over, err)
	}
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Fallocate(fd, 0, 0, 128<<20); err != nil {
		t.Fatal(err)
	}
	if v, err = j.Look(os.Getpid(), held, 0); err != nil || !v.Over || v.Used < 128<<20 {
		t.Errorf("got over %v, used %d, %v; want it over by what is held", v.Over, v.Used, err)
	}
}

func TestASwappedMappingIsSeenAgain(t *testing.T) {
	j := Judge{maps: map[int]seenMaps{7: {virtual: 1 << 30, until: time.Unix(100, 0), pieces: []piece{{1, 2, 64 << 20}}}}}
	s := Sample{memfds: map[[2]uint64]bool{}, each: []use{{pid: 7, virtual: 1 << 30}}}
	if err := j.addAbsent(&s, 1<<40, time.Unix(99, 0)); err != nil || s.Held != 64<<20 {
		t.Errorf("got %d, %v; want what was seen a moment ago", s.Held, err)
	}
	s = Sample{memfds: map[[2]uint64]bool{}, each: []use{{pid: 7, virtual: 1 << 30}}}
	// Process 7, should there be one, maps nothing of this size.
	if err := j.addAbsent(&s, 1<<40, time.Unix(101, 0)); err != nil || s.Held == 64<<20 {
		t.Errorf("got %d, %v; want it looked at again after a while", s.Held, err)
	}
}

func TestPieces(t *testing.T) {
	text := []byte(`7f0000000000-7f0004000000 rw-s 00000000 00:01 42                         /dev/zero (deleted)
7f0004000000-7f0004001000 rw-s 00001000 00:01 43                         /memfd:x y (deleted)
7f0005000000-7f0005001000 rw-p 00000000 00:01 44                         /dev/zero (deleted)
7f0006000000-7f0006001000 rw-s 00000000 00:05 45                         /SYSV00000000 (deleted)
7f0007000000-7f0007001000 rw-s 00000000 fd:00 46                         /home/x/file
7f0008000000-7f0008001000 rw-p 00000000 00:00 0
`)
	got, err := appendPieces(nil, text)
	if err != nil || len(got) != 3 || got[0] != (piece{unix.Mkdev(0, 1), 42, 64 << 20}) || got[1].end != 8192 || got[2].ino != 45 {
		t.Errorf("got %+v, %v; want the three that are shared and have no name", got, err)
	}
	for _, bad := range []string{"x rw-s 0 00:01 1 /memfd:a", "1-2 rw-s 0 0001 1 /memfd:a", "1-2 rw-s z 00:01 1 /memfd:a"} {
		if _, err := appendPieces(nil, []byte(bad)); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}
