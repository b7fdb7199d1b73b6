package session

import "testing"

func TestPathspec(t *testing.T) {
	tests := []struct {
		spec, path string
		want       bool
	}{
		{"a.txt", "a.txt", true},
		{"a.txt", "b/a.txt", false},
		{"src", "src/a/b.go", true},
		{"src/", "src/a", true},
		{"./src", "src/a", true},
		{"src", "srcs/a", false},
		{"*.go", "a.go", true},
		{"*.go", "x/a.go", false},
		{"**/*.go", "x/y/a.go", true},
		{"**/*.go", "a.go", true},
		{"x/**", "x/y/z", true},
		{".", "anything", true},
		{":(literal)a*", "a*", true},
		{":(literal)a*", "ab", false},
		{"[ab]/c", "a/c", true},
	}
	for _, tt := range tests {
		f, err := Pathspec([]string{tt.spec})
		if err != nil {
			t.Fatalf("%q: %v", tt.spec, err)
		}
		if got := f(tt.path); got != tt.want {
			t.Errorf("%q on %q: got %v, want %v", tt.spec, tt.path, got, tt.want)
		}
	}
	for _, bad := range []string{"", "[a", ":(glob)x"} {
		if _, err := Pathspec([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
