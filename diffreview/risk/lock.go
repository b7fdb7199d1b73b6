package risk

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fumehood/diffreview"
)

var lockURL = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b((?:git|hg|svn|registry|sparse)?\+?(?:https?|git|ssh|ftp|file)):(//)?([^\s"'/,;})]*)`)
})

var lockPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"(file|link|portal|exec):|resolution:\s*\{\s*(directory|tarball|repo|type)|"link"\s*:\s*true|@(file|exec|patch|git|link):|\bgithub:|\bsource\s*=\s*\{?\s*"?(git|path|url|directory|editable)|^\s*(GIT|PATH|PLUGIN SOURCE|SVN)\s*$|^\s*(remote|revision):\s`)
})

// lockSource finds places that the lock file did not have before. A new lock file
// has only new places: there just the unprotected ones count.
func lockSource(s *subject, _ picked) (hits []hit) {
	if !s.lock || s.gone() || s.f.Binary {
		return nil
	}
	known := map[string]bool{}
	old := s.content(s.f.Old)
	for _, m := range lockURL().FindAllSubmatch(old, -1) {
		known[lockHost(m)] = true
	}
	for _, l := range s.added {
		t := clip(l.text)
		h := hit{line: l.no}
		for _, m := range lockURL().FindAllSubmatch(t, -1) {
			scheme, host := strings.ToLower(string(m[1])), lockHost(m)
			switch {
			case known[host]:
				continue
			case scheme == "http" || scheme == "ftp" || scheme == "git" || strings.HasSuffix(scheme, "+http"):
				h.why = fmt.Sprintf("the next install takes a package from %s without encryption", diffreview.SafeName(string(m[3])))
			case !s.came():
				h.why = fmt.Sprintf("the next install takes a package from %s, where this lock file had none from before", diffreview.SafeName(string(m[0])))
			case strings.Contains(scheme, "git") || scheme == "file" || scheme == "ssh":
				h.why = "the next install takes a package from a place that is no registry"
			default:
				h.severity = note
			}
			hits = append(hits, h)
			break
		}
		if lockPlace().Match(t) && !bytes.Contains(old, bytes.TrimSpace(t)) {
			hits = append(hits, hit{line: l.no, why: "the next install takes a package from a place that is no registry"})
		}
	}
	return slices.DeleteFunc(hits, func(h hit) bool { return h.why == "" && h.severity == "" })
}

func lockHost(m [][]byte) string {
	host := strings.ToLower(string(m[3]))
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return strings.ToLower(string(m[1])) + "://" + host
}

var lockHash = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(sha\d+[-:=][A-Za-z0-9+/=_-]{16,}|h1:[A-Za-z0-9+/=]{16,}|contentHash"\s*:\s*"[^"]*"|[0-9a-f]{32,128}|10c?0?/[0-9a-f]{32,})`)
})

// lockIntegrity finds entries of which nothing but a checksum changes, and
// checksums that go away.
func lockIntegrity(s *subject, _ picked) (hits []hit) {
	if !s.lock && !s.pipList() && s.base != "verification-metadata.xml" || s.gone() || s.came() || s.f.Binary {
		return nil
	}
	for i := range s.f.Hunks {
		for _, entry := range lockEntries(s.f.Hunks[i].Lines) {
			if no, ok := onlyHash(entry); ok {
				hits = append(hits, hit{line: no})
			}
			if no, ok := losesHash(entry); ok {
				hits = append(hits, hit{line: no, why: "a package loses its checksum, or is taken from elsewhere than the registry"})
			}
		}
	}
	if no, ok := s.jsonLock(lockSums, lockVersions); ok && len(hits) == 0 {
		hits = append(hits, hit{line: no})
	}
	gone, come := 0, 0
	for _, l := range s.removed {
		gone += len(lockHash().FindAll(clip(l.text), -1))
	}
	for _, l := range s.added {
		come += len(lockHash().FindAll(clip(l.text), -1))
	}
	if gone > 0 && come == 0 && len(s.added) > 0 {
		hits = append(hits, hit{line: s.added[0].no, why: "packages lose their checksums"})
	}
	return hits
}

// pipList says whether pip is given the file, by its name or its checksums.
func (s *subject) pipList() bool {
	if strings.HasPrefix(s.base, "requirements") {
		return true
	}
	hash := func(l line) bool { return bytes.Contains(l.text, []byte("--hash=")) }
	return (s.ext == ".txt" || s.ext == ".in" || s.ext == ".pip") && slices.ContainsFunc(s.removed, hash)
}

var lockName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*"?(name|version|resolved|resolution)"?\s*[:=]?\s`)
})

// losesHash says whether an entry that stays loses its checksum.
func losesHash(entry []diffreview.Line) (line int, ok bool) {
	gone, stays := false, false
	for _, l := range entry {
		switch {
		case l.Op == ' ':
			stays = stays || lockName().Match(clip(l.Text))
			line = max(line, l.New)
		case lockHash().Match(clip(l.Text)):
			if l.Op == '+' {
				return 0, false
			}
			gone = true
		}
	}
	return line, gone && stays
}

var lockIdentity = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*"?(resolved|resolution|tarball|owner|repo|location)"?\s*:?\s*"?([^"\s,}]+)`)
})

// lockIdentities finds entries that stay under their name while another package
// comes in its place.
func lockIdentities(s *subject, _ picked) (hits []hit) {
	if !s.lock || s.gone() || s.came() || s.f.Binary {
		return nil
	}
	for i := range s.f.Hunks {
		for _, entry := range lockEntries(s.f.Hunks[i].Lines) {
			gone := map[string]string{} // by key
			for _, l := range entry {
				m := lockIdentity().FindSubmatch(clip(l.Text))
				if m == nil || l.Op == ' ' {
					continue
				}
				key, what := string(m[1]), packageOf(string(m[2]))
				switch before, ok := gone[key]; {
				case l.Op == '-':
					gone[key] = what
				case ok && before != what:
					hits = append(hits, hit{line: l.New, why: fmt.Sprintf("%s takes the place of %s under the same name", diffreview.SafeName(what), diffreview.SafeName(before))})
				}
			}
		}
	}
	if no, ok := s.jsonLock(lockOwners, words("")); ok && len(hits) == 0 {
		hits = append(hits, hit{line: no})
	}
	return hits
}

// packageOf is the part of a place that says which package it is: without host,
// version and file.
func packageOf(place string) string {
	if _, rest, ok := strings.Cut(place, "://"); ok {
		_, path, _ := strings.Cut(rest, "/")
		name, _, isRegistry := strings.Cut(path, "/-/")
		if isRegistry {
			return name
		}
		return "" // other addresses hold versions anywhere
	}
	if i := strings.LastIndexByte(place, '@'); i > 0 {
		return place[:i]
	}
	return place
}

// lockEntries cuts the lines of a hunk where one package ends and the next
// begins: at blank lines and closing brackets.
func lockEntries(lines []diffreview.Line) [][]diffreview.Line {
	var out [][]diffreview.Line
	start := 0
	for i, l := range lines {
		t := bytes.TrimSpace(l.Text)
		if len(t) == 0 || t[0] == '}' || bytes.HasSuffix(t, []byte("{")) || bytes.HasPrefix(t, []byte("[[")) {
			out = append(out, lines[start:i])
			start = i
		}
	}
	return append(out, lines[start:])
}

// onlyHash says whether the lines of an entry change in their checksums alone.
func onlyHash(entry []diffreview.Line) (line int, ok bool) {
	var before, after []string
	changed := false
	gone := map[string]bool{}
	for _, l := range entry {
		stripped := string(lockHash().ReplaceAll(bytes.TrimSpace(clip(l.Text)), []byte("#")))
		switch l.Op {
		case '-':
			before = append(before, stripped)
			gone[string(l.Text)] = true
		case '+':
			after = append(after, stripped)
			if line == 0 && strings.Contains(stripped, "#") && !gone[string(l.Text)] {
				line = l.New
			}
			changed = changed || !gone[string(l.Text)]
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	return line, changed && line > 0 && slices.Equal(before, after)
}

var verifies = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sha\d+sum|shasum|md5sum|b2sum)\b.*\s(-c|--check)\b|\b(sha\d+sum|shasum)\b.*(==|!=|=)|\bgpgv?\b.*--verify|\bcosign\s+verify|\bminisign\s+-V|\bsignify\s.*-V|\bslsa-verifier\b|\bgh\s+attestation\s+verify|\bcodesign\s+(-v|--verify)|\bopenssl\s+dgst\s.*-verify|Get-FileHash|--require-hashes|--frozen-lockfile|--locked\b|\bnpm\s+ci\b|--immutable\b|\bintegrity\s*[=:]\s*["'{]*sha\d+-|\b(sha256|sha512|checksum)\s*[:=]\s*["'](sha\d+[-:])?[A-Za-z0-9+/=]{32,}|\bADD\s+--checksum=|\b(gpgcheck|repo_gpgcheck)\s*=\s*1|\bsigned-by=`)
})

// mayVerify are words of which every line that verifies matches holds one.
var mayVerify = sync.OnceValue(func() *wordSet {
	return newWordSet([]string{"sum", "verif", "-V", "--", "npm ci", "FileHash", "integrity", "sha256", "sha512", "gpgcheck", "signed-by"})
})

// verifyRemoved finds checks of what was fetched that go away.
func verifyRemoved(s *subject, _ picked) (hits []hit) {
	if s.gone() || s.came() || s.prose || s.data {
		return nil
	}
	gone, at := 0, 0
	for _, l := range s.removed {
		if mayVerify().in(l.text) && verifies().Match(clip(l.text)) && !s.commentLine(l.text) {
			gone, at = gone+1, l.no
		}
	}
	if gone == 0 {
		return nil
	}
	for _, l := range s.added {
		if verifies().Match(clip(l.text)) {
			gone--
		}
	}
	if gone > 0 {
		hits = append(hits, hit{line: at})
	}
	return hits
}
