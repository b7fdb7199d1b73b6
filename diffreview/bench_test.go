package diffreview

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBuild is a large change set: 5,000 files with 500,000 changed lines,
// without risks.
func BenchmarkBuild(b *testing.B) {
	old, new := tree{}, tree{}
	for i := range 5000 {
		var before, after strings.Builder
		for j := range 100 {
			fmt.Fprintf(&before, "line %d of file %d\n", j, i)
			if j%2 == 0 {
				fmt.Fprintf(&after, "line %d of file %d\n", j, i)
			} else {
				fmt.Fprintf(&after, "changed %d of file %d\n", j, i)
			}
		}
		p := fmt.Sprintf("pkg%d/file%d.go", i%50, i)
		old[p], new[p] = text(before.String()), text(after.String())
	}
	src := newSource(old, new)
	changes := src.Changes()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(context.Background(), fixed{src, changes}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

type fixed struct {
	*memSource
	changes []Change
}

func (f fixed) Changes() []Change { return f.changes }
