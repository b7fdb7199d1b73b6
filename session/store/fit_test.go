package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// An apply of many files once made an event that no reader took, and with it
// the whole log was lost to the screen.
func TestAnEventOfAnyLengthCanBeReadAgain(t *testing.T) {
	d := Dir(t.TempDir())
	if err := os.WriteFile(d.Tenant(), []byte("me"), 0o600); err != nil {
		t.Fatal(err)
	}
	many := make([]string, 50_000)
	for i := range many {
		many[i] = fmt.Sprintf("some/folder/of/the/repository/file-%d.txt", i)
	}
	for _, fields := range []map[string]any{
		{"paths": many, "targets": many, "by": "me"},
		{"text": strings.Repeat("x", 3<<20)},
		{"by": "me"},
	} {
		if err := d.AppendEvent(time.Now(), "applied", "x", fields); err != nil {
			t.Fatal(err)
		}
	}
	events, broken, err := d.ReadEvents()
	if err != nil || broken != 0 || len(events) != 3 {
		t.Fatalf("got %d events, broken at %d, %v, want 3 that hang together", len(events), broken, err)
	}
	f := events[0].Fields
	list, _ := f["paths"].([]any)
	if left, _ := f["paths_omitted"].(float64); f["by"] != "me" || len(list) == 0 || len(list)+int(left) != len(many) || f["paths_sha256"] == "" {
		t.Errorf("got %d paths and %v omitted, want %d in all, and by whom", len(list), f["paths_omitted"], len(many))
	}
}
