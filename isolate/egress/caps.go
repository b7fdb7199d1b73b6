package egress

import (
	"net/http"
	"sync"
	"time"

	"fumehood/isolate/egress/rule"
)

// caps holds what entries bound over a session, by the entry's name: an entry
// that is allowed anew under the same name goes on where it was.
type caps struct{ *capState }

type capState struct {
	mu    sync.Mutex
	spent map[string]int64       // bytes of uploads
	times map[string][]time.Time // of requests in the last minute
}

func newCaps() caps {
	return caps{&capState{spent: map[string]int64{}, times: map[string][]time.Time{}}}
}

// take counts a request of an entry, or says which cap it would pass. length is
// its body's, as far as it says.
func (c caps) take(e *rule.Entry, length int64) (refusal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.MaxUpload > 0 && length > e.MaxUpload-c.spent[e.Name] {
		return refusal{reason: rule.Upload, rule: e.Name, status: http.StatusRequestEntityTooLarge}, true
	}
	if e.PerMinute <= 0 {
		return refusal{}, false
	}
	t := now()
	old := c.times[e.Name]
	for len(old) > 0 && t.Sub(old[0]) >= time.Minute {
		old = old[1:]
	}
	if len(old) >= e.PerMinute {
		c.times[e.Name] = old
		wait := old[len(old)-e.PerMinute].Add(time.Minute).Sub(t)
		return refusal{reason: rule.Rate, rule: e.Name, status: http.StatusTooManyRequests, retry: wait}, true
	}
	c.times[e.Name] = append(old, t)
	return refusal{}, false
}

// spend counts bytes of an upload, or says that they would be too many. What
// would pass the cap is not sent.
func (c caps) spend(e *rule.Entry, n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.MaxUpload > 0 && n > e.MaxUpload-c.spent[e.Name] {
		return false
	}
	c.spent[e.Name] += n
	return true
}
