package merge

import (
	"bytes"
	"errors"
	"fmt"

	"fumehood/diffreview"
)

// Resolve puts what was chosen into the conflicts, and takes out what is not in
// resolutions. content reads the reviewer's own texts. It gives how many
// conflicts nothing was chosen for.
func Resolve(parts []Part, resolutions map[string]diffreview.Resolution, content func(diffreview.Blob) ([]byte, error)) (open int, err error) {
	for i := range parts {
		p := &parts[i]
		if p.Kind != Conflict {
			continue
		}
		p.Take, p.Edit = "", nil
		r := resolutions[p.ID]
		switch r.Take {
		case diffreview.TakeHost, diffreview.TakeAgent, diffreview.TakeBoth:
			p.Take = r.Take
		case diffreview.TakeEdit:
			if p.Edit, err = content(r.Edit); err != nil {
				return 0, fmt.Errorf("your text for a conflict: %w", err)
			}
			p.Take = r.Take
		case diffreview.TakeLeave: // of a whole file, not of a conflict
			open++
		default:
			open++
		}
	}
	return open, nil
}

// ErrOpen: nothing was chosen for a conflict.
var ErrOpen = errors.New("a conflict is open")

// Text gives the merged text. Where a text without newline at its end comes
// before another, as one chosen for a conflict may, it gets one: two lines never
// become one. The error is ErrOpen while a conflict is.
func Text(parts []Part) ([]byte, error) {
	var out bytes.Buffer
	write := func(b []byte) {
		if have := out.Bytes(); len(b) > 0 && len(have) > 0 && have[len(have)-1] != '\n' {
			out.WriteString(newline(have, b))
		}
		out.Write(b)
	}
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case Same, FromHost, FromBoth:
			write(p.Host)
		case FromAgent:
			write(p.Agent)
		case Conflict:
			switch p.Take {
			case diffreview.TakeHost:
				write(p.Host)
			case diffreview.TakeAgent:
				write(p.Agent)
			case diffreview.TakeBoth:
				write(p.Host)
				write(p.Agent)
			case diffreview.TakeEdit:
				write(p.Edit)
			case diffreview.TakeLeave:
				return nil, ErrOpen
			default:
				return nil, ErrOpen
			}
		}
	}
	return out.Bytes(), nil
}

// newline gives the line ending that the text before has, else the one after.
func newline(before, after []byte) string {
	for _, b := range [][]byte{before, after} {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			if i > 0 && b[i-1] == '\r' {
				return "\r\n"
			}
			return "\n"
		}
	}
	return "\n"
}
