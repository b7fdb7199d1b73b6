package diffreview

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls do for 0 to n-1, as many at once as there are processors, and ends
// with all of them. The error is that of the lowest number that failed, so that
// the same input fails in the same way; numbers above it may not be tried. When
// ctx ends its error is given.
func each(ctx context.Context, n int, do func(i int) error) error {
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Bool
		mu     sync.Mutex
		lowest = n
		first  error
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				// Numbers are given out in ascending order: when one has failed,
				// all lower ones are done or under way.
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := do(i)
				if err == nil {
					continue
				}
				failed.Store(true)
				mu.Lock()
				if i < lowest {
					lowest, first = i, err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}
