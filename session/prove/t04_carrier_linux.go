package prove

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"fumehood/isolate/walls/probe"
)

// holder is a process on the host that holds the made-up credential in its
// environment, its command line and its memory, as a program of the account's
// would. Its working folder is that of the canaries.
type holder struct {
	pid int
	cmd *exec.Cmd
	in  io.Closer
}

// startCarrier starts one; it ends by stop, and with this process at the latest,
// since its standard input ends then.
func (e *env) startCarrier(ctx context.Context) (*holder, error) {
	dir, err := e.plant(e.dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe")
	cmd.Args = []string{probe.Name + "-" + e.id + "-carrier", probe.Carrier, e.secret}
	cmd.Dir, cmd.Env = dir, append(append([]string(nil), e.host.Env...), secretName+"="+e.secret)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process that holds the credential: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process that holds the credential: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process that holds the credential: %w", err)
	}
	h := &holder{pid: cmd.Process.Pid, cmd: cmd, in: in}
	if f, ok := out.(*os.File); ok {
		_ = f.SetReadDeadline(time.Now().Add(5 * time.Second)) // a pipe takes one
	}
	if word, err := bufio.NewReader(out).ReadString('\n'); err != nil || word != "ready\n" {
		h.stop()
		return nil, errors.Join(fmt.Errorf("the process that holds the credential said %q", word), err)
	}
	return h, nil
}

// stop ends it and waits until it is gone.
func (h *holder) stop() {
	_ = h.in.Close()
	done := time.AfterFunc(2*time.Second, func() { _ = h.cmd.Process.Kill() }) // gone already, as a rule
	defer done.Stop()
	_ = h.cmd.Wait() // its status says nothing
}
