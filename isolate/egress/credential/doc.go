// Package credential reads the real credentials of accounts from where the
// user keeps them: a variable, a file, a command. The supervisor can't: it has
// confined itself by then, may start nothing and sees few files. So it starts a
// keeper before, a process of its own that holds the other end of a socket, can
// do nothing but read the sources that it was told of, and ends when the socket
// closes, or when its parent dies or is found stopped.
//
// Both ends are here. StartKeeper and Keeper are the supervisor's; Dispatch, in
// main and in a test's TestMain, is the keeper. What a keeper needs goes through
// the socket, never through arguments or environment, where others could read
// it. No text of an error has anything of a source's content in it.
//
// A command is started without a shell, set-uid programs gain nothing (the
// keeper has no_new_privs), and nothing of the caller's environment reaches it
// but PATH, HOME and USER: a tool that asks a desktop's keyring for its secret
// finds no bus.
//
// What this does not cover: a command's children that leave its process group
// outlive its deadline.
package credential
