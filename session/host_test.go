package session

import "testing"

func TestPlainName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"ann", "ann"},
		{"ann-2_x", "ann-2_x"},
		{"_apt", "_apt"},
		{"", "user"},
		{"4242", "user"},
		{"Ann", "user"},
		{"a.b", "user"},
		{`corp\\ann`, "user"},
		{"-x", "user"},
		{"root", "user"},
		{"nobody", "user"},
		{"a234567890123456789012345678901234", "user"},
	}
	for _, tt := range tests {
		if got := plainName(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}
