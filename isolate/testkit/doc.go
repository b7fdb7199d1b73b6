// Package testkit is for tests of the walls alone: a session's folders, a
// subprocess that plays another part, a check for leaked descriptors and
// goroutines. Nothing outside tests imports it.
package testkit
