package probe

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/calls"
)

// steps makes calls one after the other and stops at the first that fails, but
// for those that run always.
func steps(list []Step) Said {
	var s Said
	saved := map[string]uintptr{}
	for i, st := range list {
		if s.Step != 0 && !st.Always {
			continue
		}
		ret, errno, got, err := raw(st, saved)
		if err != nil {
			return Said{Err: fmt.Sprintf("step %d: %v", i+1, err)}
		}
		if errno != 0 && s.Step == 0 {
			s.Step, s.Errno = i+1, int(errno)
		}
		if errno == 0 && st.Save != "" {
			saved[st.Save] = ret
		}
		s.Got = append(s.Got, got...)
	}
	return s
}

// raw makes one call. got is what the kernel wrote into zeroed memory.
func raw(st Step, saved map[string]uintptr) (ret uintptr, errno syscall.Errno, got []byte, err error) {
	nr, err := number(st.Call)
	if err != nil {
		return 0, 0, nil, err
	}
	if len(st.Args) > 6 {
		return 0, 0, nil, fmt.Errorf("%d arguments", len(st.Args))
	}
	var args [6]uintptr
	var memory [6][]byte
	for i, a := range st.Args {
		if args[i], memory[i], err = argument(a, saved); err != nil {
			return 0, 0, nil, err
		}
	}
	for i, a := range st.Args {
		if rest, ok := strings.CutPrefix(a, "len:"); ok {
			n, err := strconv.Atoi(rest)
			if err != nil || n < 0 || n > 5 {
				return 0, 0, nil, fmt.Errorf("argument %q", a)
			}
			args[i] = uintptr(len(memory[n]))
		}
	}
	ret, _, errno = unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	runtime.KeepAlive(memory)
	if errno == 0 {
		for i, a := range st.Args {
			if strings.HasPrefix(a, "z:") {
				got = append(got, memory[i][:readBack(st.Call, ret, len(memory[i]))]...)
			}
		}
	}
	return ret, errno, got, nil
}

// readBack is how much of a zeroed buffer a call filled: as much as it
// returned, for those that return a length, else all of it.
func readBack(call string, ret uintptr, size int) int {
	switch call {
	case "read", "pread64", "readlink", "readlinkat", "getdents64", "recvfrom", "getxattr", "keyctl":
		return min(int(ret), size)
	}
	return size
}

func number(call string) (uintptr, error) {
	if nr, ok := calls.Number(call); ok {
		return uintptr(nr), nil
	}
	nr, err := strconv.ParseUint(call, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("this machine has no call %q", call)
	}
	return uintptr(nr), nil
}

// badAddress lies in the first page, which no process of an ordinary user can map.
const badAddress = 1

func argument(a string, saved map[string]uintptr) (uintptr, []byte, error) {
	pointer := func(b []byte) (uintptr, []byte, error) {
		if len(b) == 0 {
			b = make([]byte, 1)
		}
		return uintptr(unsafe.Pointer(&b[0])), b, nil
	}
	kind, rest, _ := strings.Cut(a, ":")
	switch {
	case a == "bad":
		return badAddress, nil, nil
	case strings.HasPrefix(a, "$"):
		v, ok := saved[a[1:]]
		if !ok {
			return 0, nil, fmt.Errorf("nothing was saved as %q", a)
		}
		return v, nil, nil
	case kind == "s":
		return pointer(append([]byte(rest), 0))
	case kind == "d":
		b, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			return 0, nil, fmt.Errorf("argument %q: %w", a, err)
		}
		return pointer(b)
	case kind == "z":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > MaxGot {
			return 0, nil, fmt.Errorf("argument %q", a)
		}
		return pointer(make([]byte, n))
	case kind == "len":
		return 0, nil, nil // filled in afterwards
	}
	if strings.HasPrefix(a, "-") {
		n, err := strconv.ParseInt(a, 0, 64)
		if err != nil {
			return 0, nil, fmt.Errorf("argument %q: %w", a, err)
		}
		return uintptr(n), nil, nil
	}
	n, err := strconv.ParseUint(a, 0, 64)
	if err != nil {
		return 0, nil, fmt.Errorf("argument %q: %w", a, err)
	}
	return uintptr(n), nil, nil
}
