package limits

import (
	"os"
	"testing"
)

// BenchmarkTake is what a look costs at this process and what is below it.
func BenchmarkTake(b *testing.B) {
	for b.Loop() {
		if _, err := Take(os.Getpid(), 0); err != nil {
			b.Fatal(err)
		}
	}
}
