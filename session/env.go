package session

import (
	"sort"
	"strings"

	"fumehood/isolate"
)

// envAllowed are the variables of the caller that go in as they are. All
// others stay outside: tokens, sockets of agents and buses, and whatever
// else a shell holds.
var envAllowed = []string{"TERM", "COLORTERM", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "CLICOLOR", "FORCE_COLOR"}

// Environment makes the complete environment of a session's commands out of
// the caller's. toolPath is put before the system's folders in PATH.
func Environment(caller []string, user string, toolPath []string) []string {
	env := map[string]string{
		"HOME":    isolate.HomeInside,
		"USER":    user,
		"LOGNAME": user,
		"SHELL":   "/bin/bash",
		"TERM":    "xterm-256color",
		"PATH":    strings.Join(append(append([]string{isolate.HomeInside + "/.local/bin"}, toolPath...), systemPath...), ":"),
		"TMPDIR":  "/tmp",
		// The session is a sandbox; some agents ask before they drop questions.
		"IS_SANDBOX": "1",
		"FUMEHOOD":   "1",
	}
	for _, kv := range caller {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || strings.ContainsAny(value, "\x00\n") {
			continue
		}
		if allowedVar(name) && value != "" {
			env[name] = value
		}
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

var systemPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/go/bin", "/usr/games"}

func allowedVar(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return true
	}
	for _, a := range envAllowed {
		if name == a {
			return true
		}
	}
	return false
}
