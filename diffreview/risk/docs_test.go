package risk

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the list of rules in docs/risks.md")

const (
	docsFile  = "../../docs/risks.md"
	listBegin = "<!-- The list is made from the tables: go test ./diffreview/risk -run TestDocsListTheRules -update -->\n"
	listEnd   = "<!-- end of the list -->\n"
)

// TestDocsListTheRules: the page has all rules, by kind, as the tables have them.
func TestDocsListTheRules(t *testing.T) {
	var want strings.Builder
	for _, k := range kinds() {
		fmt.Fprintf(&want, "\n### %s%s\n\n| rule | severity | why |\n| --- | --- | --- |\n", strings.ToUpper(k.what[:1]), k.what[1:])
		for _, r := range k.rules {
			fmt.Fprintf(&want, "| `%s` | %s | %s |\n", r.Name, r.Severity, r.Why)
		}
	}
	want.WriteString("\n")
	page, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), listBegin)
	got, after, ok2 := strings.Cut(rest, listEnd)
	if !ok || !ok2 {
		t.Fatalf("%s: got no list, want its two comments", docsFile)
	}
	if got == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s: the list is not that of the tables; -update makes it anew", docsFile)
	}
	if err := os.WriteFile(docsFile, []byte(before+listBegin+want.String()+listEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
