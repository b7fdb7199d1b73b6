package walls

// Event is told while the tests run; exactly one of its groups is set.
type Event struct {
	Test    int      // the test that it belongs to; 0 for a note
	Begins  bool     // the test begins
	Attempt *Attempt // one more attempt was judged
	Result  *Result  // the test ended
	Note    string   // one line for the person
}

// Run is what to run.
type Run struct {
	Policy string // name or file; "" is the policy that would be found
	Only   []int  // numbers; empty is all
	// Against is the command whose sandbox is tested instead of fumehood's,
	// split into words; one of them is "{}".
	Against []string
}

// Matrix is what --mutate found: which tests turn red for which missing part.
type Matrix struct {
	Parts []Part `json:"parts"`
}

// Part is one part of the walls that was left out in throw-away sandboxes.
type Part struct {
	Layer string `json:"layer"` // the layer it belongs to
	Name  string `json:"name"`
	// Red lists the tests that turned red, and Attempts the attempts in them
	// as "number.id".
	Red      []int    `json:"red"`
	Attempts []string `json:"attempts"`
	// Ran lists the tests that were run without it.
	Ran []int `json:"ran"`
	// Cannot says why the part can't be left out on this machine; "" when it was.
	Cannot string `json:"cannot,omitempty"`
	// Error says why leaving it out could not be tried to the end; "" when it was.
	Error string `json:"error,omitempty"`
}

// Silent says whether a part was left out and no test noticed: a finding.
func (p Part) Silent() bool { return p.Cannot == "" && p.Error == "" && len(p.Red) == 0 }
