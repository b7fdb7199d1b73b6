// Package load owns the one call that puts a compiled system call filter in
// force. It decides nothing: what is refused is seccomp's table, and when is for
// the stage, and for a process of fumehood's own that confines itself. It starts
// no goroutine.
package load
