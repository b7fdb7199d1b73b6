package kit

import tea "charm.land/bubbletea/v2"

// EditorMsg asks for the person's editor on a file, with the terminal given to
// it until it ends. Back makes the message that tells of its end; err is not nil
// when it could not be started or said that it failed.
type EditorMsg struct {
	Path string
	Back func(err error) tea.Msg
}

// EditorDoneMsg says that the editor has ended and the terminal is ours again.
type EditorDoneMsg struct{ Back tea.Msg }
