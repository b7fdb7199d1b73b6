package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
	"fumehood/session/workspace"
)

// clean takes away what a sandbox without walls has left on the host.
func (n *leavings) clean(ctx context.Context) error {
	var all []error
	whos := []string{"one", "two", "own-beside", "own-back", "own-next"}
	for _, who := range whos {
		all = append(all, n.cleanOne(who))
	}
	all = append(all, n.unlink(ctx, whos))
	for _, p := range n.places {
		if p.host != "" {
			all = append(all, workspace.Remove(p.host))
		}
	}
	return errors.Join(all...)
}

func (n *leavings) cleanOne(who string) error {
	var all []error
	if pid := n.stayed(who); pid != 0 {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			all = append(all, fmt.Errorf("end the process that was left: %w", err))
		}
	}
	key := int(n.key(who))
	if id, err := unix.SysvShmGet(key, 0, 0); err == nil {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		all = append(all, err)
	}
	for _, f := range []struct{ get, ctl uintptr }{{unix.SYS_SEMGET, unix.SYS_SEMCTL}, {unix.SYS_MSGGET, unix.SYS_MSGCTL}} {
		id, _, e := unix.Syscall(f.get, uintptr(key), 0, 0)
		if e != 0 {
			continue
		}
		args := [3]uintptr{0, unix.IPC_RMID, 0}
		if f.ctl == unix.SYS_MSGCTL {
			args = [3]uintptr{unix.IPC_RMID, 0, 0}
		}
		if _, _, e := unix.Syscall6(f.ctl, id, args[0], args[1], args[2], 0, 0); e != 0 {
			all = append(all, fmt.Errorf("remove a System V object: %w", e))
		}
	}
	return errors.Join(all...)
}

// unlink takes away queues and keys, which only a probe outside can: the calls take text.
func (n *leavings) unlink(ctx context.Context, whos []string) error {
	var job probe.Job
	for i, who := range whos {
		name := "s:" + n.name(who)
		job.Actions = append(job.Actions,
			probe.Action{Seq: 2 * i, Steps: []probe.Step{{Call: "mq_unlink", Args: []string{name}}}},
			probe.Action{Seq: 2*i + 1, Steps: []probe.Step{
				{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_SEARCH), userKeyring, "s:user", name, "0"}, Save: "key"},
				{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_UNLINK), "$key", userKeyring}},
			}})
	}
	// An interrupted run has to clean up all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := n.e.outside(ctx, job, os.Getuid())
	return err
}
