package risk

import (
	"bytes"
	"path"
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
	run   *run
	lower string
	segs  []string // of the lower-case path
	base  string
	ext   string
	prose bool // documentation: what it says is not run
	data  bool // rows of data rather than code
	lock  bool
	test  bool

	// Added and removed lines, without those that only moved within the file.
	added, removed []line
	// by rule: which of them hold one of its words
	addedWith, removedWith map[uint16][]int32
	// everything added, moved or not
	fresh []line
}

func (r *run) subject(f *diffreview.File) *subject {
	s := &subject{f: f, run: r, lower: strings.ToLower(f.Path)}
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
	gone := map[string]int{}
	total := 0
	for i := range s.f.Hunks {
		for _, l := range s.f.Hunks[i].Lines {
			switch l.Op {
			case '-':
				gone[string(bytes.TrimSpace(l.Text))]++
				total++
			case '+':
				total++
			}
		}
	}
	moved := map[string]int{}
	for i := range s.f.Hunks {
		h := &s.f.Hunks[i]
		last := h.NewStart + h.NewLines - 1
		next := h.NewStart
		for _, l := range h.Lines {
			switch l.Op {
			case ' ':
				next = l.New + 1
			case '+':
				next = l.New + 1
				s.fresh = append(s.fresh, line{l.New, l.Text})
				key := string(bytes.TrimSpace(l.Text))
				if gone[key] > moved[key] {
					moved[key]++
					continue
				}
				s.added = append(s.added, line{l.New, l.Text})
			case '-':
				s.removed = append(s.removed, line{max(min(next, last), 0), l.Text})
			}
		}
	}
	kept := s.removed[:0]
	for _, l := range s.removed {
		if key := string(bytes.TrimSpace(l.text)); moved[key] > 0 {
			moved[key]--
			continue
		}
		kept = append(kept, l)
	}
	s.removed = kept
	s.addedWith, s.removedWith = ruleWords().index(s.added), ruleWords().index(s.removed)
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
	plain := func(lines []line) bool {
		for _, l := range lines {
			t := bytes.TrimSpace(l.text)
			if len(t) == 0 {
				continue
			}
			rest, ok := bytes.CutPrefix(t, []byte(start))
			if !ok || len(rest) > 0 && rest[0] != ' ' || bytes.HasSuffix(t, []byte("\\")) || bytes.ContainsAny(t, "=`$") {
				return false
			}
		}
		return true
	}
	return plain(s.added) && plain(s.removed)
}

// content gives a side's bytes, or nil when there are none or they are too large.
func (s *subject) content(e diffreview.Entry) []byte {
	if e.Kind != diffreview.KindFile || e.Size > maxContent {
		return nil
	}
	b, err := s.run.content(e.Blob)
	if err != nil {
		s.run.fail(s.f.Path, err)
		return nil
	}
	return b
}

// maxContent bounds what a rule reads whole.
const maxContent = 16 << 20
