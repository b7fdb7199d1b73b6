package supervisor

import (
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits/cgroup"
	"fumehood/session/store"
)

// privateFiles makes what is written here the account's own business alone.
func privateFiles() { unix.Umask(0o077) }

// confine takes from the supervisor itself, for good, what it no longer needs
// once the walls stand: to write anywhere but in its session's folder (and to
// remove the session's cgroup), and to execute anything. Should a byte from
// inside ever take it over, the host's files are not writable and no program
// can be started.
//
// Signals are not scoped: it must be able to end what is inside. Reading stays:
// it reads the process table and the workspace.
func confine(dir store.Dir, place *cgroup.Place) error {
	// No other process of the account may trace the supervisor or read its
	// memory without asking, and a crash leaves no image on disk (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return &layer.Error{Layer: layer.Identity, Op: "make the supervisor non-dumpable", Err: err}
	}
	abi, err := ll.LandlockGetABIVersion()
	if err == nil && abi < 1 {
		err = unix.EOPNOTSUPP
	}
	if err != nil {
		return &layer.Error{Layer: layer.Landlock, Op: "confine the supervisor", Err: err}
	}
	write := landlock.AccessFSSet(ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock |
		ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym)
	if abi >= 2 {
		write |= ll.AccessFSRefer
	}
	if abi >= 3 {
		write |= ll.AccessFSTruncate
	}
	rules := []landlock.Rule{
		landlock.PathAccess(write, string(dir)),
		landlock.PathAccess(ll.AccessFSWriteFile, os.DevNull), // opened for commands without a stream
	}
	if place != nil { // the session's group is removed at the end
		rules = append(rules, landlock.PathAccess(ll.AccessFSRemoveDir, place.Dir))
	}
	cfg := landlock.Config{HandledAccessFS: write | ll.AccessFSExecute}
	if err := cfg.Restrict(rules...); err != nil {
		return &layer.Error{Layer: layer.Landlock, Op: "confine the supervisor", Err: err}
	}
	return nil
}
