// Package term owns a session's terminal: the pty's outer end, the emulator
// that keeps its screen, the queues in front of it, and what may pass from it
// to the user's own terminal.
//
// Screen is the emulator: pure, without goroutines, for one caller at a time.
// Terminal is one pty with its Screen, its raw log and its subscribers; it owns
// its goroutines and Close waits for them. Filter is the allow-list between the
// inside's raw output and the user's terminal. Scanner finds the reserved key
// in the user's raw input.
//
// Every byte that the inside writes is hostile. It can make the emulator show
// nonsense on its own screen; it can not make it panic, stall, grow without
// bound, answer with text of the inside's choosing, or put anything into a
// Frame but printable text and colours.
//
// What this does not cover: sixel and other graphics are swallowed, hyperlinks
// are dropped, and left and right margins are not implemented.
package term
