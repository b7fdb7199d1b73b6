// Package kit holds what every place of the workbench shares: the table of
// keys, dialogs, messages, text fields, lists, and the only functions through
// which foreign text may reach the screen. Its parts are plain structs with
// methods; none of them starts a goroutine, reads a file or asks a session.
//
// What this does not cover: the bytes of a diff and the names of files go
// through diffreview.Visible and diffreview.SafeName, which know more of them.
package kit
