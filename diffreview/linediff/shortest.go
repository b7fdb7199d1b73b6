package linediff

// maxEdit is the longest edit that shortest looks for: its trace takes
// maxEdit² numbers, and a region further apart than that reads better as
// replaced than as a lattice of single equal lines.
const maxEdit = 256

// shortest finds the shortest edit of a region (Myers' greedy method) and emits
// it. It reports false, having emitted nothing, when the edit is longer than
// maxEdit or the budget of steps is used up.
func (d *differ) shortest(a0, a1, b0, b1 int) bool {
	a, b := d.a[a0:a1], d.b[b0:b1]
	n, m := len(a), len(b)
	limit := min(n+m, maxEdit)
	// v[k+limit+1] is how far in a the best path on diagonal k = x-y has come.
	v := d.row(2*limit + 3)
	trace := d.trace[:0] // for each step e, v[-e..e] before it: 2e+1 numbers from e²
	for e := 0; e <= limit; e++ {
		trace = append(trace, v[limit+1-e:limit+2+e]...)
		d.trace = trace
		d.budget -= 2*e + 1
		for k := -e; k <= e; k += 2 {
			x := int(v[limit+1+k-1]) + 1 // delete a line of a
			if k == -e || k != e && v[limit+1+k-1] < v[limit+1+k+1] {
				x = int(v[limit+1+k+1]) // insert a line of b
			}
			if e == 0 {
				x = 0
			}
			// x or y may run off the table; such a path only gets further off,
			// and the check for the end below never meets it.
			y := x - k
			from := x
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			d.budget -= x - from
			v[limit+1+k] = int32(x)
			if x == n && y == m {
				d.walkBack(a0, b0, n, m, e)
				return true
			}
		}
		if d.budget < 0 {
			return false
		}
	}
	return false
}

// row gives n zeros, in memory that the next call takes again.
func (d *differ) row(n int) []int32 {
	if cap(d.v) < n {
		d.v = make([]int32, n)
	}
	d.v = d.v[:n]
	clear(d.v)
	return d.v
}

// step is one line more of either side.
type step struct{ x0, y0, x1, y1 int }

// walkBack turns the trace of a finished search into runs.
func (d *differ) walkBack(a0, b0, x, y, last int) {
	steps := d.steps[:0]
	for e := last; e > 0; e-- {
		v := d.trace[e*e : (e+1)*(e+1)] // v[k+e] for k in -e..e, as it was before step e
		k := x - y
		down := k == -e || k != e && v[k-1+e] < v[k+1+e]
		px, pk := 0, k+1
		if down {
			px = int(v[k+1+e])
		} else {
			pk = k - 1
			px = int(v[k-1+e])
		}
		py := px - pk
		if down {
			steps = append(steps, step{px, py, px, py + 1})
		} else {
			steps = append(steps, step{px, py, px + 1, py})
		}
		x, y = px, py
	}
	d.steps = steps
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		d.emit(Run{a0 + s.x0, a0 + s.x1, b0 + s.y0, b0 + s.y1})
	}
}
