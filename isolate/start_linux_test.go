package isolate_test

import (
	"testing"

	"fumehood/isolate/testkit"
)

func TestStartRunsACommandAndLeavesNothing(t *testing.T) {
	testkit.LeakCheck(t)
	s := start(t, spec(t))
	sh(t, s, "echo hi; id -un; pwd").must(t, "hi\nsomeone\n/home/someone/project")
	for _, f := range s.Layers() {
		t.Logf("%-10s %-36s %-40s %s", f.Layer, f.What, f.Value, f.Source)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
}
