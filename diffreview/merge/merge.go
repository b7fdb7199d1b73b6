// Package merge joins two changed versions of one text with what they have in
// common: the host's file, which the engineer may have edited since the copy,
// and what the approved part of a change set makes of the baseline. It is pure,
// works on bytes by lines, and is bounded as linediff is. A conflict is never
// settled here: it is given back, with a name that belongs to its three texts.
package merge

import "fumehood/diffreview"

// Kind says where the text of a part comes from.
type Kind uint8

// The kinds of parts.
const (
	Same      Kind = iota // neither side changed it
	FromHost              // only the host did
	FromAgent             // only the agent did
	FromBoth              // both did, and alike
	Conflict              // both did, and differ
)

// Part is a run of lines of the merged text. The lines keep their endings and
// alias the texts that they are of.
type Part struct {
	Kind              Kind
	Base, Host, Agent []byte
	// BaseLine, HostLine and AgentLine are the numbers of the first lines, from 1.
	BaseLine, HostLine, AgentLine int
	// ID of a conflict: a hash of the path and the three texts.
	ID string
	// Take is what was chosen for a conflict, "" when nothing was yet, and Edit
	// the text of TakeEdit.
	Take diffreview.Take
	Edit []byte
}
