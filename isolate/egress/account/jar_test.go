package account

import (
	"fmt"
	"testing"
)

func TestJarTellsADestinationsOwnCookiesFromOthers(t *testing.T) {
	j, err := NewJar()
	if err != nil {
		t.Fatal(err)
	}
	j.Learn("One.test", []string{"sid=abc; Path=/; HttpOnly; Domain=test", "theme=dark", "novalue", "q=\"a b\""})
	for _, row := range []struct {
		name, host, cookie string
		want               bool
	}{
		{"its own", "one.test", "sid=abc", false},
		{"all its own", "ONE.test", "theme=dark; sid=abc;", false},
		{"quoted", "one.test", `q="a b"`, false},
		{"none", "one.test", "", false},
		{"another value", "one.test", "sid=abd", true},
		{"another name", "one.test", "tid=abc", true},
		{"one foreign among its own", "one.test", "sid=abc; x=y", true},
		{"at another host", "two.test", "sid=abc", true},
		{"at a host of the same domain", "a.one.test", "sid=abc", true},
		{"a name alone", "one.test", "novalue", true},
		{"another case", "one.test", "SID=abc", true},
	} {
		if got := j.Foreign(row.host, row.cookie); got != row.want {
			t.Errorf("%s: got %t, want %t", row.name, got, row.want)
		}
	}
}

func TestJarIsBounded(t *testing.T) {
	j, err := NewJar()
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxCookies + 10 {
		j.Learn("one.test", []string{fmt.Sprintf("n%d=v", i)})
	}
	if n := len(j.hosts["one.test"].set); n != maxCookies {
		t.Errorf("got %d cookies of a host, want %d", n, maxCookies)
	}
	last := fmt.Sprintf("n%d=v", maxCookies+9)
	if j.Foreign("one.test", last) || !j.Foreign("one.test", "n0=v") {
		t.Errorf("got %s foreign or n0 its own, want the newest kept", last)
	}
	for i := range maxHosts + 10 {
		j.Learn(fmt.Sprintf("h%d.test", i), []string{"a=b"})
	}
	if len(j.hosts) != maxHosts || len(j.order) != maxHosts {
		t.Errorf("got %d hosts, want %d", len(j.hosts), maxHosts)
	}
	var many []string
	for i := range maxSetCookie + 1 {
		many = append(many, fmt.Sprintf("m%d=v", i))
	}
	j.Learn("two.test", many)
	if j.Foreign("two.test", "m0=v") || !j.Foreign("two.test", many[maxSetCookie]) {
		t.Error("got another bound of one answer, want the first 64")
	}
}
