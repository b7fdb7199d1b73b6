package main

import (
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"fumehood/session/bundle"
	"fumehood/ui"
)

// A bundle has no session behind it: whatever the workbench asks, the bundle
// answers by itself. What it left to the client in it would be looked for on this
// machine.
func TestABundleAnswersAllThatTheWorkbenchAsks(t *testing.T) {
	asked, answers := reflect.TypeFor[ui.Backend](), reflect.TypeFor[*bundle.Remote]()
	for i := range asked.NumMethod() {
		name := asked.Method(i).Name
		m, ok := answers.MethodByName(name)
		if !ok {
			t.Errorf("got no answer to %s, want one", name)
			continue
		}
		f := runtime.FuncForPC(m.Func.Pointer())
		// What is promoted from an embedded field is a function that no file has.
		if file, _ := f.FileLine(f.Entry()); filepath.Base(filepath.Dir(file)) != "bundle" {
			t.Errorf("got %s answered by the client in the bundle (%s), want it answered in session/bundle", name, file)
		}
	}
}
