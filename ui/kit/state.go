package kit

import (
	"fmt"

	"fumehood/session"
	"fumehood/ui/style"
)

// State says in a few cells how a session stands.
func State(s session.Summary) string {
	switch s.State {
	case session.StatePreparing:
		return "… preparing"
	case session.StateRunning:
		return "▶ running"
	case session.StateWaiting:
		return "● waits for you"
	case session.StateExited:
		if s.Signal != "" {
			return "■ " + Safe(s.Signal)
		}
		if s.ExitCode != nil {
			return fmt.Sprintf("■ exit %d", *s.ExitCode)
		}
		return "■ ended"
	case session.StateStopped:
		return "■ stopped"
	case session.StateLimit:
		if s.Limit != nil {
			return Safe("! " + s.Limit.Name + " " + s.Limit.Value)
		}
		return "! limit"
	case session.StateFailed:
		return "✗ failed"
	}
	return Safe("? " + string(s.State))
}

// StateStyle is the colour that goes with State.
func StateStyle(st *style.Styles, s session.Summary) style.Style {
	switch s.State {
	case session.StateWaiting:
		return st.Waiting
	case session.StateRunning, session.StatePreparing:
		return st.Running
	case session.StateLimit:
		return st.Warn
	case session.StateFailed:
		return st.Danger
	}
	return st.Ended
}
