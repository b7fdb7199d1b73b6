package cgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The D-Bus messages that are needed to ask a service manager for a scope: one
// method call out, a reply, an error or a signal back. The wire form is that of
// the D-Bus specification, version 1, little endian.

// The kinds of messages.
const (
	kindCall   = 1
	kindReply  = 2
	kindError  = 3
	kindSignal = 4
)

// The header fields that are read or written, by their numbers.
const (
	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldErrorName   = 4
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSignature   = 8
)

const (
	fixedHeader = 16 // with the length of the array of fields
	// maxMessage bounds what a manager may answer, in bytes. Each answer that is
	// understood here takes a few hundred.
	maxMessage = 64 << 10
)

// call is a method call.
type call struct {
	serial                               uint32
	dest, path, iface, member, signature string
	body                                 []byte
}

// encode is the call as it goes over the socket.
func (c call) encode() []byte {
	var f marshal
	for _, h := range []struct {
		field      byte
		kind, text string
	}{
		{fieldPath, "o", c.path},
		{fieldInterface, "s", c.iface},
		{fieldMember, "s", c.member},
		{fieldDestination, "s", c.dest},
		{fieldSignature, "g", c.signature},
	} {
		if h.text == "" {
			continue // a signature without arguments
		}
		f.align(8)
		f.raw(h.field)
		f.signature(h.kind)
		if h.kind == "g" {
			f.signature(h.text)
			continue
		}
		f.text(h.text)
	}
	var m marshal
	m.raw('l', kindCall, 0, 1)
	m.num32(uint32(len(c.body)))
	m.num32(c.serial)
	m.num32(uint32(len(f.buf)))
	m.raw(f.buf...)
	m.align(8)
	return append(m.buf, c.body...)
}

// property is one of a unit's, as StartTransientUnit takes it.
type property struct {
	name, kind string
	value      any // string, bool, uint64 or []uint32, as kind says
}

// scopeBody is the arguments of StartTransientUnit, and scopeSignature their
// types: name, mode, properties, and no further units.
func scopeBody(unit string, properties []property) []byte {
	var m marshal
	m.text(unit)
	m.text("fail") // never in place of a unit of that name
	m.array(8, func() {
		for _, p := range properties {
			m.align(8)
			m.text(p.name)
			m.signature(p.kind)
			m.value(p.value)
		}
	})
	m.array(8, func() {})
	return m.buf
}

const scopeSignature = "ssa(sv)a(sa(sv))"

// marshal writes values, each at its own alignment from the start of a body.
type marshal struct{ buf []byte }

func (m *marshal) raw(b ...byte) { m.buf = append(m.buf, b...) }

func (m *marshal) align(n int) {
	for len(m.buf)%n != 0 {
		m.buf = append(m.buf, 0)
	}
}

func (m *marshal) num32(n uint32) {
	m.align(4)
	m.buf = binary.LittleEndian.AppendUint32(m.buf, n)
}

func (m *marshal) text(s string) {
	m.num32(uint32(len(s)))
	m.buf = append(append(m.buf, s...), 0)
}

func (m *marshal) signature(s string) {
	m.buf = append(append(append(m.buf, byte(len(s))), s...), 0)
}

// array has its length in front, without the padding up to its first element.
func (m *marshal) array(align int, elements func()) {
	m.num32(0)
	at := len(m.buf) - 4
	m.align(align)
	from := len(m.buf)
	elements()
	binary.LittleEndian.PutUint32(m.buf[at:], uint32(len(m.buf)-from))
}

func (m *marshal) value(v any) {
	switch v := v.(type) {
	case string:
		m.text(v)
	case bool:
		var n uint32
		if v {
			n = 1
		}
		m.num32(n)
	case uint64:
		m.align(8)
		m.buf = binary.LittleEndian.AppendUint64(m.buf, v)
	case []uint32:
		m.array(4, func() {
			for _, n := range v {
				m.num32(n)
			}
		})
	}
}

// message is what came back.
type message struct {
	kind                         byte
	replyTo                      uint32
	member, errorName, signature string
	order                        binary.ByteOrder
	body                         []byte
}

var errMessage = errors.New("no message as D-Bus has them")

// sizes reads the fixed part of a header: how many bytes follow it.
func sizes(head []byte) (int, error) {
	order, err := orderOf(head)
	if err != nil {
		return 0, err
	}
	body, fields := uint64(order.Uint32(head[4:])), uint64(order.Uint32(head[12:]))
	if body > maxMessage || fields > maxMessage {
		return 0, fmt.Errorf("message of %d bytes, at most %d", body+fields, maxMessage)
	}
	return int((fields+7)/8*8 + body), nil // the fixed part has a multiple of 8 itself
}

func orderOf(head []byte) (binary.ByteOrder, error) {
	if len(head) < fixedHeader || head[3] != 1 {
		return nil, errMessage
	}
	switch head[0] {
	case 'l':
		return binary.LittleEndian, nil
	case 'B':
		return binary.BigEndian, nil
	}
	return nil, errMessage
}

// parseMessage reads a whole message. Fields that are not needed are read over;
// one of a type that no field has is an error.
func parseMessage(b []byte) (message, error) {
	order, err := orderOf(b)
	if err != nil {
		return message{}, err
	}
	rest, err := sizes(b)
	if err != nil {
		return message{}, err
	}
	if len(b) != fixedHeader+rest {
		return message{}, errMessage
	}
	m := message{kind: b[1], order: order}
	end := fixedHeader + int(order.Uint32(b[12:]))
	u := unmarshal{buf: b[:end], at: fixedHeader, order: order}
	for u.err == nil && u.at < end {
		u.align(8)
		field, kind := u.byte(), u.signature()
		switch kind {
		case "u":
			if n := u.num32(); field == fieldReplySerial {
				m.replyTo = n
			}
		case "s", "o":
			m.take(field, u.text())
		case "g":
			if s := u.signature(); field == fieldSignature {
				m.signature = s
			}
		default:
			u.fail()
		}
	}
	if u.err != nil {
		return message{}, u.err
	}
	m.body = b[(end+7)/8*8:]
	return m, nil
}

func (m *message) take(field byte, s string) {
	switch field {
	case fieldMember:
		m.member = s
	case fieldErrorName:
		m.errorName = s
	}
}

// texts reads the body's arguments that are texts or numbers, in order, when
// it has exactly the signature; a variant is one text.
func (m message) texts(signature string) ([]string, error) {
	if m.signature != signature {
		return nil, fmt.Errorf("an answer of type %.20q, want %q", m.signature, signature)
	}
	u := unmarshal{buf: m.body, order: m.order}
	var out []string
	for _, kind := range signature {
		switch kind {
		case 'v':
			if u.signature() != "s" {
				u.fail()
			}
			out = append(out, u.text())
		case 's', 'o':
			out = append(out, u.text())
		case 'u':
			out = append(out, fmt.Sprint(u.num32()))
		default:
			u.fail()
		}
	}
	return out, u.err
}

// unmarshal reads values; after its first error it gives zero values.
type unmarshal struct {
	buf   []byte
	at    int
	order binary.ByteOrder
	err   error
}

func (u *unmarshal) fail() {
	if u.err == nil {
		u.err = errMessage
	}
}

// next is the following n bytes.
func (u *unmarshal) next(n int) []byte {
	if u.err != nil || n < 0 || n > len(u.buf)-u.at {
		u.fail()
		return nil
	}
	b := u.buf[u.at : u.at+n]
	u.at += n
	return b
}

func (u *unmarshal) align(n int) { u.next((n - u.at%n) % n) }

func (u *unmarshal) byte() byte {
	if b := u.next(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unmarshal) num32() uint32 {
	u.align(4)
	if b := u.next(4); b != nil {
		return u.order.Uint32(b)
	}
	return 0
}

func (u *unmarshal) text() string { return u.ended(int(min(u.num32(), maxMessage))) }

func (u *unmarshal) signature() string { return u.ended(int(u.byte())) }

// ended is n bytes of text and the zero behind them.
func (u *unmarshal) ended(n int) string {
	b := u.next(n + 1)
	if b == nil || b[n] != 0 || strings.IndexByte(string(b[:n]), 0) >= 0 {
		u.fail()
		return ""
	}
	return string(b[:n])
}
