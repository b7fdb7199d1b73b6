package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// proving gives the places where a file lets a session start without the proof
// that its policy asks for, or has something stand in for its destinations, its
// credentials and the parts of its proxy. session/given.go hands the latter on,
// in the field of one type.
func proving(s source) []ast.Node {
	if s.test() || strings.HasPrefix(s.path, "session/prove/") {
		return nil
	}
	var bad []ast.Node
	// A plan's Omit is another, which isolate.StartWithout alone fills.
	forbidden := map[string]bool{"Proving": true, "Stand": true, "Omit": !strings.HasPrefix(s.path, "isolate/plan/")}
	name := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if name(n.Type) == "StandIn" {
				bad = append(bad, n)
			}
			for _, e := range n.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if ok && forbidden[name(kv.Key)] && !handsOn(s.path, name(n.Type), name(kv.Key)) {
					bad = append(bad, kv)
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if sel, ok := l.(*ast.SelectorExpr); ok && forbidden[sel.Sel.Name] {
					bad = append(bad, n)
				}
			}
		case *ast.UnaryExpr:
			if sel, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND && forbidden[sel.Sel.Name] {
				bad = append(bad, n)
			}
		}
		return true
	})
	return bad
}

// handsOn tells whether a field is filled where what session/prove has made goes
// through: to the supervisor, and from there to the proxy.
func handsOn(path, typ, field string) bool {
	return path == "session/given.go" && typ == "Given" && field == "Stand" || path == "session/supervisor/egress.go" && typ == "Config" && field == "Omit"
}

// Only the sessions of the wall tests start without the proof that they make,
// and only theirs have stand-ins: no policy, environment or argument of another
// command reaches either.
func TestOnlyTheWallTestsStartUnproven(t *testing.T) {
	for _, s := range tree(t) {
		for _, n := range proving(s) {
			t.Errorf("%s sets what session/prove alone may set: a session without the proof that its policy asks for, or with stand-ins for what is real", s.at(n.Pos()))
		}
	}
	for line, want := range map[string]int{
		"var r = session.Request{Stand: x}":            1,
		"var s = session.StandIn{}":                    1,
		"var s = &StandIn{To: x}":                      1,
		"func f(r *session.Request) { r.Stand = x }":   1,
		"func f(s *session.StandIn) { s.Omit = x }":    1,
		"func f(r *session.Request) { g(r.Stand) }":    0,
		"var g = Given{Stand: x}":                      1, // but in session/given.go
		"var c = egress.Config{Omit: x}":               1,
		"var r = session.Request{Proving: true}":       1,
		"func f(r *session.Request) { r.Proving = x }": 1,
		"func f(r *session.Request) { g(&r.Proving) }": 1,
		"func f(r *session.Request) { g(r.Proving) }":  0,
		"var r = session.Request{Hold: true}":          0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "cmd/fumehood/run.go", "package p\n"+line+"\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"cmd/fumehood/run.go", "session/prove/room.go"} {
			n := want
			if strings.HasPrefix(path, "session/prove/") {
				n = 0
			}
			if got := len(proving(source{path: path, ast: f, fset: fset})); got != n {
				t.Errorf("%s in %s: got %d findings, want %d", line, path, got, n)
			}
		}
	}
}
