package baseline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func git(t *testing.T, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(asExit(err, &exit) && exit.ExitCode() == 1 && stderr.Len() == 0) {
		t.Fatalf("git %q: %v: %s", args, err, stderr.String())
	}
	return out
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}

func TestIgnoreRows(t *testing.T) {
	for _, row := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.o\n", "a/b.o", false, true},
		{"/a\n", "b/a", false, false},
		{"a/\n", "a", false, false},
		{"a/\n", "a/x", false, true},
		{"*\n!*/\n!*.go\n", "x.c", false, true},
		{"*\n!*/\n!*.go\n", "d/x.go", false, false},
		{"d/\n!d/x\n", "d/x", false, true}, // nothing comes back out of an ignored folder
		{"a/**/b\n", "a/b", false, true},
		{"a/**/b\n", "a/x/y/b", false, true},
		{"**/b\n", "x/b", false, true},
		{"a/**\n", "a", true, false},
		{"a/**\n", "a/x/y", false, true},
		{"a b \n", "a b", false, true},
		{"a\\ \n", "a ", false, true},
		{"\\#x\n#y\n", "#x", false, true},
		{"#y\n", "#y", false, false},
		{"\\!x\n", "!x", false, true},
		{"x\r\n", "x", false, true},
		{"\ufeffx\n", "x", false, true},
		{"[a-c]x\n", "bx", false, true},
		{"[!a-c]x\n", "bx", false, false},
		{"[[:digit:]]\n", "7", false, true},
		{"[[:nope:]]\n", "7", false, false},
		{"[\n", "[", false, false},
		{"a?b\n", "a/b", false, false},
		{"x\\\n", "x\\", false, false},
	} {
		rules := Rules{Files: []IgnoreFile{{"", row.rules}}}
		if got := rules.Compile().Path(row.path, row.dir); got != row.want {
			t.Errorf("%q on %q: got %v, want %v", row.rules, row.path, got, row.want)
		}
	}
}

// A nested repository's files are judged by its own rules alone.
func TestIgnoreStopsAtNestedRepository(t *testing.T) {
	rules := Rules{
		Global: "*.global\n",
		Roots:  []IgnoreFile{{"", "*.outerex\n"}, {"v/o", "*.innerex\n"}},
		Files:  []IgnoreFile{{"", "*.outer\nv\n"}, {"v/o", "*.inner\n"}},
	}
	ig := rules.Compile()
	for path, want := range map[string]bool{
		"x.outer": true, "v/x": true, "v/o/x.outer": false, "v/o/x.outerex": false,
		"v/o/x.inner": true, "v/o/d/x.innerex": true, "v/o/x.global": true, "v/o/plain": false,
	} {
		if got := ig.Path(path, false); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}

// A pattern that makes a backtracking matcher run for ever takes no time.
func TestGlobIsLinear(t *testing.T) {
	g := compileGlob(strings.Repeat("a*", 200)+"b", false, false)
	start := time.Now()
	if g.match(strings.Repeat("a", 4000)) {
		t.Error("got a match, want none")
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v, want well under 2 s", took)
	}
}

// randomPattern and randomPath use few letters so that they meet often.
func randomPattern(r *rand.Rand) string {
	parts := []string{
		"a", "b", "ab", "A", "*", "**", "***", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-b]", "[]a]", "[b-a]", "[[:alpha:]]", "[[:upper:]b]", "[a-", "[/]",
		"\\a", "\\*", "\\", "[\\]]", "[[:", "[[:x:]]", "-", " ", "\t", ".", "**/", "/**", "/**/", "[a\\-b]", "[--a]", "[!-a]", "[[a]", "[",
	}
	var b strings.Builder
	if r.IntN(6) == 0 {
		b.WriteByte('!')
	}
	for range 1 + r.IntN(5) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	if r.IntN(4) == 0 {
		b.WriteByte('/')
	}
	if r.IntN(8) == 0 {
		b.WriteString(" ")
	}
	return b.String()
}

func randomName(r *rand.Rand) string {
	letters := []string{"a", "b", "A", "ab", "-", "*", "]", "[", " ", ".", "\\", "!"}
	var b strings.Builder
	for range 1 + r.IntN(3) {
		b.WriteString(letters[r.IntN(len(letters))])
	}
	if n := b.String(); n != "." && n != ".." {
		return n
	}
	return "x"
}

// Our matcher and git's agree, on random rules in random trees, about every
// file that is there.
func TestIgnoreAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, want it on PATH")
	}
	rounds := 20
	if testing.Short() {
		rounds = 8
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		root := t.TempDir()
		fold := r.IntN(3) == 0
		git(t, root, nil, "init", "-q")
		git(t, root, nil, "config", "core.ignorecase", fmt.Sprint(fold))
		rules := Rules{Fold: fold, Roots: []IgnoreFile{{"", ""}}}
		dirs := []string{""}
		for range 12 {
			dir := filepath.Join(dirs[r.IntN(len(dirs))], randomName(r))
			if os.Mkdir(filepath.Join(root, dir), 0o755) == nil {
				dirs = append(dirs, dir)
			}
		}
		for range 80 {
			path := filepath.Join(root, dirs[r.IntN(len(dirs))], randomName(r))
			if _, err := os.Lstat(path); err != nil {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, dir := range dirs {
			if i > 0 && r.IntN(2) == 0 {
				continue
			}
			var text strings.Builder
			for range 1 + r.IntN(4) {
				text.WriteString(randomPattern(r) + []string{"\n", "\r\n", "\n\n"}[r.IntN(3)])
			}
			if err := os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			rules.Files = append(rules.Files, IgnoreFile{dir, text.String()})
		}
		if r.IntN(2) == 0 {
			rules.Roots[0].Text = randomPattern(r) + "\n" + randomPattern(r)
			if err := os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte(rules.Roots[0].Text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for _, p := range strings.Split(string(git(t, root, nil, "ls-files", "-z", "-o", "--exclude-standard")), "\x00") {
			if p != "" {
				want = append(want, p)
			}
		}
		ig := rules.Compile()
		var got []string
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			if e.Name() == ".git" {
				return filepath.SkipDir
			}
			rel := path[len(root)+1:]
			if !e.IsDir() && !ig.Path(rel, false) {
				got = append(got, rel)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if slices.Equal(got, want) {
			continue
		}
		for _, p := range got {
			if !slices.Contains(want, p) {
				t.Errorf("round %d: %q: git ignores it: %s", round, p, git(t, root, nil, "check-ignore", "-v", "--no-index", "--", p))
			}
		}
		for _, p := range want {
			if !slices.Contains(got, p) {
				t.Errorf("round %d: %q: git does not ignore it", round, p)
			}
		}
		t.Logf("rules: %#v", rules)
		return
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a[b-c]*", "abx", true, false)
	f.Fuzz(func(t *testing.T, pattern, text string, path, fold bool) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		g := compileGlob(pattern, path, fold)
		_ = g.match(text) // must neither panic nor hang
		_ = parseIgnore(pattern, fold)
	})
}
