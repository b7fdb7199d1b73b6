package plan

import (
	"errors"
	"fmt"
	"strings"
)

var errOld = errors.New("too old")

// ours are the places that no mount of the caller's may be at, or below.
var ours = []string{"/proc", "/dev", "/sys", "/fumehood", "/etc"}

func check(in Input) error {
	switch {
	case in.UID <= 0 || in.GID <= 0:
		return fmt.Errorf("session ids %d:%d: the session never runs as root", in.UID, in.GID)
	case !validName(in.User):
		return fmt.Errorf("session user %q: want a name of a-z, 0-9, '-' and '_', at most 32", in.User)
	case in.Home.Inside != Home:
		return fmt.Errorf("home inside is %q: want %q", in.Home.Inside, Home)
	case !hexOnly(in.Nonce) || len(in.Nonce) < 16:
		return errors.New("canary nonce: want at least 16 hex digits")
	case !hexOnly(in.MachineID) || len(in.MachineID) != 32:
		return errors.New("machine id: want 32 hex digits")
	case !clean(in.Shell):
		return fmt.Errorf("shell %q: want an absolute path", in.Shell)
	}
	for _, pl := range append([]Place{in.Workspace, in.Home, in.Canary}, in.ReadOnly...) {
		if !clean(pl.Host) || pl.Host == "/" {
			return fmt.Errorf("host path %q: want an absolute, clean path below /", pl.Host)
		}
	}
	if err := checkInside("workspace", in.Workspace.Inside); err != nil {
		return err
	}
	for _, pl := range in.ReadOnly {
		if err := checkInside("read-only input", pl.Inside); err != nil {
			return err
		}
		switch {
		case within(pl.Inside, in.Workspace.Inside):
			return fmt.Errorf("read-only input %q lies in the workspace %q", pl.Inside, in.Workspace.Inside)
		case in.HostHome != "" && within(in.HostHome, pl.Host):
			return fmt.Errorf("read-only input %q holds the home %q", pl.Host, in.HostHome)
		}
	}
	return checkCaches(in)
}

func checkInside(what, p string) error {
	if !clean(p) {
		return fmt.Errorf("%s inside %q: want an absolute, clean path", what, p)
	}
	if p == "/" {
		return fmt.Errorf("%s inside %q: the root is the sandbox's own", what, p)
	}
	if strings.Count(p, "/") > 64 {
		return fmt.Errorf("%s inside %q: more than 64 folders deep", what, p)
	}
	for _, o := range ours {
		if within(p, o) || within(o, p) {
			return fmt.Errorf("%s inside %q: %q is the sandbox's own", what, p, o)
		}
	}
	for _, t := range append(Top(), "tmp", "var", "var/tmp", "run") {
		if p == "/"+t {
			return fmt.Errorf("%s inside %q: it would replace the sandbox's own", what, p)
		}
	}
	return nil
}

func validName(s string) bool {
	if s == "" || len(s) > 32 || s == "root" || s == "nobody" {
		return false
	}
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r == '_':
		case i > 0 && (r >= '0' && r <= '9' || r == '-'):
		default:
			return false
		}
	}
	return true
}

func hexOnly(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return s != ""
}
