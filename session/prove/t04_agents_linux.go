package prove

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// agents are the programs that hold keys for an account. Each variable says
// where one listens; its value is the socket's path, with more behind it for
// some.
var agents = []struct{ id, variable, behind string }{
	{"ssh agent", "SSH_AUTH_SOCK", ""},
	{"gpg agent", "GPG_AGENT_INFO", ":0:1"},
	{"secret service", "GNOME_KEYRING_CONTROL", ""},
}

// agentFolder is where they listen; the sockets are the run's own.
func agentFolder(id string) string { return "/tmp/fumehood-canary-" + id }

func agentSocket(id, name string) string {
	return filepath.Join(agentFolder(id), strings.ReplaceAll(name, " ", "-"))
}

// withAgents is an environment in which the run's own sockets stand for the
// account's agents, so that no attempt reaches a real one.
func withAgents(environ []string, id string) []string {
	out := slices.Clone(environ)
	for _, a := range agents {
		out = slices.DeleteFunc(out, func(v string) bool { return strings.HasPrefix(v, a.variable+"=") })
		out = append(out, a.variable+"="+agentSocket(id, a.id)+a.behind)
	}
	return out
}

// listening is one agent's socket.
type listening struct {
	id, path string
	fd       int
}

type agentSockets []*listening

func (e *env) listenAsAgents() (agentSockets, error) {
	if _, err := e.plant("/tmp"); err != nil {
		return nil, fmt.Errorf("listen as an agent: %w", err)
	}
	var all agentSockets
	for _, a := range agents {
		l := &listening{id: a.id, path: agentSocket(e.id, a.id), fd: -1}
		var err error
		if l.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
			all = append(all, l)
			err = unix.Bind(l.fd, &unix.SockaddrUnix{Name: l.path})
		}
		if err == nil {
			// What refuses has to be the wall and not the mode: root's sessions
			// run as another account.
			err = unix.Chmod(l.path, 0o777)
		}
		if err == nil {
			err = unix.Listen(l.fd, 16)
		}
		if err != nil {
			all.close()
			return nil, fmt.Errorf("listen as %s: %w", a.id, err)
		}
	}
	return all, nil
}

func (all agentSockets) close() {
	for _, l := range all {
		_ = unix.Close(l.fd)    // nobody is waited for
		_ = unix.Unlink(l.path) // the folder goes at the end in any case
	}
}

// arrived takes whatever has connected so far and gives what was said. The
// kernel keeps who connects until then.
func (l *listening) arrived() (connections int, said []byte, err error) {
	for {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return connections, said, nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return connections, said, fmt.Errorf("accept as %s: %w", l.id, err)
		}
		connections++
		var buf [512]byte
		if n, err := unix.Read(fd, buf[:]); err == nil && n > 0 {
			said = append(said, buf[:n]...)
		}
		_ = unix.Close(fd) // it has said what it could
	}
}

// reachable shows that the socket answers on the host, and forgets that it did.
func (l *listening) reachable() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: l.path})
	if err == nil {
		_, err = unix.Write(fd, []byte("host"))
	}
	_ = unix.Close(fd) // what was written stays
	if err != nil {
		return fmt.Errorf("reach the %s on the host: %w", l.id, err)
	}
	n, said, err := l.arrived()
	if err == nil && (n != 1 || string(said) != "host") {
		err = fmt.Errorf("the %s on the host took %d connections and %q, want one", l.id, n, said)
	}
	return err
}

func (all agentSockets) rows() []row {
	var out []row
	for _, l := range all {
		addr := append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), append([]byte(l.path), 0)...)
		out = append(out, row{
			id: l.id, tried: "ask the " + l.id + " at " + l.path, expected: "nothing arrives", host: true, control: "decoy",
			do: probe.Action{Steps: []probe.Step{
				{Call: "socket", Args: []string{fmt.Sprint(unix.AF_UNIX), fmt.Sprint(unix.SOCK_STREAM | unix.SOCK_CLOEXEC), "0"}, Save: "fd"},
				{Call: "connect", Args: []string{"$fd", "d:" + base64.StdEncoding.EncodeToString(addr), "len:1"}},
				{Call: "write", Args: []string{"$fd", "s:which keys", "10"}},
				{Call: "close", Args: []string{"$fd"}, Always: true},
			}},
			before: l.reachable,
			judge: func(s *seen) outcome {
				o := l.untouched(s)
				if s.traced {
					o = beside(refused("connect", append([]syscall.Errno{unix.ECONNREFUSED}, absent...)...)(s), o)
				}
				return o
			},
		})
	}
	return out
}

// untouched judges by the agent's own log.
func (l *listening) untouched(s *seen) outcome {
	n, said, err := l.arrived()
	switch {
	case err != nil:
		return errored(err.Error())
	case n > 0:
		return failed("it was asked", walls.Listener, fmt.Sprintf("%s: %d connections, %q", l.path, n, said))
	case s.said == nil || s.said.Err != "":
		return errored("it was not tried" + s.why())
	}
	return held("nothing arrived", walls.Listener, l.path+": no connection, after one of the host's own")
}
