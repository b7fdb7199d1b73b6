package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestThePageOnPoliciesIsTrue: every example is a policy that can be in force,
// every key is named, and so is every reason that the proxy gives.
func TestThePageOnPoliciesIsTrue(t *testing.T) {
	b, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	examples := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) < 4 {
		t.Fatalf("got %d examples, want those of the page", len(examples))
	}
	for _, e := range examples {
		if _, err := CheckFile("docs/policy.md", []byte(e[1])); err != nil {
			t.Errorf("%v in\n%s", err, e[1])
		}
	}
	for _, p := range places() {
		name := p.key
		if p.table != "" && p.table != "network.allow" && p.table != "credentials" {
			name = join2(p.table, p.key)
		}
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page lacks %s", p.name())
		}
	}
	for _, name := range []string{"default", "run-tests", "data-analysis"} {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page lacks the built-in %s", name)
		}
	}
	src, err := os.ReadFile("../egress/rule/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`Reason = "([^"]+)"`).FindAllStringSubmatch(string(src), -1)
	if len(reasons) < 15 {
		t.Fatalf("got %d reasons, want those of the proxy", len(reasons))
	}
	for _, r := range reasons {
		if !strings.Contains(page, "`"+r[1]+"`") {
			t.Errorf("the page lacks the reason %q", r[1])
		}
	}
}
