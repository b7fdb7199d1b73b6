package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type message struct {
	Text string `json:"text"`
}

func pair(t *testing.T, limit int) (a, b *Conn) {
	t.Helper()
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = New(x, "a", limit); err != nil {
		t.Fatal(err)
	}
	if b, err = New(y, "b", limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestMessagesWithDescriptors(t *testing.T) {
	a, b := pair(t, 8<<20)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	big := message{Text: strings.Repeat("x", 3<<20)} // larger than the socket's buffer
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(a.Send(message{Text: "first"}), a.Send(big, int(w.Fd()), int(r.Fd())), a.Send(message{Text: "last"}))
	}()
	for i, want := range []struct {
		text string
		fds  int
	}{{"first", 0}, {big.Text, 2}, {"last", 0}} {
		var got message
		fds, err := b.Recv(&got)
		if err != nil || got.Text != want.text || len(fds) != want.fds {
			t.Fatalf("message %d: got %d bytes, %d descriptors, %v; want %d, %d", i, len(got.Text), len(fds), err, len(want.text), want.fds)
		}
		for _, fd := range fds {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d is not close-on-exec: %v", fd, err)
			}
			unix.Close(fd)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	w.Close() // until here it is in use by its number
	a.Close()
	if _, err := b.Recv(&message{}); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
	if err := b.Send(message{}); err == nil {
		t.Error("a send to nobody is no error")
	}
}

func TestHostileBytes(t *testing.T) {
	frame := func(size uint32, body string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, size), body...)
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"too long", frame(101, ""), "at most 100"},
		{"far too long", frame(1<<32-1, ""), "at most 100"},
		{"cut in the length", []byte{0, 0}, "unexpected EOF"},
		{"cut in the body", frame(50, "{"), "unexpected EOF"},
		{"not JSON", frame(3, "abc"), "decode"},
		{"unknown field", frame(9, `{"odd":1}`), "unknown field"},
		{"empty", frame(0, ""), "decode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := pair(t, 100)
			if _, err := a.file.Write(tt.data); err != nil {
				t.Fatal(err)
			}
			a.Close()
			_, err := b.Recv(&message{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// More descriptors than are taken must not stay open here.
func TestTooManyDescriptors(t *testing.T) {
	a, b := pair(t, 100)
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := a.Send(message{}, int(f.Fd()), int(f.Fd()), int(f.Fd()), int(f.Fd())); err == nil {
		t.Error("four descriptors were sent")
	}
	before := open(t)
	var fds []int
	for range 50 {
		fds = append(fds, int(f.Fd()))
	}
	err = a.raw.Write(func(fd uintptr) bool {
		_, err := unix.SendmsgN(int(fd), []byte{0, 0, 0, 2, '{', '}'}, unix.UnixRights(fds...), nil, 0)
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Recv(&message{}); err == nil || !strings.Contains(err.Error(), "descriptors") {
		t.Errorf("got %v, want too many descriptors", err)
	}
	if got := open(t); got != before {
		t.Errorf("got %d descriptors, want %d as before", got, before)
	}
}

func open(t *testing.T) int {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func TestDeadlineAndCloseEndARecv(t *testing.T) {
	a, _ := pair(t, 100)
	if err := a.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recv(&message{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	if err := a.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { _, err := a.Recv(&message{}); got <- err }()
	a.Close()
	if err := <-got; err == nil {
		t.Error("got nil from a closed socket")
	}
}

func FuzzRecv(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0c{\"text\":\"x\"}"))
	f.Add([]byte("\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		x, y, err := Pair()
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(x, "a", 1000)
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(y, "b", 1000)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := a.file.Write(data); err != nil {
			t.Fatal(err)
		}
		a.Close()
		for {
			if _, err := b.Recv(&message{}); err != nil {
				return
			}
		}
	})
}
