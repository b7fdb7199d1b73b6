package seccomp

import (
	"slices"
	"testing"
)

func TestEveryRowIsOfAGroupThatHasATrial(t *testing.T) {
	seen := map[Group]bool{}
	for _, r := range Table() {
		seen[r.Group] = true
		if _, _, ok := TrialOf(r.Group); !ok {
			t.Errorf("the row of %q is of the group %q, which has no trial", r.Call, r.Group)
		}
	}
	for _, tr := range Trials() {
		if !seen[tr.Group] {
			t.Errorf("group %q has no rows", tr.Group)
		}
	}
}

// What a trial tries is refused with its group and reaches the kernel without
// it, and only it: every other group's stays refused.
func TestATrialShowsItsGroupAlone(t *testing.T) {
	for _, a := range arches() {
		for _, without := range Trials() {
			k := load(t, a, TableWithout(without.Group))
			for _, tr := range Trials() {
				nr, ok := a.Calls[tr.Call]
				if !ok {
					t.Errorf("%s: %q, the trial of %q, is no call here", a.Name, tr.Call, tr.Group)
					continue
				}
				_, errno, _ := TrialOf(tr.Group)
				want := int(errno)
				if tr.Group == without.Group {
					want = 0
				}
				if got := k.run(a.Audit, nr, tr.Args[:]...); got != want {
					t.Errorf("%s without %q: the trial of %q gives errno %d, want %d", a.Name, without.Group, tr.Group, got, want)
				}
			}
		}
	}
}

func TestForeignLetsTheOtherABIsThroughAndNothingElse(t *testing.T) {
	for _, a := range arches() {
		raw, err := CompileForeign(a, Table())
		if err != nil {
			t.Fatal(err)
		}
		k := machine(t, raw)
		if got := k.run(0x40000003, 20); got != 0 {
			t.Errorf("%s: errno %d for a foreign call, want it let through", a.Name, got)
		}
		if got := k.run(a.Audit, x32Bit|39); (got == 0) != a.X32 {
			t.Errorf("%s: errno %d for a number with bit 30, want it let through: %v", a.Name, got, a.X32)
		}
		if got := k.run(a.Audit, a.Highest+1); got != eNOSYS {
			t.Errorf("%s: errno %d above the highest, want %d", a.Name, got, eNOSYS)
		}
		i := slices.IndexFunc(Table(), func(r Row) bool { return r.Call == "setns" })
		if got := k.run(a.Audit, a.Calls["setns"]); got != int(Table()[i].Errno) {
			t.Errorf("%s: errno %d for setns, want %d", a.Name, got, Table()[i].Errno)
		}
	}
}
