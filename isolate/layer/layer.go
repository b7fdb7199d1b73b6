// Package layer names the layers that together make a sandbox, and carries
// what was found of them: an Error when one could not be set up, a Fact when
// one was seen in force from outside. It is a leaf, so that the stage (inside)
// and its starter (outside) share it without a cycle. It does nothing itself.
package layer

import "fmt"

// Name is one layer of a sandbox.
type Name string

// The layers, in the order in which they are closed.
const (
	Namespaces Name = "namespaces"
	Limits     Name = "limits"
	Identity   Name = "identity"
	Landlock   Name = "landlock"
	Seccomp    Name = "seccomp"
)

// Egress is the proxy, which is no layer of the sandbox but the one way through
// it: without it nothing runs either.
const Egress Name = "egress proxy"

// All lists every layer in the order in which it is closed.
func All() []Name { return []Name{Namespaces, Limits, Identity, Landlock, Seccomp} }

// Error says that a layer could not be set up. Nothing runs after one.
type Error struct {
	Layer Name
	// Op is the step that failed: a system call and what it was for.
	Op  string
	Err error
	// Hint is advice for the engineer, apart from the error's own text.
	Hint string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Layer, e.Op, e.Err) }

// Unwrap gives the errno underneath.
func (e *Error) Unwrap() error { return e.Err }

// Fact is one property of a layer as read from outside the sandbox.
type Fact struct {
	Layer Name `json:"layer"`
	// What names the property, such as "seccomp filters" or "net namespace".
	What string `json:"what"`
	// Value is what was read, such as "1" or "net:[4026532345]".
	Value string `json:"value"`
	// Source is where it was read, such as "/proc/PID/status" or "canary".
	Source string `json:"source"`
	OK     bool   `json:"ok"`
}
