// Package confine has a process of fumehood's own give up, for good and on all of
// its threads, what it does not need: before it interprets bytes that came from
// elsewhere, so that a fault in what interprets them opens no file, starts no
// program and speaks to no network. Landlock refuses paths, a filter of system
// calls the rest; either refuses what the other may have missed. It fails closed:
// where the kernel has a layer and does not take it, the process must not go on.
// Any process may call it; it starts no goroutine.
//
// What this does not cover: descriptors that are open already, the terminal among
// them, stay what they are. What a path says of itself (whether it is there, its
// size) can still be asked, though told to nobody. A kernel without Landlock leaves
// the filter, which knows no folders.
package confine
