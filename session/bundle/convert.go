package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/baseline"
)

func (e entry) entry() diffreview.Entry {
	return diffreview.Entry{Kind: e.Kind, Exec: e.Exec, Blob: e.Blob, Size: e.Size, Target: string(e.Target)}
}

func entryOf(e diffreview.Entry) entry {
	return entry{e.Kind, e.Exec, e.Blob, e.Size, []byte(e.Target)}
}

func (i ignored) ignored() diffreview.IgnoredChanges {
	return diffreview.IgnoredChanges{Count: i.Count, Paths: stringsOf(i.Paths), Truncated: i.Truncated}
}

func leftOuts(list []leftOut) (out []diffreview.LeftOut) {
	for _, l := range list {
		out = append(out, diffreview.LeftOut{Path: string(l.Path), Reason: l.Reason, Size: l.Size})
	}
	return out
}

func (f *facts) facts(newlyIgnored [][]byte) session.Facts {
	out := session.Facts{
		Paths: stringsOf(f.Paths), Links: map[string]string{}, HooksPath: string(f.HooksPath),
		Untracked: stringsOf(f.Untracked), NewlyIgnored: stringsOf(newlyIgnored),
	}
	for _, l := range f.Links {
		out.Links[string(l.Path)] = string(l.Target)
	}
	return out
}

func factsOf(f *session.Facts) *facts {
	out := &facts{Paths: bytesOf(f.Paths), HooksPath: []byte(f.HooksPath), Untracked: bytesOf(f.Untracked), Links: []link{}}
	for _, p := range slices.Sorted(maps.Keys(f.Links)) {
		out.Links = append(out.Links, link{[]byte(p), []byte(f.Links[p])})
	}
	return out
}

// changesOf gives the changes of a snapshot but those that are left out, which
// are listed instead.
func changesOf(snap *baseline.Snapshot, leftAtCopy []diffreview.LeftOut, applied map[string]bool, out func(string) bool) *changes {
	c := &changes{
		Changes: []change{}, LeftOut: []leftOut{}, NewlyIgnored: [][]byte{}, Applied: slices.Sorted(maps.Keys(applied)),
		Ignored: ignored{snap.Ignored.Count, bytesOf(snap.Ignored.Paths), snap.Ignored.Truncated},
	}
	for _, x := range snap.Changes() {
		if out(x.Path) {
			c.LeftOut = append(c.LeftOut, leftOut{[]byte(x.Path), "changed, and left out of the bundle by whoever exported it", x.New.Size})
			continue
		}
		c.Changes = append(c.Changes, change{[]byte(x.Path), entryOf(x.Old), entryOf(x.New), x.Ignored})
	}
	for _, l := range append(slices.Clone(leftAtCopy), snap.LeftOut...) {
		c.LeftOut = append(c.LeftOut, leftOut{[]byte(l.Path), clean(l.Reason), l.Size})
	}
	for _, p := range snap.NewlyIgnored {
		if !out(p) {
			c.NewlyIgnored = append(c.NewlyIgnored, []byte(p))
		}
	}
	return c
}

func byPath(a, b diffreview.Change) int { return strings.Compare(a.Path, b.Path) }

// editsOf names the reviewers' own texts, sorted.
func editsOf(dec *diffreview.Decisions) []diffreview.Blob {
	all := map[diffreview.Blob]bool{}
	for _, rec := range dec.Units {
		if rec.Edit != "" {
			all[rec.Edit] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func stringsOf(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

// clean makes a text that JSON holds as it is.
func clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// peekVersion tells a bundle of another version from a damaged one, before its
// unknown keys do.
func peekVersion(raw []byte) error {
	var head struct {
		Format  string
		Version int
	}
	if json.Unmarshal(raw, &head) == nil && head.Format == formatName && head.Version != Version {
		return fmt.Errorf("a bundle of version %d: this build reads version %d", head.Version, Version)
	}
	return nil
}

// Shown makes a text from elsewhere such that a terminal can only show it. The
// screens take names of sessions, policies and accounts for plain, for on this
// machine they are; in a bundle nothing is.
func Shown(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, x := range diffreview.Visible([]byte(line)) {
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

// shownLine is Shown for what stands in a line, cut to maxName characters.
func shownLine(s string) string {
	r := []rune(strings.ReplaceAll(Shown(s), "\n", " "))
	return string(r[:min(len(r), maxName)])
}

// maxName is how many characters a name from elsewhere may have on a screen.
const maxName = 64

// plain makes what decisions say of who and where plain.
func plain(dec *diffreview.Decisions) {
	for id, rec := range dec.Units {
		rec.By, rec.TTY, rec.Via = shownLine(rec.By), shownLine(rec.TTY), shownLine(rec.Via)
		dec.Units[id] = rec
	}
	for i := range dec.Comments {
		c := &dec.Comments[i]
		c.By, c.TTY = shownLine(c.By), shownLine(c.TTY)
	}
}
