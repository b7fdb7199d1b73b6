package session

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"fumehood/isolate/egress/rule"
)

// A reason without a sentence would leave a person alone with a word.
func TestEveryReasonHasItsMeaning(t *testing.T) {
	files, err := filepath.Glob("../isolate/egress/rule/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			id, ok := v.Type.(*ast.Ident)
			if !ok || id.Name != "Reason" || len(v.Values) != 1 {
				return true
			}
			lit, ok := v.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if reasons[rule.Reason(text)] == "" {
				t.Errorf("got no meaning of %q, want a sentence", text)
			}
			return true
		})
	}
	if found < 20 || found != len(reasons) {
		t.Errorf("got %d reasons in the source and %d sentences, want one each", found, len(reasons))
	}
}
