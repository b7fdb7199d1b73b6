package risk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fumehood/diffreview"
)

// line is one changed line. no is its number in the new file; for a removed one
// that of the line now in its place, or of the last.
type line struct {
	no   int
	text []byte
}

// subject is one file as the rules see it.
type subject struct {
	f     *diffreview.File
	read  func(diffreview.Blob) ([]byte, error)
	err   error // the first that read gave
	env   *Env
	set   *changes // what the change as a whole is; only for rules that need it
	lower string
	segs  []string // of the lower-case path
	base  string
	ext   string
	prose bool // documentation: what it says is not run
	data  bool // rows of data rather than code
	lock  bool
	test  bool
	named bool // a rule knows the file by its path

	// Added and removed lines, without those that only moved within the file.
	added, removed []line
	// everything added, moved or not, and which of it has bytes outside
	// printable ASCII
	fresh []line
	odd   []int32
	lists *lists // whose memory the lines are in, until forget
	// which of added and removed hold words of rules
	marks, goneMarks *marks
	// of test files: the tests and assertions that went away or came
	tests, asserts turnover
}

func newSubject(f *diffreview.File, read func(diffreview.Blob) ([]byte, error), env *Env) *subject {
	s := &subject{f: f, read: read, env: env, lower: strings.ToLower(f.Path)}
	s.segs = strings.Split(s.lower, "/")
	s.base = s.segs[len(s.segs)-1]
	s.ext = path.Ext(s.base)
	s.prose = proseExt.has(s.ext) && !notProse.has(s.base) && !strings.HasPrefix(s.base, "requirements") ||
		s.ext == "" && proseBase.has(s.base)
	s.data = dataExt.has(s.ext)
	s.lock = isLock(s.base)
	s.test = f.Group() == diffreview.GroupTests
	s.readLines()
	return s
}

// scan finds the words of all rules in the changed lines. forget gives back what
// it took.
func (s *subject) scan(b *book) {
	s.marks = b.words.marks()
	b.words.scan(s.added, s.marks)
	if !s.testish() || len(s.removed) == 0 {
		return
	}
	s.goneMarks = b.words.marks()
	b.words.scan(s.removed, s.goneMarks)
	for _, r := range b.rules {
		switch r.Line {
		case testDecl:
			s.tests = s.turnover(picked{s, r})
		case assertLine:
			s.asserts = s.turnover(picked{s, r})
		}
	}
}

// forget drops what only File needs, so that a large change set holds little.
func (s *subject) forget() {
	for _, m := range []*marks{s.marks, s.goneMarks} {
		if m != nil {
			m.release()
		}
	}
	added, fresh := s.testish() || isIgnoreFile(s.base), s.base == "head"
	if !added && !fresh {
		s.lists.giveBack()
	}
	s.marks, s.goneMarks, s.lists, s.odd, s.removed = nil, nil, nil, nil, nil
	if !added {
		s.added = nil
	}
	if !fresh {
		s.fresh = nil
	}
}

// lists are memory for the lines of one file after another.
type lists struct{ fresh, removed, apart []line }

var listsPool sync.Pool

// mostLines is how many lines a list may have grown to and be kept.
const mostLines = 1 << 16

func takeLists() *lists {
	if l, ok := listsPool.Get().(*lists); ok {
		return l
	}
	return &lists{}
}

func (l *lists) giveBack() {
	for _, list := range []*[]line{&l.fresh, &l.removed, &l.apart} {
		if cap(*list) > mostLines {
			*list = nil
		}
		clear(*list) // no file's text stays reachable
		*list = (*list)[:0]
	}
	listsPool.Put(l)
}

var (
	proseExt = words(".md .markdown .rst .adoc .asciidoc .txt .org .tex .pod .texi")
	notProse = words("cmakelists.txt constraints.txt conanfile.txt meson_options.txt pip-requirements.txt dev-requirements.txt runtime.txt")
	// Names without an ending that hold prose.
	proseBase = words("readme license licence copying changelog authors contributors notice news todo history")
	dataExt   = words(".csv .tsv .json .jsonl .ndjson .geojson .svg .po .pot .xliff .ipynb .snap .map .xml .plist .lock .sum .srt .vtt .gpx .kml .dat .log .diff .patch .golden .txtar .hex .ics .bib .ts_data .sql")
	lockBase  = words("go.sum go.work.sum package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock bun.lock cargo.lock poetry.lock uv.lock pdm.lock pipfile.lock gemfile.lock composer.lock gradle.lockfile verification-metadata.xml packages.lock.json mix.lock pubspec.lock podfile.lock package.resolved flake.lock conda-lock.yml pixi.lock deno.lock cartfile.resolved conan.lock vcpkg-lock.json stack.yaml.lock cabal.project.freeze manifest.toml .terraform.lock.hcl module.bazel.lock chart.lock paket.lock rebar.lock shard.lock project.assets.json npm-shrinkwrap.yaml pylock.toml")
)

// set is a set of words, made when it is first asked: package variables that
// hold maps would cost every start of the program.
type set struct {
	list string
	once sync.Once
	m    map[string]bool
}

func words(list string) *set { return &set{list: list} }

func (s *set) has(w string) bool {
	s.once.Do(func() {
		s.m = map[string]bool{}
		for w := range strings.FieldsSeq(s.list) {
			s.m[w] = true
		}
	})
	return s.m[w]
}

func isLock(base string) bool {
	return lockBase.has(base) || strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".lockfile")
}

func (s *subject) gone() bool { return s.f.New.Kind == diffreview.KindAbsent }
func (s *subject) came() bool { return s.f.Old.Kind == diffreview.KindAbsent }

// hunkEnd is the last line of the hunk around a line of the new file.
func (s *subject) hunkEnd(no int) int {
	if h := s.f.HunkAt(no); h != nil {
		return h.NewStart + h.NewLines - 1
	}
	return no
}

// readLines gathers the changed lines. A line that was removed in one place of
// the file and added in another, but for its indentation, only moved: the host
// had it before.
func (s *subject) readLines() {
	all := 0
	for i := range s.f.Hunks {
		all += len(s.f.Hunks[i].Lines)
	}
	s.lists = takeLists()
	s.fresh = slices.Grow(s.lists.fresh, min(all, s.f.Added))
	s.removed = slices.Grow(s.lists.removed, min(all, s.f.Removed))
	for i := range s.f.Hunks {
		h := &s.f.Hunks[i]
		last := h.NewStart + h.NewLines - 1
		next := h.NewStart
		for k := range h.Lines {
			l := &h.Lines[k]
			switch l.Op {
			case ' ':
				next = l.New + 1
			case '+':
				next = l.New + 1
				if odd(l.Text) {
					s.odd = append(s.odd, int32(len(s.fresh)))
				}
				s.fresh = append(s.fresh, line{l.New, l.Text})
			case '-':
				s.removed = append(s.removed, line{max(min(next, last), 0), l.Text})
			}
		}
	}
	s.lists.fresh, s.lists.removed = s.fresh, s.removed
	s.added = s.fresh
	if len(s.fresh) > 0 && len(s.removed) > 0 {
		s.dropMoved()
	}
}

// lineSeed makes the hashes of lines: nobody can look for two lines of one hash
// who does not know it.
var lineSeed = maphash.MakeSeed()

func (s *subject) dropMoved() {
	hash := func(l line) uint64 { return maphash.Bytes(lineSeed, bytes.TrimSpace(l.text)) }
	gone := make(map[uint64]int32, len(s.removed)) // how often it was removed and not added again
	for _, l := range s.removed {
		gone[hash(l)]++
	}
	var moved map[uint64]int32
	for i, l := range s.fresh {
		key := hash(l)
		n := gone[key]
		if n == 0 {
			if moved != nil {
				s.added = append(s.added, l)
			}
			continue
		}
		if moved == nil {
			moved = map[uint64]int32{}
			s.added = append(s.lists.apart, s.fresh[:i]...)
		}
		gone[key] = n - 1
		moved[key]++
	}
	if moved == nil {
		return
	}
	s.lists.apart = s.added
	kept := s.removed[:0]
	for _, l := range s.removed {
		if key := hash(l); moved[key] > 0 {
			moved[key]--
			continue
		}
		kept = append(kept, l)
	}
	s.removed = kept
}

// odd says whether a line has a byte outside printable ASCII. It looks at eight
// bytes at a time, and only at those with a tab or something odd one by one.
func odd(b []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		if ((x-' '*ones)&^x|x|(x+ones))&high != 0 && oddByte(b[:8]) {
			return true
		}
	}
	return oddByte(b)
}

func oddByte(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return true
		}
	}
	return false
}

// commentLine says whether a line is nothing but a comment, by what starts it in
// the common languages.
func (s *subject) commentLine(b []byte) bool {
	t := bytes.TrimSpace(b)
	for _, p := range []string{"//", "/*", "* ", "--", ";;", "<!--", "\"\"\""} {
		if bytes.HasPrefix(t, []byte(p)) {
			return true
		}
	}
	if bytes.HasPrefix(t, []byte("#")) {
		// #[attribute], #include, #!interpreter and #define are no comments.
		return len(t) == 1 || t[1] == ' ' || t[1] == '#'
	}
	return false
}

// onlyComments says whether nothing but blank and comment lines changed. What a
// comment can mean to a tool (a directive, a continued line) does not count as
// one.
func (s *subject) onlyComments(start string) bool {
	if s.f.Binary || s.f.Status != diffreview.Modified || len(s.f.Hunks) == 0 || s.f.Old.Exec != s.f.New.Exec {
		return false
	}
	explained := map[string]int{} // what stands before the explanation of a target
	plain := func(lines []line, n int) bool {
		for _, l := range lines {
			t := bytes.TrimSpace(l.text)
			if len(t) == 0 {
				continue
			}
			if at := targetHelp().FindIndex(l.text); start == "#" && at != nil && !bytes.HasSuffix(t, []byte("\\")) {
				explained[string(bytes.TrimSpace(l.text[:at[1]]))] += n
				continue
			}
			rest, ok := bytes.CutPrefix(t, []byte(start))
			if !ok || len(rest) > 0 && rest[0] != ' ' || bytes.HasSuffix(t, []byte("\\")) || bytes.ContainsAny(t, "=`$") {
				return false
			}
		}
		return true
	}
	if !plain(s.added, 1) || !plain(s.removed, -1) {
		return false
	}
	for _, n := range explained {
		if n != 0 {
			return false
		}
	}
	return true
}

// targetHelp is a target of a makefile up to the comment that explains it, which a
// help target prints.
var targetHelp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[\\w.%/-]+( [\\w.%/-]+)*:[^=#\"'`$]*\\s##") })

// content gives a side's bytes, or nil when there are none or they are too large.
func (s *subject) content(e diffreview.Entry) []byte {
	if e.Kind != diffreview.KindFile || e.Size > maxContent {
		return nil
	}
	b, err := s.read(e.Blob)
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("examine %q: %w", s.f.Path, err)
		}
		return nil
	}
	return b
}

// maxContent bounds what a rule reads whole.
const maxContent = 16 << 20
