// Package wire carries messages between fumehood's own processes: the one that
// starts a sandbox, the stage and the spawner. A message is one JSON value with
// a length in front and at most a few descriptors beside it. Both the length
// and the number of descriptors are bounded at the reader, and an unknown field
// is an error, since either end may have been taken over by what it watches.
//
// It starts no goroutine. Send may be called from several goroutines, Recv from
// one at a time; Close ends both.
package wire
