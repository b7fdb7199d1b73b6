package risk

import (
	"bytes"
	"slices"
)

// macroCode takes the lines of a file that has macros which the compiler runs.
func macroCode(s *subject, with picked) (hits []hit) {
	lines, whole := with.added()
	if len(lines) == 0 || !bytes.Contains(s.content(s.f.New), []byte("proc_macro")) {
		return nil
	}
	for _, l := range lines {
		if !s.commentLine(l.text) {
			hits = append(hits, hit{line: l.no})
		}
	}
	if !whole {
		hits = append(hits, s.tooMany())
	}
	return hits
}

// rustBuild is for what cargo runs or obeys at a build. Below a folder of sources
// build.rs is a module as any other unless it can be started.
func rustBuild(s *subject, _ picked) []hit {
	if s.onlyComments("#") {
		return []hit{{severity: note}}
	}
	main := []byte("fn main")
	if s.base == "build.rs" && slices.Contains(s.segs[:len(s.segs)-1], "src") && !s.f.Binary &&
		!bytes.Contains(s.content(s.f.New), main) && !bytes.Contains(s.content(s.f.Old), main) {
		return nil
	}
	return []hit{{}}
}
