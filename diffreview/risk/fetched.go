package risk

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"sync"
)

// fetchedReach is how many lines after a fetch a use of what came is looked for,
// fetchedLook how many bytes of each line are looked at, fetchedNames how often on
// one of them a name, and fetchedBefore how many bytes before it. Of a file the
// first fetchedMany are followed; more are a finding.
const (
	fetchedReach  = 12
	fetchedLook   = 1 << 10
	fetchedNames  = 8
	fetchedBefore = 160
	fetchedMany   = 500
)

// fetchedThenRun finds files that are fetched by one command and made executable
// or started by a later one, on the same line or below, and what is fetched into a
// variable and run out of it.
func fetchedThenRun(s *subject, with picked) (hits []hit) {
	fetches, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	followed := 0
	for _, l := range fetches {
		if s.commentLine(l.text) {
			continue
		}
		if followed++; followed > fetchedMany {
			return append(hits, hit{why: fmt.Sprintf("only the first %d lines that fetch something were looked at", fetchedMany)})
		}
		if name, rest := fetchedTo(l.text[:min(len(l.text), fetchedLook)]); name != nil && (starts(rest, name) || s.below(l.no, func(text []byte) bool { return starts(text, name) })) {
			hits = append(hits, hit{line: l.no})
			continue
		}
		if s.runsVariable(l) {
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

// below says whether found holds for one of the next lines that were added.
func (s *subject) below(no int, found func(text []byte) bool) bool {
	next := sort.Search(len(s.fresh), func(i int) bool { return s.fresh[i].no > no })
	for _, l := range s.fresh[next:] {
		if l.no > no+fetchedReach {
			break
		}
		if !s.commentLine(l.text) && found(l.text[:min(len(l.text), fetchedLook)]) {
			return true
		}
	}
	return false
}

// runsVariable says whether a line fetches into a variable which, or another one
// made of it, is run below.
func (s *subject) runsVariable(l line) bool {
	at := fetchVariable().FindSubmatch(l.text[:min(len(l.text), fetchedLook)])
	if at == nil {
		return false
	}
	names := [][]byte{at[1]}
	return s.below(l.no, func(text []byte) bool {
		for _, name := range names {
			if run := runsText().FindIndex(text); run != nil && holdsWord(text[run[0]:], name) || pipesToShell().Match(text) && holdsWord(text, name) {
				return true
			}
		}
		if to := assigned().FindSubmatch(text); to != nil && len(names) < 4 && holdsWord(to[2], names[len(names)-1]) {
			names = append(names, to[1])
		}
		return false
	})
}

func partOfWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// holdsWord says whether a name stands in a text, and not as a part of another.
func holdsWord(text, name []byte) bool {
	for from := 0; ; {
		i := bytes.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !partOfWord(text[i-1]) && text[i-1] != '.') && (end == len(text) || !partOfWord(text[end])) {
			return true
		}
		from = end
	}
}

var (
	fetchVariable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:(?:const|let|var|my|local|export)\s+)?\$?(\w+)\s*(?::=|=)\s*["']?.*(?:requests\.(?:get|post)|httpx\.get|urlopen\(|\bfetch\(|axios|\bgot\(|http\.Get\(|Net::HTTP\.get|URI\.open\(|file_get_contents\(\s*["']https?:|\$\(\s*(?:curl|wget)\b|` + "`" + `\s*(?:curl|wget)\b|Invoke-WebRequest|\biwr\s|Invoke-RestMethod|\birm\s|DownloadString)`)
	})
	runsText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^.\w])(?:exec|eval|execfile|loadstring|instance_eval|class_eval|new\s+Function|Function|iex|Invoke-Expression|runInThisContext|runInNewContext|os\.system|execSync|(?:ba|z|da|k)?sh\s+-\w*c|python3?\s+-c|node\s+-e|perl\s+-e|ruby\s+-e)\b|\b(?:vm\.run\w*|marshal\.loads|pickle\.loads|_compile)\s*\(`)
	})
	pipesToShell = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\|\s*(?:sudo\s+)?(?:\S*/)?(?:(?:ba|z|da|k)?sh|python3?|perl|ruby|node)\b\s*(?:-\w*\s*)*(?:$|[;&|)])|<<<`)
	})
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:(?:const|let|var|my|local)\s+)?\$?(\w+)\s*(?::=|=)([^=].*)$`)
	})
)

var (
	fetchTarget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:curl|wget|aria2c)\b[^|;&]*?\s(?:-\w*[oO]|--output(?:-document)?)[= ]*["']?([^\s"';&|]+)["']?|` +
			`\b(?:curl|wget)\b[^|;&]*>\s*["']?([^\s"';&|>]+)["']?|` +
			`\b(?:wget|curl\s[^|;&]*-\w*O\w*)\b[^|;&]*?https?://[^\s"';&|]*/([\w.-]+)["']?|` +
			`\b(?:urlretrieve|download_file|DownloadFile|download)\(.*,\s*r?["']([^"']+)["']|` +
			`\b(?:Invoke-WebRequest|iwr|Start-BitsTransfer|irm)\b.*?-(?:OutFile|Destination|o)\s+["']?([^\s"';|]+)["']?|` +
			`\b(?:open|write\w*|binwrite|writeFile|writeFileSync|Path|outputFile\w*)\(\s*r?["']([^"']+)["'].*\b(?:requests\.get|httpx\.get|urlopen|fetch|URI\.open|got|axios|Net::HTTP)\b`)
	})
	// What a shell starts a file by, before its name: the beginning of a command.
	starter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|&&|\|\||[;(|]|\bthen|\bdo|\belse)\s*(?:(?:sudo|exec|nohup|env|command|time|eval|source|\.|(?:ba|z|da|k)?sh|python[\d.]*|perl|ruby|node|php|pwsh|powershell|Start-Process|&|chmod|rundll32|msiexec)\s+(?:-\w+\s+|\+?[0-7ugoarwx+]+\s+)*)*["']?(?:\.[/\\])?$`)
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
	from := 0
	for range fetchedNames {
		i := bytes.Index(text[from:], name)
		if i < 0 {
			return false
		}
		before, after := text[max(0, from+i-fetchedBefore):from+i], text[from+i+len(name):]
		if len(after) > 0 && (partOfWord(after[0]) || after[0] == '-' || after[0] == '.' && len(after) > 1 && partOfWord(after[1])) {
			from += i + len(name)
			continue
		}
		if starter().Match(before) || caller().Match(before) {
			return true
		}
		from += i + len(name)
	}
	return false
}
