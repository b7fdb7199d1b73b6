package doctor

import (
	"testing"

	"fumehood/isolate/plan"
)

// TestLandlockRowsAreThoseOfThePlan: what the report says is covered by another
// layer must be what the plan knows to be missing.
func TestLandlockRowsAreThoseOfThePlan(t *testing.T) {
	for abi := plan.MinABI; abi <= plan.MaxABI; abi++ {
		want := len(plan.Missing(abi))
		got := 0
		for _, row := range landlockRows() {
			if abi < row.abi {
				got++
			}
		}
		if got != want {
			t.Errorf("ABI %d: got %d rights missing, want the plan's %d: %q", abi, got, want, plan.Missing(abi))
		}
	}
	if floorLandlock != plan.MinABI {
		t.Errorf("got floor %d, want the plan's %d", floorLandlock, plan.MinABI)
	}
}
