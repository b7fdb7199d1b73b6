package isolate

import (
	"errors"
	"syscall"

	"fumehood/isolate/layer"
)

const (
	hintClone = "this account may not make user namespaces here: look at sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces and, with AppArmor, kernel.apparmor_restrict_unprivileged_userns; in a container, start it with the right to make them; in a chroot there are none; see \"fumehood doctor\""
	hintMax   = "no more namespaces of this kind may be made: look at the sysctls user.max_user_namespaces, user.max_mnt_namespaces and their like (user.max_*_namespaces)"
	hintOld   = "this kernel lacks the call, or a container's filter refuses it: Linux 5.19 or later is needed; see \"fumehood doctor\""
	hintLie   = "something between fumehood and the kernel, such as a container's filter, answers calls without carrying them out: start it outside of that"
	hintNone  = "see \"fumehood doctor\" for what this kernel and this account offer"
	hintMaps  = "the ids of the session are not among those that this user namespace maps: start as the user itself and not as the root of a namespace (unshare -r, rootless containers)"
	hintProc  = "mount the kernel's /proc here (mount -t proc proc /proc): the walls are looked at through it"
	hintOff   = "this kernel has Landlock off or lacks it: it must be among the security modules (lsm= on the kernel command line)"
	hintCalls = "this kernel lacks seccomp filters, or a container refuses them"
)

// cloneError is what starting PID 1 in new namespaces failed with.
func cloneError(err error) *layer.Error {
	var known *layer.Error
	if errors.As(err, &known) {
		return known // what came before the clone
	}
	e := &layer.Error{Layer: layer.Namespaces, Op: "clone into new namespaces", Err: err}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Err = errno
	}
	return hinted(e)
}

// hinted adds advice to an error of the stage that came without.
func hinted(e *layer.Error) *layer.Error {
	if e.Hint != "" {
		return e
	}
	var errno syscall.Errno
	_ = errors.As(e.Err, &errno) // 0, when there is none
	switch {
	case e.Layer == layer.Landlock && (errno == syscall.ENOSYS || errno == syscall.EOPNOTSUPP):
		e.Hint = hintOff
	case e.Layer == layer.Seccomp && errno != 0:
		e.Hint = hintCalls
	case errno == syscall.ENOSYS:
		e.Hint = hintOld
	case e.Layer == layer.Namespaces && (errno == syscall.ENOSPC || errno == syscall.EUSERS):
		e.Hint = hintMax
	case e.Layer == layer.Namespaces && (errno == syscall.EPERM || errno == syscall.EACCES || errno == syscall.EINVAL):
		e.Hint = hintClone
	default:
		e.Hint = hintNone
	}
	return e
}
