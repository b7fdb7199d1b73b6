package stage

import (
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/seccomp"
	"fumehood/isolate/seccomp/load"
)

// compileFilter gives nil when the filter itself is left out.
func compileFilter(p *plan.Plan) (*load.Filter, error) {
	compile, table := seccomp.Compile, seccomp.Table()
	switch {
	case p.Omit == plan.Filter:
		return nil, nil
	case p.Omit == plan.ForeignABIs:
		compile = seccomp.CompileForeign
	case p.Omit == plan.FilterGroup:
		table = seccomp.TableWithout(seccomp.Group(p.Group))
	}
	raw, err := compile(seccomp.Native(), table)
	if err != nil {
		return nil, at(layer.Seccomp, "compile", err)
	}
	return load.Of(raw), nil
}

// filterThread puts the filter in force on the calling thread alone.
func filterThread(f *load.Filter) error {
	if f == nil {
		return nil
	}
	return wrap(layer.Seccomp, "set_mode_filter", f.Thread())
}

// filterAllThreads puts the filter in force on every thread of this process,
// and no_new_privs with it.
func filterAllThreads(f *load.Filter) error {
	if f == nil {
		_, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
		return wrap(layer.Identity, "prctl PR_SET_NO_NEW_PRIVS on all threads", errno(e))
	}
	return wrap(layer.Seccomp, "set_mode_filter on all threads", f.AllThreads())
}
