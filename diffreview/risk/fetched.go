package risk

import (
	"bytes"
	"regexp"
	"sync"
)

// maxFetched bounds the fetched files of one file that are followed.
const maxFetched = 40

// fetchedReach is how many lines after a fetch a use of what came is looked for.
const fetchedReach = 12

// fetchedThenRun finds files that are fetched by one command and made executable
// or started by a later one, on the same line or below.
func fetchedThenRun(s *subject, with picked) (hits []hit) {
	fetches, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	for n, l := range fetches {
		if n == maxFetched {
			break
		}
		if s.commentLine(l.text) {
			continue
		}
		name, rest := fetchedTo(clip(l.text))
		if name == nil {
			continue
		}
		if starts(rest, name) || s.startsBelow(l.no, name) {
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

// startsBelow says whether one of the next lines that were added starts a file.
func (s *subject) startsBelow(no int, name []byte) bool {
	for _, l := range s.fresh {
		if l.no > no && l.no <= no+fetchedReach && !s.commentLine(l.text) && starts(clip(l.text), name) {
			return true
		}
	}
	return false
}

var (
	fetchTarget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:curl|wget|aria2c)\b[^|;&]*?\s(?:-\w*[oO]|--output(?:-document)?)[= ]*["']?([^\s"';&|]+)["']?|` +
			`\b(?:curl|wget)\b[^|;&]*>\s*["']?([^\s"';&|>]+)["']?|` +
			`\b(?:wget|curl\s[^|;&]*-\w*O\w*)\b[^|;&]*?https?://[^\s"';&|]*/([\w.-]+)["']?|` +
			`\b(?:urlretrieve|download_file|DownloadFile|download)\(.*,\s*r?["']([^"']+)["']|` +
			`\b(?:Invoke-WebRequest|iwr|Start-BitsTransfer|irm)\b.*?-(?:OutFile|Destination|o)\s+["']?([^\s"';|]+)["']?`)
	})
	// What a shell starts a file by, before its name: the beginning of a command.
	starter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|&&|\|\||[;(|]|\bthen|\bdo|\belse)\s*(?:(?:sudo|exec|nohup|env|command|time|eval|source|\.|(?:ba|z|da|k)?sh|python[\d.]*|perl|ruby|node|php|pwsh|powershell|Start-Process|&|chmod|rundll32|msiexec)\s+(?:-\w+\s+|\+?[0-7ugoarwx+]+\s+)*)*["']?(?:\./)?$`)
	})
	caller = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:chmod|exec\w*|spawn\w*|system|popen|Popen|run|call|check_call|check_output|startfile|Start|execSync|execFile\w*|runpy\.\w+|run_path|load|loads|import_module|LoadLibrary|CDLL)\s*\(\s*\[?\s*(?:r?["'](?:(?:ba)?sh|python3?|node|perl|ruby)["']\s*,\s*)?r?["']$`)
	})
)

// fetchedTo gives the file that a line fetches to, and what of the line follows.
func fetchedTo(text []byte) (name, rest []byte) {
	at := fetchTarget().FindSubmatchIndex(text)
	if at == nil {
		return nil, nil
	}
	for g := 2; g+1 < len(at); g += 2 {
		if at[g] >= 0 {
			name = text[at[g]:at[g+1]]
			break
		}
	}
	if len(name) < 2 || bytes.HasPrefix(name, []byte("http")) || bytes.Equal(name, []byte("/dev/null")) {
		return nil, nil
	}
	return name, text[at[1]:]
}

// starts says whether a text makes a file executable or starts it.
func starts(text, name []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], name)
		if i < 0 {
			return false
		}
		before := text[:from+i]
		if starter().Match(before) || caller().Match(before) {
			return true
		}
		from += i + len(name)
	}
}
