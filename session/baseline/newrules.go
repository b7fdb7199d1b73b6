package baseline

import (
	"slices"
	"strings"

	"fumehood/diffreview"
)

const (
	// maxRules bounds the ignore files that were written inside, in bytes of all
	// of them together: each byte takes some forty when it is made ready.
	maxRules = 1 << 20
	// maxSteps bounds matching them. A path takes up to its length times the
	// length of the rules: with thousands of long paths, hours.
	maxSteps = 5e8
)

// newlyIgnored finds the added paths that the ignore files as they are now
// would hide. The text of those files is hostile: it is matched, in linear
// time, and decides nothing but the group that a path is shown in. What is
// beyond a bound hides nothing, and is named.
func (t *taker) newlyIgnored(s *Snapshot) error {
	changed, tooMuch, room := map[string]bool{}, false, int64(maxRules)
	var files []IgnoreFile
	for _, c := range s.changes {
		dir, isRules := strings.CutSuffix(c.Path, ".gitignore")
		if !isRules || dir != "" && !strings.HasSuffix(dir, "/") {
			continue
		}
		dir = strings.TrimSuffix(dir, "/")
		changed[dir] = true
		if c.New.Kind != diffreview.KindFile {
			continue
		}
		if c.New.Size > room {
			tooMuch = true
			continue
		}
		room -= c.New.Size
		text, err := s.Content(c.New.Blob, maxRules)
		if err != nil {
			return err
		}
		files = append(files, IgnoreFile{Dir: dir, Text: string(text)})
	}
	if len(changed) == 0 {
		return nil
	}
	rules := t.m.Rules
	rules.Files = append(files, slices.DeleteFunc(slices.Clone(rules.Files), func(f IgnoreFile) bool { return changed[f.Dir] })...)
	now := rules.Compile()
	now.bounded, now.left = true, maxSteps
	for _, c := range s.changes {
		if c.Old.Kind == diffreview.KindAbsent && now.left > 0 && now.Path(c.Path, false) {
			s.NewlyIgnored = append(s.NewlyIgnored, c.Path)
		}
	}
	if now.left <= 0 {
		s.NewlyIgnored, tooMuch = nil, true
	}
	if tooMuch {
		s.LeftOut = append(s.LeftOut, diffreview.LeftOut{Reason: "the new ignore rules take too long to match: what they would hide is shown with the rest"})
	}
	return nil
}
