package prove

import "testing"

// A folder that a probe closed is no reason to leave it out.
func TestOnlyTheKernelsFolderOfACacheIsLeftOut(t *testing.T) {
	for path, want := range map[string]bool{
		"/s/x/cache/npm/work/work":           true,
		"/s/x/cache/npm/upper/work":          false,
		"/s/x/cache/npm/upper/work/work":     false,
		"/s/x/workspace/cache/npm/work/work": false,
		"/s/x/home/work/work":                false,
	} {
		if got := kernelsOwn("/s/x", path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}
