package egress

import (
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

func query(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLookupsAreAnsweredAtOnceAndWrittenDown(t *testing.T) {
	w := newWorld(t).start()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { w.proxy.ServeNames(c); close(ended) }()
	ask, err := net.Dial("udp", c.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ask.Close()
	for _, q := range []struct {
		name string
		kind dnsmessage.Type
	}{{"Db.Example.Test.", dnsmessage.TypeA}, {"db.example.test.", dnsmessage.TypeAAAA}, {"other.test.", dnsmessage.TypeA}} {
		if _, err := ask.Write(query(t, q.name, q.kind)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 512)
		_ = ask.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := ask.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(b[:n]); err != nil || m.RCode != dnsmessage.RCodeNameError || m.ID != 7 || len(m.Questions) != 1 {
			t.Errorf("got %+v, %v, want no such name", m, err)
		}
	}
	w.proxy.Close()
	<-ended
	said := w.attempts(func(a []record.Attempt) bool { return len(a) >= 2 })
	if len(said) != 2 || said[0].Host != "db.example.test" || said[1].Host != "other.test" || said[0].Reason != string(rule.NameLookup) {
		t.Errorf("got %+v, want one line for each name", said)
	}
}

func FuzzNoSuchName(f *testing.F) {
	f.Add(query(f, "a.test.", dnsmessage.TypeA))
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		reply, name, ok := noSuchName(b)
		if !ok {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || !m.Response || m.RCode != dnsmessage.RCodeNameError || len(m.Answers) != 0 {
			t.Errorf("got %+v, %v for %q, want an answer with nothing in it", m, err, b)
		}
		if len(reply) > len(b)+8 || len(name) > 255 || strings.HasSuffix(name, "..") {
			t.Errorf("got %d bytes and %q for %d, want no more than was asked", len(reply), name, len(b))
		}
	})
}
