// Package isolate closes the walls around a session's processes and starts
// commands inside them. Start returns only when every layer is closed and was
// seen closed from outside; on any failure nothing runs and the error, a
// *layer.Error, names the layer. There is no best effort and no switch that
// turns a layer off.
//
// A Sandbox is a tree of processes: PID 1, which is fumehood's stage and only
// watches; the spawner, also ours, inside the session's one Landlock domain;
// and the commands that it starts. PID 1 ends, and the kernel with it every
// process of the sandbox, when its starter ends, is stopped for more than two
// seconds or is silent for thirty. One locked thread per sandbox is its parent,
// so a sandbox can't outlive this process even if PID 1 fails.
//
// The goroutines of a Sandbox end when it does: Kill and a receive from Done
// wait for that. Start must run before the caller confines itself by Landlock,
// which would forbid the mounts; afterwards a caller that confines itself has to
// keep /proc readable, for Pause and Usage.
//
// What this does not cover: network egress (there is no network at all but the
// sandbox's own loopback), disk use, the sum of memory over processes (package
// limits samples it), and faults of the kernel itself. An ordinary user's
// supplementary groups can't be dropped and remain in force.
package isolate
