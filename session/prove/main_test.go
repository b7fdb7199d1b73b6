package prove

import (
	"os"
	"testing"

	"fumehood/isolate/egress/credential"
	"fumehood/isolate/stage"
	"fumehood/isolate/walls/probe"
	"fumehood/session/supervisor"
)

// The sandboxes, supervisors and probes that a test starts are this binary.
func TestMain(m *testing.M) {
	stage.Dispatch()
	credential.Dispatch()
	probe.Dispatch()
	supervisor.Dispatch()
	if os.Getenv("TEST_KILLED_RUN") != "" {
		killedRun()
	}
	os.Exit(m.Run())
}
