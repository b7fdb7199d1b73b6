package policy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithEntryAddsOneAndLeavesThePolicy(t *testing.T) {
	p := parsed(t, anEntry+aCred)
	before := Encode(p)
	more := Allow{Destination: "b.example.test:443", Operations: []string{"GET /x"}, Account: "none", Query: "any"}
	got, err := WithEntry(p, more)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Network.Allow) != 2 || entryText(got.Network.Allow[1]) != "b.example.test:443: GET /x" {
		t.Errorf("got %s, want the entry at the end", entriesText(got))
	}
	got.Network.Allow[0].Operations[0], got.Network.Allow[1].Operations[0] = "changed", "changed"
	if !bytes.Equal(before, Encode(p)) || more.Operations[0] != "GET /x" {
		t.Error("the policy or the entry was changed")
	}
	for name, bad := range map[string]Allow{
		"no port":         {Destination: "b.example.test", Operations: []string{"GET /x"}},
		"unknown account": {Destination: "b.example.test:443", Operations: []string{"GET /x"}, Account: "writer"},
		"a second tunnel": {Destination: "a.example.test:443", Operations: []string{"CONNECT"}},
	} {
		if p, err := WithEntry(p, bad); err == nil || p != nil {
			t.Errorf("%s: got %v, %v, want a fault", name, p, err)
		}
	}
}

func TestEncodeEntryReadsBack(t *testing.T) {
	for seed := range uint64(200) {
		r := newDice(seed)
		a := blankAllow()
		a.Destination, a.Operations = "a.example.test:443", []string{"GET /a", `PUT /"q"`}
		for _, change := range []func(){
			func() { a.Query = "none" }, func() { a.Account = "x" }, func() { a.Upgrade = true }, func() { a.MaxUpload = 3 << 20 },
			func() { a.PerMinute = 7 }, func() { a.Addresses = []string{"10.0.0.0/8"} }, func() { a.ReturnsSecret = true },
		} {
			if r.IntN(2) == 0 {
				change()
			}
		}
		got, err := Parse("p", []byte(EncodeEntry(a)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Allow{a}, got.Network.Allow); diff != "" {
			t.Fatalf("(-want +got)\n%s\n%s", diff, EncodeEntry(a))
		}
	}
	a := blankAllow()
	a.Destination, a.Operations = "a.example.test:443", []string{"GET /**"}
	if got, want := EncodeEntry(a), "[[network.allow]]\ndestination = \"a.example.test:443\"\noperations = [\"GET /**\"]\n"; got != want {
		t.Errorf("got %s, want only what is said: %s", got, want)
	}
}

func TestAppendEntryKeepsTheRest(t *testing.T) {
	more := blankAllow()
	more.Destination, more.Operations = "b.example.test:443", []string{"GET /x"}
	for name, src := range map[string]string{
		"a file with entries":  "# mine\ntool = \"x\"   # odd   spacing\n" + anEntry + aCred,
		"no newline at end":    "tool = \"x\"",
		"the template":         string(Template()),
		"a table at the end":   "[limits]\ncpus = 2",
		"CRLF":                 "tool = \"x\"\r\n[limits]\r\ncpus = 2\r\n",
		"a comment at the end": "tool = \"x\"\n# end",
	} {
		got, err := AppendEntry([]byte(src), more)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.HasPrefix(got, []byte(src)) {
			t.Errorf("%s: the file's own bytes changed:\n%s", name, got)
		}
		p, err := CheckFile("p", got)
		if err != nil || entryText(p.Network.Allow[len(p.Network.Allow)-1]) != "b.example.test:443: GET /x" {
			t.Errorf("%s: got %v, %v, want the entry last", name, p, err)
		}
	}
	for name, src := range map[string]string{
		"a list in brackets": "[network]\nallow = [{destination = \"a.example.test:443\", operations = [\"GET /**\"]}]\n",
		"a broken file":      "tol = 1\n",
		"the same entry":     EncodeEntry(more),
		"an empty file":      "",
	} {
		if got, err := AppendEntry([]byte(src), more); err == nil || got != nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
	if _, err := AppendEntry([]byte(strings.Repeat("#\n", maxFile/2)+"tool = \"x\""), more); err == nil {
		t.Error("a file over the limit was made")
	}
}
