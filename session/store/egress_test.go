package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/isolate/egress/record"
)

func wrote(t *testing.T, d Dir, hosts ...string) {
	t.Helper()
	l, err := d.OpenEgress()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, h := range hosts {
		if err := l.Append(record.Attempt{Host: h}); err != nil {
			t.Fatal(err)
		}
	}
}

func hostsFrom(t *testing.T, d Dir, at EgressAt) (string, EgressAt) {
	t.Helper()
	var got []string
	at, err := d.EgressFrom(at, func(a record.Attempt) { got = append(got, a.Host) })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " "), at
}

func TestTheEgressRecordIsReadOnFromWhereItWasLeft(t *testing.T) {
	d := Dir(t.TempDir())
	if got, at := hostsFrom(t, d, EgressAt{}); got != "" || at.Lines != 0 {
		t.Fatalf("got %q, %d lines of a session without a record, want none", got, at.Lines)
	}
	wrote(t, d, "a", "b")
	got, at := hostsFrom(t, d, EgressAt{})
	if got != "a b" || at.Lines != 2 || at.Damaged != 0 {
		t.Fatalf("got %q, %+v, want a b in two whole lines", got, at)
	}
	wrote(t, d, "c") // by the supervisor of a resumed session
	f, err := os.OpenFile(d.Egress(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"host":"half`); err != nil {
		t.Fatal(err)
	}
	if got, at = hostsFrom(t, d, at); got != "c" || at.Damaged != 0 {
		t.Fatalf("got %q, damaged at %d, want c and no damage while a line is being written", got, at.Damaged)
	}
}

func TestADamagedEgressRecordNamesItsLine(t *testing.T) {
	long := strings.Repeat("x", maxAttempt+10)
	cases := []struct {
		name string
		edit func(lines []string) []string
		want int
		see  string
	}{
		{"untouched", func(l []string) []string { return l }, 0, "a b c d"},
		{"a line changed", func(l []string) []string { l[1] = strings.Replace(l[1], `"b"`, `"e"`, 1); return l }, 3, "a e c d"},
		{"a line taken out", func(l []string) []string { return append(l[:1], l[2:]...) }, 2, "a c d"},
		{"a line put in", func(l []string) []string { return append([]string{l[0], "nothing"}, l[1:]...) }, 2, "a b c d"},
		{"the first taken out", func(l []string) []string { return l[1:] }, 1, "b c d"},
		{"a line without end", func(l []string) []string { return append([]string{l[0], long}, l[1:]...) }, 2, "a b c d"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Dir(t.TempDir())
			wrote(t, d, "a", "b", "c", "d")
			b, err := os.ReadFile(d.Egress())
			if err != nil {
				t.Fatal(err)
			}
			lines := c.edit(strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"))
			if err := os.WriteFile(d.Egress(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got, at := hostsFrom(t, d, EgressAt{})
			if at.Damaged != c.want || got != c.see {
				t.Fatalf("got damage at line %d and %q, want %d and %q", at.Damaged, got, c.want, c.see)
			}
		})
	}
}

func TestAnEgressRecordThatBecameShorterIsDamaged(t *testing.T) {
	d := Dir(t.TempDir())
	wrote(t, d, "a", "b", "c")
	_, at := hostsFrom(t, d, EgressAt{})
	b, err := os.ReadFile(d.Egress())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(string(d), "egress.jsonl"), b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, at := hostsFrom(t, d, at); got != "" || at.Damaged != 4 {
		t.Fatalf("got %q, damaged at %d, want nothing and damage after the third line", got, at.Damaged)
	}
}
