// Package plan decides what a sandbox is made of: which mounts in which order,
// which Landlock rules, which limits. Compile turns a request and what the host
// offers into a Plan, a list of typed steps that the stage carries out without
// deciding anything, and Expected says what the mount table must then be, so
// that the starter can compare from outside. It also has the messages that
// starter, stage and spawner exchange. All of it is pure.
package plan
