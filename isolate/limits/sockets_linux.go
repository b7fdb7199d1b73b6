package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// socketUse is what waits in the queues of a sandbox's own TCP and UDP sockets, in
// bytes: memory of the kernel's that belongs to no process. A root in this
// process's own network namespace has none of its own.
func socketUse(root int) (int64, error) {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", root))
	if gone(err) || errors.Is(err, fs.ErrPermission) {
		return 0, nil // it ended, or Landlock hides it: then the meter counts
	}
	if err != nil {
		return 0, err
	}
	if ours, err := os.Readlink("/proc/self/ns/net"); err != nil || ours == theirs {
		return 0, err
	}
	var sum int64
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := readFile(fmt.Sprintf("/proc/%d/net/%s", root, name))
		if gone(err) || errors.Is(err, fs.ErrNotExist) {
			continue // ended, or a kernel without IPv6
		}
		if err != nil {
			return 0, err
		}
		n, err := parseQueues(text)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/net/%s: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}

// stateListen is TCP_LISTEN, whose receive queue counts connections, not bytes.
const stateListen = "0A"

// parseQueues sums the queues in a table of sockets, "tx_queue:rx_queue" in
// hexadecimal (proc(5)).
func parseQueues(text []byte) (int64, error) {
	var sum int64
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 5 || string(f[0]) == "sl" || string(f[3]) == stateListen {
			continue
		}
		tx, rx, ok := bytes.Cut(f[4], []byte(":"))
		if !ok {
			return 0, fmt.Errorf("line %q", line)
		}
		for _, q := range [][]byte{tx, rx} {
			n, err := strconv.ParseUint(string(q), 16, 62)
			if err != nil {
				return 0, fmt.Errorf("line %q: %w", line, err)
			}
			sum += int64(n)
		}
	}
	return sum, nil
}
