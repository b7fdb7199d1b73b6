package isolate_test

import "testing"

func TestOneFileIsBounded(t *testing.T) {
	sp := spec(t)
	sp.FileBytes = 8 << 20
	s := start(t, sp)
	sh(t, s, "head -c 8M /dev/zero > ok && wc -c < ok").must(t, "8388608")
	for name, script := range map[string]string{
		"written":        "head -c 9M /dev/zero > big",
		"past a hole":    "dd if=/dev/zero of=hole bs=1 count=1 seek=9M",
		"grown":          "truncate -s 9M long",
		"by fallocate":   "fallocate -l 9M given",
		"in the home":    "head -c 9M /dev/zero > /fumehood/home/big",
		"in shared mem.": "head -c 9M /dev/zero > /dev/shm/big",
	} {
		if o := sh(t, s, script); o.status.Code == 0 && o.status.Signal == 0 {
			t.Errorf("%s: got %v, want it refused at 8 MiB", name, o)
		}
	}
	// A higher bound is not to be had from inside.
	sh(t, s, "ulimit -f unlimited").mustFail(t, "")
}
