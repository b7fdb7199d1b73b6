// Package probe is what the wall tests run inside a sandbox: fumehood's own
// program under the name fumehood-probe. It waits for a job on its standard
// input, makes each attempt of it between two marks that a tracer outside can
// see, and says on its standard output what it met. Nothing that it says is
// believed without a witness outside.
//
// Every attempt is harmless where no wall stands: it touches only what the
// test made for it, and each hog stops by itself at the ceiling that its
// action names.
//
// What this does not cover: judging; that is done outside.
package probe
