package cgroup

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// answer is a message as a manager sends it.
type answer struct {
	kind                         byte
	to                           uint32
	member, errorName, signature string
	body                         []byte
}

func (a answer) encode() []byte {
	var f marshal
	field := func(n byte, kind string, write func()) {
		f.align(8)
		f.raw(n)
		f.signature(kind)
		write()
	}
	if a.to != 0 {
		field(fieldReplySerial, "u", func() { f.num32(a.to) })
	}
	if a.member != "" {
		field(fieldMember, "s", func() { f.text(a.member) })
		field(fieldPath, "o", func() { f.text("/org/freedesktop/systemd1") })
	}
	if a.errorName != "" {
		field(fieldErrorName, "s", func() { f.text(a.errorName) })
	}
	if a.signature != "" {
		field(fieldSignature, "g", func() { f.signature(a.signature) })
	}
	var m marshal
	m.raw('l', a.kind, 0, 1)
	m.num32(uint32(len(a.body)))
	m.num32(7)
	m.num32(uint32(len(f.buf)))
	m.raw(f.buf...)
	m.align(8)
	return append(m.buf, a.body...)
}

// texts is a body of texts, each of type s or o.
func texts(all ...string) []byte {
	var m marshal
	for _, s := range all {
		m.text(s)
	}
	return m.buf
}

func TestACallIsEncodedAsTheSpecificationHasIt(t *testing.T) {
	got := call{serial: 1, dest: "a.b", path: "/p", iface: "i.j", member: "M", signature: "s", body: texts("x")}.encode()
	want := "l\x01\x00\x01" + "\x06\x00\x00\x00" + "\x01\x00\x00\x00" + "\x47\x00\x00\x00" +
		"\x01\x01o\x00" + "\x02\x00\x00\x00/p\x00" + "\x00\x00\x00\x00\x00" +
		"\x02\x01s\x00" + "\x03\x00\x00\x00i.j\x00" + "\x00\x00\x00\x00" +
		"\x03\x01s\x00" + "\x01\x00\x00\x00M\x00" + "\x00\x00\x00\x00\x00\x00" +
		"\x06\x01s\x00" + "\x03\x00\x00\x00a.b\x00" + "\x00\x00\x00\x00" +
		"\x08\x01g\x00" + "\x01s\x00" + "\x00" +
		"\x01\x00\x00\x00x\x00"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// asked reads the arguments of StartTransientUnit: unit, mode, and each
// property as "type=value".
func asked(t *testing.T, m message) (unit, mode string, properties map[string]string) {
	t.Helper()
	u := unmarshal{buf: m.body, order: m.order}
	unit, mode, properties = u.text(), u.text(), map[string]string{}
	size := int(u.num32())
	u.align(8)
	for end := u.at + size; u.at < end && u.err == nil; {
		u.align(8)
		name, kind := u.text(), u.signature()
		var v string
		switch kind {
		case "s":
			v = u.text()
		case "b":
			v = fmt.Sprint(u.num32())
		case "t":
			u.align(8)
			if b := u.next(8); b != nil {
				v = fmt.Sprint(u.order.Uint64(b))
			}
		case "au":
			n := int(u.num32())
			for end := u.at + n; u.at < end && u.err == nil; {
				v += fmt.Sprint(u.num32()) + " "
			}
		default:
			t.Fatalf("got a property of type %q", kind)
		}
		properties[name] = kind + "=" + v
	}
	more := u.num32()
	u.align(8)
	if u.err != nil || more != 0 || u.at != len(m.body) {
		t.Errorf("got %v and %d bytes of further units at %d of %d, want the end", u.err, more, u.at, len(m.body))
	}
	return unit, mode, properties
}

func TestAScopeIsAskedForWithTheTypesThatTheManagerWants(t *testing.T) {
	c := call{
		serial: 2, dest: unitsName, path: unitsPath, iface: unitsInterface, member: "StartTransientUnit",
		signature: scopeSignature, body: scopeBody("fumehood-abc-9.scope", scopeProperties("abc", []int{9, 70000})),
	}
	m, err := parseMessage(c.encode())
	if err != nil {
		t.Fatal(err)
	}
	unit, mode, got := asked(t, m)
	want := map[string]string{
		"Description": "s=fumehood session abc", "Delegate": "b=1", "CollectMode": "s=inactive-or-failed",
		"TasksMax": "t=18446744073709551615", "PIDs": "au=9 70000 ",
	}
	if unit != "fumehood-abc-9.scope" || mode != "fail" || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %s %s\n%v, want\n%v", unit, mode, got, want)
	}
}

func TestAnAnswerIsReadInEitherByteOrder(t *testing.T) {
	// A reply to call 3 with the text "hi", as a big-endian bus would send it.
	const big = "B\x02\x01\x01" + "\x00\x00\x00\x07" + "\x00\x00\x00\x01" + "\x00\x00\x00\x0f" +
		"\x05\x01u\x00" + "\x00\x00\x00\x03" + "\x08\x01g\x00" + "\x01s\x00" + "\x00" +
		"\x00\x00\x00\x02hi\x00"
	for _, row := range []struct {
		name string
		b    []byte
	}{
		{"big", []byte(big)},
		{"little", answer{kind: kindReply, to: 3, signature: "s", body: texts("hi")}.encode()},
	} {
		m, err := parseMessage(row.b)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		got, err := m.texts("s")
		if err != nil || m.replyTo != 3 || m.kind != kindReply || len(got) != 1 || got[0] != "hi" {
			t.Errorf("%s: got %+v, %q, %v", row.name, m, got, err)
		}
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	good := answer{kind: kindReply, to: 3, signature: "s", body: texts("hi")}.encode()
	with := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	for _, row := range []struct {
		name string
		b    []byte
	}{
		{"empty", nil},
		{"other order", with(0, 'x')},
		{"other version", with(3, 2)},
		{"body too long", with(4, 0, 0, 2, 0)},
		{"fields too long", with(12, 0, 0, 2, 0)},
		{"body of 4 GiB", with(4, 0xff, 0xff, 0xff, 0xff)},
		{"cut", good[:len(good)-1]},
		{"longer", append(bytes.Clone(good), 0)},
		{"a field of a type that none has", with(17, 1, 'd', 0)},
		{"a signature without its end", with(17, 200)},
		{"fields that end in the middle", with(12, 14)},
	} {
		if m, err := parseMessage(row.b); err == nil {
			t.Errorf("%s: got %+v, want an error", row.name, m)
		}
	}
	m, err := parseMessage(good)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.texts("o"); err == nil {
		t.Errorf("got %q of another type, want an error", got)
	}
	for name, body := range map[string][]byte{"cut": texts("hi")[:5], "long": {0xff, 0xff, 0, 0, 'h'}, "zero inside": texts("h\x00i")} {
		m.body = body
		if got, err := m.texts("s"); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(answer{kind: kindReply, to: 3, signature: "v", body: []byte("\x01s\x00\x00\x01\x00\x00\x00/\x00")}.encode())
	f.Add(answer{kind: kindSignal, member: "JobRemoved", signature: "uoss", body: append([]byte{1, 0, 0, 0}, texts("/j", "u.scope", "failed")...)}.encode())
	f.Add(answer{kind: kindError, to: 2, errorName: "a.b", signature: "s", body: texts("no")}.encode())
	f.Add([]byte("B\x02\x01\x01" + strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, sizeErr := sizes(b)
		m, err := parseMessage(b)
		if err == nil && (sizeErr != nil || n != len(b)-fixedHeader) {
			t.Errorf("got a message of %d bytes where %d, %v follow the header", len(b), n, sizeErr)
		}
		if sizeErr == nil && n > 2*maxMessage+8 {
			t.Errorf("got room for %d bytes asked, want %d at most", n, 2*maxMessage+8)
		}
		if err != nil {
			return
		}
		for _, signature := range []string{"s", "o", "v", "uoss"} {
			got, err := m.texts(signature)
			if err == nil && len(got) != len(signature) {
				t.Errorf("got %d arguments of type %q", len(got), signature)
			}
			for _, s := range got {
				if len(s) > len(b) {
					t.Errorf("got a text of %d bytes from %d", len(s), len(b))
				}
			}
		}
	})
}
