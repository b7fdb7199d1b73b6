package trace

import "strings"

// statusField is one field of a /proc/PID/status.
func statusField(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
