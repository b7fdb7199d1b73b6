package limits

import "time"

// How often the processes are looked at: while something inside uses the
// processor, when memory is over half of its limit and growing, and once two
// looks in a row saw nothing work.
const (
	BusyEvery = 250 * time.Millisecond
	NearEvery = 25 * time.Millisecond
	RestEvery = 2 * time.Second
)

// Pace decides when to look next. The zero value with Limit set is ready.
type Pace struct {
	Limit int64 // of memory; 0 is none

	work  int64
	used  int64
	still int
	begun bool
}

// leastGrowth is less than what fumehood's own processes come and go by.
const leastGrowth = 1 << 20

// Next takes what a look found and says how long to wait.
func (p *Pace) Next(used, work int64) time.Duration {
	grew := p.begun && used >= p.used+leastGrowth
	if p.begun && work == p.work && !grew {
		p.still++
	} else {
		p.still = 0
	}
	p.begun, p.used, p.work = true, used, work
	switch {
	case p.AtRest():
		return RestEvery
	case p.Limit > 0 && grew && used > p.Limit/2:
		return NearEvery
	}
	return BusyEvery
}

// Still says that no work was done since the last look.
func (p *Pace) Still(work int64) bool { return p.begun && work == p.work }

// AtRest says that nothing worked at the last two looks.
func (p *Pace) AtRest() bool { return p.still >= 2 }
