package session

import (
	"testing"

	"fumehood/isolate/policy"
)

func TestWhatToName(t *testing.T) {
	for dir, want := range map[string]string{
		"/h/u/miniconda3/bin/": "~/miniconda3",
		"/h/u/bin":             "~/bin", // and not the home
		"/h/bin":               "/h/bin",
		"/srv/tools/bin":       "/srv/tools",
		"/srv/tools":           "/srv/tools",
		"/h/user/bin":          "/h/user",
		"/bin":                 "/bin",
	} {
		if got := toName(dir, "/h/u"); got != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
}

func TestAMissingProgramIsNamedWithTheReason(t *testing.T) {
	refused := []policy.Refusal{{Path: "/h/u/app/bin", Why: "inside the repository /h/u/app"}}
	if got, want := missing("x", "/h/u/app/bin/", "/h/u", refused), `"x" is in "/h/u/app/bin/" on this machine, which is not inside: inside the repository /h/u/app`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := missing("x", "/h/u/c/bin", "/h/u", refused), `"x" is in "/h/u/c/bin" on this machine, which is not inside; filesystem.inputs = ["~/c"] shows it there, read-only`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := shellMissing([]string{"/snap/bin"}, "/h/u"); got != "" {
		t.Errorf("got %q for a folder of the machine, want nothing", got)
	}
}
