package kit

import "time"

// Pictures of a terminal are asked for at most this often while output floods.
// The first few after a rest come at once, so that what is typed shows at once.
const (
	picturesBurst = 6
	pictureEvery  = time.Second / 30
)

// Pace bounds how often something happens over time. The zero value is rested.
type Pace struct {
	next time.Time // when all that was spent is earned again
}

// Wait says how long to wait before the next one, and counts it.
func (p *Pace) Wait(now time.Time) time.Duration {
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(pictureEvery)
	return max(0, p.next.Sub(now)-picturesBurst*pictureEvery)
}
