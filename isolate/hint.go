package isolate

import (
	"errors"
	"syscall"

	"fumehood/isolate/layer"
)

const (
	hintClone = "this account may not make user namespaces here: look at sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces and, with AppArmor, kernel.apparmor_restrict_unprivileged_userns; in a container, start it with the right to make them; see \"fumehood doctor\""
	hintOff   = "this kernel has Landlock off or lacks it: it must be among the security modules (lsm= on the kernel command line)"
	hintCalls = "this kernel lacks seccomp filters, or a container refuses them"
)

// cloneError is what starting PID 1 in new namespaces failed with.
func cloneError(err error) *layer.Error {
	e := &layer.Error{Layer: layer.Namespaces, Op: "clone into new namespaces", Err: err}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Err = errno
		switch errno {
		case syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EUSERS, syscall.EINVAL, syscall.ENOSYS:
			e.Hint = hintClone
		}
	}
	return e
}

// hinted adds advice to an error of the stage that came without.
func hinted(e *layer.Error) *layer.Error {
	if e.Hint != "" {
		return e
	}
	var errno syscall.Errno
	if !errors.As(e.Err, &errno) {
		return e
	}
	switch {
	case e.Layer == layer.Landlock && (errno == syscall.ENOSYS || errno == syscall.EOPNOTSUPP):
		e.Hint = hintOff
	case e.Layer == layer.Seccomp && (errno == syscall.ENOSYS || errno == syscall.EINVAL):
		e.Hint = hintCalls
	case e.Layer == layer.Namespaces && (errno == syscall.EPERM || errno == syscall.EACCES):
		e.Hint = hintClone
	}
	return e
}
