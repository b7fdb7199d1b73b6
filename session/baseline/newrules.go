package baseline

import (
	"slices"
	"strings"

	"fumehood/diffreview"
)

// maxRules bounds one ignore file that was written inside.
const maxRules = 1 << 20

// newlyIgnored finds the added paths that the ignore files as they are now
// would hide. The text of those files is hostile: it is matched, in linear
// time, and decides nothing but the group that a path is shown in.
func (t *taker) newlyIgnored(s *Snapshot) error {
	rules := t.m.Rules
	rules.Files = slices.Clone(rules.Files)
	changed := false
	for _, c := range s.changes {
		dir, isRules := strings.CutSuffix(c.Path, ".gitignore")
		if !isRules || dir != "" && !strings.HasSuffix(dir, "/") {
			continue
		}
		changed = true
		dir = strings.TrimSuffix(dir, "/")
		rules.Files = slices.DeleteFunc(rules.Files, func(f IgnoreFile) bool { return f.Dir == dir })
		if c.New.Kind != diffreview.KindFile || c.New.Size > maxRules {
			continue
		}
		text, err := s.Content(c.New.Blob, maxRules)
		if err != nil {
			return err
		}
		rules.Files = append(rules.Files, IgnoreFile{Dir: dir, Text: string(text)})
	}
	if !changed {
		return nil
	}
	now := rules.Compile()
	for _, c := range s.changes {
		if c.Old.Kind == diffreview.KindAbsent && now.Path(c.Path, false) {
			s.NewlyIgnored = append(s.NewlyIgnored, c.Path)
		}
	}
	return nil
}
