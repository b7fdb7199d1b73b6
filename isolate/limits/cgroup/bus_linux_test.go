package cgroup

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// manager is a service manager that only talks.
type manager struct {
	at    endpoint
	tree  string
	greet string // what it answers to the greeting; "" is nothing, ever
	// scope answers StartTransientUnit.
	scope func(m message) [][]byte
	group string

	wg    sync.WaitGroup
	mu    sync.Mutex
	asked []message
}

// talks starts one, in a tree in which it has cpu, memory and pids.
func talks(t *testing.T, change func(*manager)) *manager {
	t.Helper()
	dir := t.TempDir()
	m := &manager{
		at: endpoint{path: filepath.Join(dir, "s")}, tree: filepath.Join(dir, "tree"), greet: "OK 0123\r\n", group: "/user",
		scope: func(m message) [][]byte {
			return [][]byte{answer{kind: kindReply, to: serialOf(m), signature: "o", body: texts("/job/1")}.encode()}
		},
	}
	fake(t, filepath.Join(m.tree, "user"), "cpu memory pids", "cpu memory pids", "")
	change(m)
	l, err := net.Listen("unix", m.at.path)
	if err != nil {
		t.Fatal(err)
	}
	m.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.wg.Go(func() { m.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		m.wg.Wait()
	})
	return m
}

// serialOf is where a caller's serial is in what serve keeps of a call.
func serialOf(m message) uint32 { return m.replyTo }

func (m *manager) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for range 2 { // who it is, and that it begins
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
	}
	if in.Buffered() > 0 {
		return // sd-bus would never answer a message that came with the greeting
	}
	if _, err := io.WriteString(c, m.greet); err != nil || m.greet == "" {
		_, _ = in.ReadByte() // until the other side gives up
		return
	}
	for {
		head := make([]byte, fixedHeader)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		rest, err := sizes(head)
		if err != nil {
			return
		}
		b := append(head, make([]byte, rest)...)
		if _, err := io.ReadFull(in, b[fixedHeader:]); err != nil {
			return
		}
		got, err := parseMessage(b)
		if err != nil {
			return
		}
		got.replyTo = got.order.Uint32(b[8:])
		m.mu.Lock()
		m.asked = append(m.asked, got)
		m.mu.Unlock()
		for _, b := range m.answers(got) {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
}

func (m *manager) answers(got message) [][]byte {
	switch got.member {
	case "Hello":
		return [][]byte{answer{kind: kindReply, to: serialOf(got), signature: "s", body: texts(":1.1")}.encode()}
	case "Get":
		var b marshal
		b.signature("s")
		b.text(m.group)
		return [][]byte{
			answer{kind: kindSignal, member: "UnitNew", signature: "so", body: texts("a", "/a")}.encode(),
			answer{kind: kindReply, to: serialOf(got), signature: "v", body: b.buf}.encode(),
		}
	case "StartTransientUnit":
		return m.scope(got)
	}
	return nil
}

func (m *manager) calls(member string) (out []message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.asked {
		if a.member == member {
			out = append(out, a)
		}
	}
	return out
}

func TestAManagerIsFoundAndWhyItIsNot(t *testing.T) {
	gone := endpoint{path: filepath.Join(t.TempDir(), "none")}
	plain := endpoint{path: filepath.Join(t.TempDir(), "file")}
	if err := os.WriteFile(plain.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		change func(*manager)
		why    string // "" is found
	}{
		{"private socket", func(*manager) {}, ""},
		{"bus", func(m *manager) { m.at.bus = true }, ""},
		{"never answers", func(m *manager) { m.greet = "" }, "timeout"},
		{"refuses the account", func(m *manager) { m.greet = "REJECTED EXTERNAL\r\n" }, "REJECTED"},
		{"greets without an end", func(m *manager) { m.greet = strings.Repeat("O", 5<<10) }, "buffer full"},
		{"speaks another language", func(m *manager) { m.greet = "OK 1\r\nHTTP/1.1 400 Bad Request\r\n\r\n" }, "no message"},
		{"oversize", func(m *manager) { m.greet = "OK 1\r\nl\x02\x01\x01\x00\x00\x00\x40\x01\x00\x00\x00\x00\x00\x00\x00" }, "at most 65536"},
		{"a reply where none was due", func(m *manager) {
			m.greet = "OK 1\r\n" + string(answer{kind: kindReply, to: 99, signature: "o", body: texts("/x")}.encode())
		}, "no message"},
		{"signals without an end", func(m *manager) {
			m.greet = "OK 1\r\n" + strings.Repeat(string(answer{kind: kindSignal, member: "X"}.encode()), maxOthers+1)
		}, "not among 256"},
		{"has no controllers", func(m *manager) { m.group = "/elsewhere" }, "look at its cgroup"},
		{"has a group that leads out", func(m *manager) { m.group = "/user/../user" }, "which is none"},
		{"was given too few controllers", func(m *manager) {
			fake(t, filepath.Join(m.tree, "user"), "cpu pids", "", "")
		}, "controller memory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := talks(t, row.change)
			from := time.Now()
			b, err := findBus([]endpoint{gone, m.at}, m.tree)
			if took := time.Since(from); took > 2*askFor {
				t.Errorf("it took %v, want %v at most", took, 2*askFor)
			}
			if row.why == "" {
				if err != nil || b.Dir != filepath.Join(m.tree, "user") || !b.CPU {
					t.Errorf("got %+v, %v, want the group /user with cpu", b, err)
				}
				if hello := len(m.calls("Hello")) == 1; hello != m.at.bus {
					t.Errorf("got greeted %v, want that on a bus alone", hello)
				}
				return
			}
			var none *NoBus
			if !errors.As(err, &none) || !strings.Contains(err.Error(), row.why) {
				t.Errorf("got %+v, %v, want none because of %q", b, err, row.why)
			}
		})
	}
	if _, err := findBus([]endpoint{gone}, "/"); err == nil || !strings.Contains(err.Error(), "has no service manager") {
		t.Errorf("without a socket: got %v, want that there is none", err)
	}
	if _, err := findBus([]endpoint{plain}, "/"); err == nil || !strings.Contains(err.Error(), "no socket of this account's") {
		t.Errorf("for a plain file: got %v, want it refused", err)
	}
}

func TestASocketOfAnotherAccountIsNotAsked(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("got root, whose sockets are its own; want an ordinary account")
	}
	const theirs = "/run/dbus/system_bus_socket"
	if _, err := os.Lstat(theirs); err != nil {
		t.Skipf("got %v, want a socket of root's", err)
	}
	if _, err := findBus([]endpoint{{path: theirs, bus: true}}, "/"); err == nil || !strings.Contains(err.Error(), "no socket of this account's") {
		t.Errorf("got %v, want it refused", err)
	}
}

func TestOnlyWhatTheKernelShowsCountsAsMoved(t *testing.T) {
	var job marshal
	job.num32(1)
	job.text("/job/1")
	ended := func(unit, result string) []byte {
		m := marshal{buf: append([]byte(nil), job.buf...)}
		m.text(unit)
		m.text(result)
		return answer{kind: kindSignal, member: "JobRemoved", signature: "uoss", body: m.buf}.encode()
	}
	taken := func(m message) []byte {
		return answer{kind: kindReply, to: serialOf(m), signature: "o", body: texts("/job/1")}.encode()
	}
	unitOf := func(m message) string {
		u := unmarshal{buf: m.body, order: m.order}
		return u.text()
	}
	for _, row := range []struct {
		name    string
		scope   func(m message) [][]byte
		refused bool
		why     string
	}{
		{"says that it did and did not", func(m message) [][]byte { return [][]byte{taken(m), ended(unitOf(m), "done")} }, false, "after 2s"},
		{"says nothing more", func(m message) [][]byte { return [][]byte{taken(m)} }, false, "after 2s"},
		{"never answers", func(message) [][]byte { return nil }, false, "timeout"},
		{"answers with another type", func(m message) [][]byte {
			return [][]byte{answer{kind: kindReply, to: serialOf(m), signature: "s", body: texts("/job/1")}.encode()}
		}, false, "an answer of type"},
		{"says no", func(m message) [][]byte {
			return [][]byte{answer{kind: kindError, to: serialOf(m), errorName: "org.freedesktop.systemd1.NoSuch", signature: "s", body: texts("no \x1b[2J")}.encode()}
		}, true, `no \x1b[2J`},
		{"its job fails", func(m message) [][]byte {
			return [][]byte{taken(m), ended("other.scope", "done"), ended(unitOf(m), "failed")}
		}, true, "failed"},
		{"its job fails before the answer", func(m message) [][]byte { return [][]byte{ended(unitOf(m), "failed"), taken(m)} }, true, "failed"},
		{"hangs up", func(m message) [][]byte { return [][]byte{taken(m), []byte("l\x04")[:1]} }, false, "scope"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := talks(t, func(m *manager) { m.scope = row.scope })
			b, err := findBus([]endpoint{m.at}, m.tree)
			if err != nil {
				t.Fatal(err)
			}
			place, g, err := b.Adopt("abc", Limits{Memory: 1 << 20}, os.Getpid(), os.Getppid())
			if err == nil || errors.Is(err, ErrRefused) != row.refused || !strings.Contains(err.Error(), row.why) {
				t.Errorf("got %v, %v, %v, want refused %v because of %q", place, g, err, row.refused, row.why)
			}
			calls := m.calls("StartTransientUnit")
			if len(calls) != 1 || calls[0].signature != scopeSignature {
				t.Errorf("got %d calls %+v, want one", len(calls), calls)
			}
			if left, err := filepath.Glob(filepath.Join(m.tree, "user", Prefix+"*")); err != nil || len(left) > 0 {
				t.Errorf("got %v, %v made in the tree, want nothing", left, err)
			}
		})
	}
}

func TestAManagerThatWentAwayRefuses(t *testing.T) {
	b := &Bus{Dir: "/x", Socket: filepath.Join(t.TempDir(), "gone"), Tree: "/"}
	if _, _, err := b.Adopt("abc", Limits{}, os.Getpid()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want it refused: nothing was asked for", err)
	}
	if _, _, err := b.Adopt("a/../b", Limits{}, os.Getpid()); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want a name that no unit has stopped", err)
	}
}

// TestARealBusTakesTheMessages sends them through the reference implementation,
// which checks each against its signature and hangs up on one that is wrong.
func TestARealBusTakesTheMessages(t *testing.T) {
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skipf("got %v, want dbus-daemon", err)
	}
	at := endpoint{path: filepath.Join(t.TempDir(), "bus"), bus: true}
	cmd := exec.Command(daemon, "--session", "--nofork", "--print-address", "--address=unix:path="+at.path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("got %q, %v, want its address", line, err)
	}
	c, err := at.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	_, err = c.call(call{
		dest: "test.nobody", path: unitsPath, iface: unitsInterface, member: "StartTransientUnit",
		signature: scopeSignature, body: scopeBody("fumehood-abc-1.scope", scopeProperties("abc", []int{1, 2, 3})),
	}, "o")
	var no *refusal
	if !errors.As(err, &no) || no.name != "org.freedesktop.DBus.Error.ServiceUnknown" {
		t.Errorf("got %v, want the bus to know nobody of that name", err)
	}
	var m marshal
	m.text("org.freedesktop.DBus")
	m.text("NoSuchProperty")
	_, err = c.call(call{dest: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", iface: propsInterface, member: "Get", signature: "ss", body: m.buf}, "v")
	if !errors.As(err, &no) {
		t.Errorf("got %v, want a refusal", err)
	}
	// What is wrong is noticed: the same call with the types of another.
	_, err = c.call(call{dest: "test.nobody", path: unitsPath, iface: unitsInterface, member: "X", signature: "ssa(sv)", body: texts("a")}, "o")
	if err == nil || errors.As(err, &no) {
		t.Errorf("got %v for a wrong body, want the bus to hang up", err)
	}
}

// TestARealManagerMovesAProcess needs systemd --user, and an account that has
// no part of the tree.
func TestARealManagerMovesAProcess(t *testing.T) {
	b, err := FindBus()
	if err != nil {
		t.Skipf("got no service manager (%v), want systemd --user", err)
	}
	child := exec.Command("/bin/sleep", "60")
	anchor := exec.Command("/bin/sleep", "60")
	for _, c := range []*exec.Cmd{child, anchor} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	}
	place, g, err := b.Adopt("abc", Limits{Memory: 64 << 20, Processes: 7, CPUs: 1}, child.Process.Pid, anchor.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	path, all, err := g.Settings(child.Process.Pid)
	if err != nil || len(all) < 4 {
		t.Errorf("got %v in %s, %v, want every limit", all, path, err)
	}
	for _, s := range all {
		if s.Got != s.Want {
			t.Errorf("got %s %s, want %s", s.Name, s.Got, s.Want)
		}
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if err := anchor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = anchor.Wait() // it was killed
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(place.Dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got the scope %s left, want it gone with its last process", place.Dir)
		}
	}
}
