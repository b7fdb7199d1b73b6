package kit

import (
	"fmt"

	"fumehood/ui/style"
)

// Standing is how a session stands, in the words of session.State. What every
// place uses depends on none of the packages that the places ask, so it has
// them as plain text.
type Standing struct {
	State  string
	Signal string
	Exit   *int
	Limit  string // name and value of the limit that ended it
}

// Text says it in a few cells. The sign and the words mean it without colour.
func (s Standing) Text() string {
	switch s.State {
	case "preparing":
		return "… preparing"
	case "running":
		return "▶ running"
	case "waiting":
		return "● waits for you"
	case "exited":
		if s.Signal != "" {
			return "■ " + Safe(s.Signal)
		}
		if s.Exit != nil {
			return fmt.Sprintf("■ exit %d", *s.Exit)
		}
		return "■ ended"
	case "stopped":
		return "■ stopped"
	case "limit":
		if s.Limit != "" {
			return "! " + Safe(s.Limit)
		}
		return "! limit"
	case "failed":
		return "✗ failed"
	case "bundle":
		return "a bundle" // of a session that had not ended at the export
	}
	return Safe("? " + s.State)
}

// Style is the colour that goes with Text.
func (s Standing) Style(st *style.Styles) style.Style {
	switch s.State {
	case "waiting":
		return st.Waiting
	case "running", "preparing":
		return st.Running
	case "limit":
		return st.Warn
	case "failed":
		return st.Danger
	}
	return st.Ended
}
