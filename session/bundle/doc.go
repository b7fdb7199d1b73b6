// Package bundle owns the file in which a session's record travels: written by
// Export, read by Open on any machine, reviewed there through Remote, and what
// was decided there brought home by Import. A bundle is hostile input: every
// size, count and name is bounded and fixed, every byte of the file is bound by
// a hash, nothing is unpacked, executed or interpreted, and what the risk rules
// say is found anew by the reader. The only file that a review of a bundle
// writes is the one with the decisions.
//
// The command line calls it; it starts no goroutine. keygen.go starts ssh-keygen
// for signatures, and nothing else here starts a process.
//
// What this does not cover: without a signature a bundle proves nothing of who
// made it. Its hashes and chains show damage, not forgery; the name of a
// reviewer is what the reviewer claims.
package bundle
