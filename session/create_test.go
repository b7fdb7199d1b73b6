package session

import "testing"

func TestGitIdentityCannotAddSettings(t *testing.T) {
	tests := []struct{ name, user, email, want string }{
		{"usual", "Ann", "ann@x.test", "[user]\n\tname = \"Ann\"\n\temail = \"ann@x.test\"\n"},
		{"none", "", "", ""},
		{"tries to end the line", "A\"\n[core]\n\tpager = sh", "", "[user]\n\tname = \"A\\\"\\n[core]\\n\\tpager = sh\"\n"},
		{"backslash", `A\`, "", "[user]\n\tname = \"A\\\\\"\n"},
	}
	for _, tt := range tests {
		if got := gitIdentity(tt.user, tt.email); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
