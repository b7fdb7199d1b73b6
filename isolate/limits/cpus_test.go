package limits

import (
	"fmt"
	"slices"
	"testing"
)

func TestChooseCPUsIsOfTheUsableOnes(t *testing.T) {
	usable := []int{0, 2, 5, 7}
	for _, row := range []struct{ n, want int }{{0, 4}, {1, 1}, {3, 3}, {4, 4}, {9, 4}} {
		got := ChooseCPUs(usable, row.n, "abc")
		if len(got) != row.want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != row.want {
			t.Errorf("%d: got %v, want %d different ones", row.n, got, row.want)
		}
		for _, cpu := range got {
			if !slices.Contains(usable, cpu) {
				t.Errorf("%d: got %v, want some of %v", row.n, got, usable)
			}
		}
		if again := ChooseCPUs(usable, row.n, "abc"); !slices.Equal(got, again) {
			t.Errorf("%d: got %v and then %v for one session, want the same", row.n, got, again)
		}
	}
}

func TestChooseCPUsSpreadsSessions(t *testing.T) {
	used := map[int]int{}
	for i := range 1000 {
		used[ChooseCPUs([]int{0, 1, 2, 3}, 1, fmt.Sprintf("session-%d", i))[0]]++
	}
	for cpu := range 4 {
		if used[cpu] < 150 {
			t.Errorf("got processor %d for %d of 1000 sessions, want about 250", cpu, used[cpu])
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-1\n": {0, 1}, "0-2,5,7-8": {0, 1, 2, 5, 7, 8}} {
		if got, err := ParseCPUs(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "a", "1-", "2-1", "-1", "0-99999999", "1,,2"} {
		if got, err := ParseCPUs(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestCPUsLineSaysWhenItIsAll(t *testing.T) {
	for _, row := range []struct {
		n    int
		how  How
		note string
	}{{0, None, ""}, {1, Enforced, "affinity to 1 of 2"}, {2, Enforced, "all 2 that fumehood itself may use"}, {8, Enforced, "all 2 that fumehood itself may use"}} {
		if got := CPUs(row.n, 2); got.How != row.how || got.Note != row.note {
			t.Errorf("%d: got %+v, want %q, %q", row.n, got, row.how, row.note)
		}
	}
}
