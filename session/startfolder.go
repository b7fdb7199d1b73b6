package session

import (
	"fmt"
	"path/filepath"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/store"
)

// startFolder is StartFolder for a request, which is told of it; without a folder
// of its own it starts where the command before did.
func (req *Request) startFolder(d store.Dir, repo, before string) string {
	rel, note := before, ""
	if req.From != "" {
		rel, note = StartFolder(d, repo, req.From)
	} else if before != "" {
		rel, note = inWorkspace(d, before)
	}
	if note != "" && req.Note != nil {
		req.Note(note)
	}
	return rel
}

// StartFolder gives the folder of a workspace that fits a folder of the host,
// relative to the workspace's top, "" for the top itself: where a user expects a
// command to start. A folder outside the repository fits the top. note says that
// the folder is not there inside, and the command starts at the top.
func StartFolder(d store.Dir, repo, from string) (rel, note string) {
	if from == "" {
		return "", ""
	}
	from, err := filepath.Abs(from)
	if err == nil {
		from, err = filepath.EvalSymlinks(from) // as the repository's own path is
	}
	if err != nil || !within(from, repo) {
		return "", ""
	}
	if rel, err = filepath.Rel(repo, from); err != nil || rel == "." {
		return "", ""
	}
	return inWorkspace(d, rel)
}

// inWorkspace gives a folder back if it is there. What is inside may have taken it
// away, or put a link in its place.
func inWorkspace(d store.Dir, rel string) (is, note string) {
	top, err := beneath.OpenRoot(d.Workspace())
	if err == nil {
		defer top.Close()
		var dir *beneath.Dir
		if dir, err = top.OpenDir(rel); err == nil {
			_ = dir.Close() // nothing was written
			return rel, ""
		}
	}
	return "", fmt.Sprintf("the folder %s is not in the workspace, or can't be entered: the command starts at its top", diffreview.SafeName(rel))
}
