package diffreview

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"fumehood/diffreview/linediff"
)

// Which chooses what a patch holds.
type Which struct {
	// ApprovedOnly leaves out what is not approved; else the whole change set.
	ApprovedOnly bool
	// Only narrows to the files that fit it. Nil: all.
	Only func(path string) bool
	// SHA256 names objects as a repository of git's newer format does. git apply
	// compares the names of binaries with it.
	SHA256 bool
}

// Patch writes the change set in git's format, such that "git apply" makes the
// snapshot's exact bytes of the baseline's. content reads blobs of either side
// whole. Nothing is written for a file without chosen units.
func Patch(w io.Writer, cs *ChangeSet, content func(Blob) ([]byte, error), which Which) error {
	files := make([]*File, 0, len(cs.Files))
	for i := range cs.Files {
		if cs.Files[i].Fits(which.Only) {
			files = append(files, &cs.Files[i])
		}
	}
	// git checks a name against what the patch has done before it, so the order
	// of the list, risky first, would not do.
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	out := bufio.NewWriter(w)
	var parts []filePatch
	for _, f := range files {
		ps, err := planPatch(f, content, which)
		if err != nil {
			return err
		}
		parts = append(parts, ps...)
	}
	slices.SortStableFunc(parts, func(a, b filePatch) int { return strings.Compare(a.path, b.path) })
	for i := range parts {
		if err := parts[i].fill(content); err != nil {
			return err
		}
		if err := parts[i].write(out); err != nil {
			return err
		}
		parts[i] = filePatch{}
	}
	return out.Flush()
}

// filePatch is one path on both sides.
type filePatch struct {
	path             string
	from, to         Entry
	fresh            []byte // the new side's content, where the store has none
	oldMode, newMode string
	old, new         []byte
	sha256           bool
	binary           bool
}

// planPatch gives the paths that a file of the change set is about: a rename is
// a file that goes and one that comes, as apply has it.
func planPatch(f *File, content func(Blob) ([]byte, error), which Which) ([]filePatch, error) {
	if which.ApprovedOnly {
		var out []filePatch
		todo, err := Outcomes(f, content)
		for _, o := range todo {
			out = append(out, filePatch{path: o.Path, from: o.Base, to: o.Want, fresh: o.Content, sha256: which.SHA256})
		}
		return out, err
	}
	if f.Status == Renamed {
		return []filePatch{{path: f.OldPath, from: f.Old, sha256: which.SHA256}, {path: f.Path, to: f.New, sha256: which.SHA256}}, nil
	}
	return []filePatch{{path: f.Path, from: f.Old, to: f.New, sha256: which.SHA256}}, nil
}

// fill reads both sides.
func (p *filePatch) fill(content func(Blob) ([]byte, error)) error {
	get := func(e Entry, fresh []byte) ([]byte, error) {
		switch {
		case e.Kind == KindSymlink:
			return []byte(e.Target), nil
		case e.Kind == KindFile && e.Blob == "":
			return fresh, nil
		case e.Kind == KindFile:
			b, err := content(e.Blob)
			if err != nil {
				return nil, fmt.Errorf("read %q: %w", p.path, err)
			}
			return b, nil
		}
		return nil, nil
	}
	var err error
	if p.old, err = get(p.from, nil); err != nil {
		return err
	}
	if p.new, err = get(p.to, p.fresh); err != nil {
		return err
	}
	p.oldMode, p.newMode = p.from.Mode(), p.to.Mode()
	p.binary = linediff.Binary(p.old) || linediff.Binary(p.new) || linediff.TooLarge(p.old) || linediff.TooLarge(p.new)
	return nil
}

func (p filePatch) write(w *bufio.Writer) error {
	if p.oldMode == "" && p.newMode == "" {
		return nil
	}
	// A file that became a link, or the reverse, is two patches to git.
	if p.oldMode != "" && p.newMode != "" && (p.oldMode == "120000") != (p.newMode == "120000") {
		gone, come := p, p
		gone.newMode, gone.new = "", nil
		come.oldMode, come.old = "", nil
		if err := gone.write(w); err != nil {
			return err
		}
		return come.write(w)
	}
	a, b := gitQuote("a/"+p.path), gitQuote("b/"+p.path)
	fmt.Fprintf(w, "diff --git %s %s\n", a, b)
	same := bytes.Equal(p.old, p.new)
	mode := ""
	switch {
	case p.oldMode == "":
		fmt.Fprintf(w, "new file mode %s\n", p.newMode)
	case p.newMode == "":
		fmt.Fprintf(w, "deleted file mode %s\n", p.oldMode)
	case p.oldMode != p.newMode:
		fmt.Fprintf(w, "old mode %s\nnew mode %s\n", p.oldMode, p.newMode)
		if same {
			return nil
		}
	default:
		mode = " " + p.oldMode
	}
	fmt.Fprintf(w, "index %s..%s%s\n", p.oid(p.oldMode, p.old), p.oid(p.newMode, p.new), mode)
	if len(p.old) == 0 && len(p.new) == 0 {
		return nil
	}
	if p.binary {
		io.WriteString(w, "GIT binary patch\n")
		if err := literal(w, p.new); err != nil {
			return err
		}
		return literal(w, p.old)
	}
	// git takes a tab as the end of a name that holds a space.
	if p.oldMode == "" {
		a = "/dev/null"
	} else if strings.Contains(p.path, " ") && a[0] != '"' {
		a += "\t"
	}
	if p.newMode == "" {
		b = "/dev/null"
	} else if strings.Contains(p.path, " ") && b[0] != '"' {
		b += "\t"
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", a, b)
	hs, _, _ := hunks(&File{}, p.old, p.new)
	for i := range hs {
		writeHunk(w, &hs[i])
	}
	return nil
}

func writeHunk(w *bufio.Writer, h *Hunk) {
	side := func(start, lines int) string {
		if lines == 1 {
			return fmt.Sprint(start)
		}
		return fmt.Sprintf("%d,%d", start, lines)
	}
	fmt.Fprintf(w, "@@ -%s +%s @@\n", side(h.OldStart, h.OldLines), side(h.NewStart, h.NewLines))
	for _, l := range h.Lines {
		w.WriteByte(l.Op)
		w.Write(l.Text)
		w.WriteByte('\n')
		if l.NoEOL {
			w.WriteString("\\ No newline at end of file\n")
		}
	}
}

// oid names content as a git object; a side that is absent has the null name.
func (p filePatch) oid(mode string, b []byte) string {
	h := sha1.New()
	if p.sha256 {
		h = sha256.New()
	}
	if mode == "" {
		return strings.Repeat("0", 2*h.Size())
	}
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// gitQuote quotes a name as git does with core.quotePath: C escapes in double
// quotes when it has a control, a quote, a backslash or a byte above 127.
func gitQuote(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f || r == '"' || r == '\\' }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		const escaped, letters = "\a\b\t\n\v\f\r\"\\", `abtnvfr"\`
		if i := strings.IndexByte(escaped, c); i >= 0 {
			b.WriteByte('\\')
			b.WriteByte(letters[i])
		} else if c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal writes one side of a binary patch: zlib in git's base 85, 52 bytes a
// line, the length of each line's bytes as its first letter.
func literal(w *bufio.Writer, b []byte) error {
	fmt.Fprintf(w, "literal %d\n", len(b))
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	if _, err := zw.Write(b); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	const perLine = 52
	for chunk := range slices.Chunk(z.Bytes(), perLine) {
		n := len(chunk)
		if n <= 26 {
			w.WriteByte(byte('A' + n - 1))
		} else {
			w.WriteByte(byte('a' + n - 27))
		}
		w.Write(base85(chunk))
		w.WriteByte('\n')
	}
	return w.WriteByte('\n')
}

const base85Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

func base85(b []byte) []byte {
	out := make([]byte, 0, (len(b)+3)/4*5)
	for chunk := range slices.Chunk(b, 4) {
		var four [4]byte
		copy(four[:], chunk)
		n := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
		var five [5]byte
		for i := 4; i >= 0; i-- {
			five[i] = base85Digits[n%85]
			n /= 85
		}
		out = append(out, five[:]...)
	}
	return out
}
