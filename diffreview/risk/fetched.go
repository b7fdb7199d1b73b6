package risk

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"sync"
)

// fetchedReach is how many lines after a fetch a use of what came is looked for,
// fetchedLook how many bytes of each line are looked at, fetchedNames how often on
// one of them a name, and fetchedBefore how many bytes before it. Of a file the
// first fetchedMany are followed; more are a finding.
const (
	fetchedReach  = 24
	fetchedLook   = 1 << 10
	fetchedNames  = 8
	fetchedBefore = 160
	fetchedMany   = 500
)

// fetchWords stand in lines of commands and scripts that fetch, programWords in those
// of programs, which hold them often for other reasons as well. runWords stand in
// lines that start something: far from one of them a program's fetch is not followed.
var (
	fetchWords   = []string{"curl", "wget", "aria2c", "urlretrieve", "download", "Invoke-WebRequest", "Invoke-RestMethod", "iwr", "irm ", "BitsTransfer", "requests.", "httpx.", "urlopen", "fetch", "axios", "got(", "http.Get", "Net::HTTP", "URI.open", "file_get_contents", "clone", "svn "}
	programWords = []string{"http.get", "http.request", "https.", "client.Get(", "client.Do(", "Client.Get(", "reqwest", "ureq", "openStream", "HttpClient", "HttpRequest", "Async(", "readBytes", "readText", "contentsOf", "fromURL", "URLDownload", "Download", "Req.get", "HTTPoison", "readLines", `get("http`, "get('http"}
	runWords     = []string{"exec", "Exec", "eval", "spawn", "Command", "Process", "chmod", "Chmod", "permissions", "system", "popen", "Popen", "fork(", "startfile", "dlopen", "System.load", "CDLL", "Load", "load(", "load-string", "plugin.Open", "fileURLWithPath", "source(", "ScriptBlock", "import_module", "Function(", "compile", "subprocess", "passthru", "proc_open", "runIn", "iex"}
)

var (
	fetchSet   = sync.OnceValue(func() *wordSet { return newWordSet(fetchWords) })
	programSet = sync.OnceValue(func() *wordSet { return newWordSet(programWords) })
	runSet     = sync.OnceValue(func() *wordSet { return newWordSet(runWords) })
)

// fetchedThenRun finds files that are fetched by one command and made executable
// or started by a later one, on the same line or below, and what is fetched into a
// variable and run out of it.
func fetchedThenRun(s *subject, with picked) (hits []hit) {
	lines, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	startsBelow := nearRun(lines)
	followed := 0
	for _, l := range lines {
		plain := fetchSet().in(fetchedClip(l.text))
		if !plain && !programSet().in(fetchedClip(l.text)) || s.commentLine(l.text) {
			continue
		}
		near := startsBelow(l.no)
		if !plain && !near {
			continue
		}
		if followed++; followed > fetchedMany {
			return append(hits, hit{why: fmt.Sprintf("only the first %d lines that fetch something were looked at", fetchedMany)})
		}
		if s.runsFetched(l, plain, near) {
			hits = append(hits, hit{line: l.no})
		}
	}
	return hits
}

// nearRun gives what says whether something is started on a line or within reach
// below it, by the words of lines. They are looked through when that is first asked.
func nearRun(lines []line) func(no int) bool {
	runs := sync.OnceValue(func() (runs []int) {
		for _, l := range lines {
			if runSet().in(fetchedClip(l.text)) {
				runs = append(runs, l.no)
			}
		}
		return runs
	})
	return func(no int) bool {
		next := sort.SearchInts(runs(), no)
		return next < len(runs()) && runs()[next] <= no+fetchedReach
	}
}

// runsFetched says whether what a line fetches is started. Near says that
// something is started below at all, by its words.
func (s *subject) runsFetched(l line, plain, near bool) bool {
	if plain {
		name, rest := fetchedTo(fetchedClip(l.text))
		if name != nil && (starts(rest, name) || s.below(l.no, func(text []byte) bool { return starts(text, name) })) || s.runsTree(l) {
			return true
		}
	}
	return (plain || near) && s.runsVariable(l) || near && s.startsWritten(l)
}

// fetchedClip is the part of a line that is looked at.
func fetchedClip(text []byte) []byte { return text[:min(len(text), fetchedLook)] }

// below says whether found holds for one of the next lines that were added.
func (s *subject) below(no int, found func(text []byte) bool) bool {
	next := sort.Search(len(s.fresh), func(i int) bool { return s.fresh[i].no > no })
	for _, l := range s.fresh[next:] {
		if l.no > no+fetchedReach {
			break
		}
		if !s.commentLine(l.text) && found(fetchedClip(l.text)) {
			return true
		}
	}
	return false
}

// runsVariable says whether a line fetches into a variable which, or another one
// made of it, is run below.
func (s *subject) runsVariable(l line) bool {
	at := fetchVariable().FindSubmatch(fetchedClip(l.text))
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

// runsTree says whether a line of commands fetches a whole tree, and one below
// builds or starts what lies in it.
func (s *subject) runsTree(l line) bool {
	return !s.prose && fetchTree().Match(fetchedClip(l.text)) && s.below(l.no, treeRun().Match)
}

// startsWritten says whether a line of a program fetches something, and one below
// starts a file that one of them writes.
func (s *subject) startsWritten(l line) bool {
	text := fetchedClip(l.text)
	if !fetchCall().Match(text) {
		return false
	}
	names := writtenNames(nil, text)
	return startsOneOf(text, names) || s.below(l.no, func(text []byte) bool {
		names = writtenNames(names, text)
		return startsOneOf(text, names)
	})
}

// writtenNames adds what a line writes to: literal names, and variables that stand
// for the file or its name.
func writtenNames(names [][]byte, text []byte) [][]byte {
	at := writesFile().FindIndex(text)
	if at == nil {
		return names
	}
	for _, m := range fileName().FindAllSubmatch(text[at[0]:], 4) {
		name := slices.Concat(m[1], m[2])
		if len(names) < 2*fetchedNames && len(name) > 0 && !bytes.Contains(name, []byte("://")) {
			names = append(names, name)
		}
	}
	if to := assigned().FindSubmatch(text); to != nil && len(names) < 2*fetchedNames {
		names = append(names, to[1])
	}
	return names
}

// startsOneOf says whether a line starts a program of one of the names.
func startsOneOf(text []byte, names [][]byte) bool {
	if len(names) == 0 {
		return false
	}
	for _, at := range startCall().FindAllIndex(text, 4) {
		rest := text[at[1]:]
		for _, name := range names {
			if after, ok := bytes.CutPrefix(rest, name); ok && (len(after) == 0 || !partOfWord(after[0])) {
				return true
			}
		}
	}
	return false
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
		return regexp.MustCompile(`^\s*(?:(?:const|let|var|my|local|export|val)\s+)?(?:\{\s*(?:(?:data|body|text)\s*:\s*)?|\{\s*:ok,\s*)?\$?(\w+)\s*\}?\s*(?:,\s*\w+\s*)?(?::=|=)\s*["']?.*(?:requests\.(?:get|post)|httpx\.get|urlopen\(|\bfetch\(|axios|\bgot\(|http\.Get\(|Net::HTTP\.get|URI\.open\(|file_get_contents\(\s*["']https?:|\$\(\s*(?:curl|wget)\b|` + "`" + `\s*(?:curl|wget)\b|Invoke-WebRequest|\biwr\s|Invoke-RestMethod|\birm\s|Download(?:String|Data)|http\.request\(|\bget\(\s*["']https?:|Get(?:ByteArray|String)Async|Req\.get|HTTPoison\.get|readLines\(\s*["']https?:|\.openStream\(|readText\(|reqwest::)`)
	})
	runsText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^.\w])(?:exec|eval|execfile|loadstring|instance_eval|class_eval|new\s+Function|Function|iex|Invoke-Expression|runInThisContext|runInNewContext|os\.system|execSync|(?:ba|z|da|k)?sh\s+-\w*c|python3?\s+-c|node\s+-e|perl\s+-e|ruby\s+-e|load|loadstring|load-string|source_text|evaluate)\b|\b(?:Assembly\.Load|Code\.eval_\w+|Code\.compile_\w+|eval\(parse|compile_string|importlib\.import_module|ScriptBlock\]::Create)\b|\b(?:vm\.run\w*|marshal\.loads|pickle\.loads|_compile)\s*\(|\b(?:Command::new\(\s*|exec\.Command\w*\([^)]*|spawn(?:Sync)?\(\s*|subprocess\.\w+\(\s*\[?\s*)["'](?:ba|z)?sh\b`)
	})
	pipesToShell = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\|\s*(?:sudo\s+)?(?:\S*/)?(?:(?:ba|z|da|k)?sh|python3?|perl|ruby|node)\b\s*(?:-\w*\s*)*(?:$|[;&|)])|<<<`)
	})
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:(?:const|let|var|val|my|local)\s+)?\$?(\w+)(?:\s*,\s*\w+)?\s*(?::=|=)([^=].*)$`)
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

// Of programs: a call that fetches, one that writes a file, what of a line can name
// it, and the beginning of a call that starts a program or lets it be started.
var (
	fetchCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:http\.(?:Get|get|request)|https\.(?:get|request)|[cC]lient\.(?:Get|Do)|reqwest::|ureq::get|openStream\(|HttpClient|HttpRequest|Get(?:ByteArray|Stream)Async|requests\.get|httpx\.(?:get|stream)|urlopen|urlretrieve|URI\.open|Net::HTTP|file_get_contents\(\s*["']https?:|fetch\(|axios|got(?:\.stream)?\(|readBytes\(|Data\(contentsOf|Source\.fromURL|URLDownloadToFile\w*|download\.file|download_file|DownloadFile\w*)`)
	})
	writesFile = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:OpenFile|CreateTemp|os\.Create|WriteFile|writeFile(?:Sync)?|createWriteStream|fs::write|File::create|open|binwrite|WriteAllBytes|writeBytes|writeAsBytes|writeString|write_bytes|Files\.(?:copy|write\w*)|FileOutputStream|FileStream|File\.(?:Create|OpenWrite|write)|file_put_contents|urlretrieve|URLDownloadToFile\w*|download\.file|download_file|DownloadFile\w*|write\(to|NamedTemporaryFile|mkstemp|outputFile|File|tempfile)\s*[(:]`)
	})
	fileName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`["']([^"'\s]{2,})["']|[(,]\s*&?(\w{2,})\b`)
	})
	startCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:exec\.Command(?:Context)?|Command::new|ProcessBuilder|Process\.(?:Start|run|start)|getRuntime\(\)\.exec|subprocess\.\w+|os\.(?:system|exec\w*|spawn\w*|popen|startfile|chmod|Chmod)|chmod(?:Sync)?|set_permissions|system|exec(?:File|Sync|FileSync|v\w*|l\w*)?|spawn(?:Sync)?|fork|shell_exec|passthru|popen|proc_open|WinExec|ShellExecute\w*|CreateProcess\w*|StartProcess|ForkExec|dlopen|System\.load|CDLL|LoadLibrary\w*|LoadFrom|LoadFile|plugin\.Open|fileURLWithPath:?|source)\s*(?:\(\s*)?(?:(?:ctx|context\.\w+\(\)|NULL|nil|null)\s*,\s*)?(?:new\s+String\[\]\s*\{|List\.of\(|\[|&)?\s*["'\x60]?(?:\./)?`)
	})
)

var (
	fetchTree = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:sudo\s+|RUN\s+|-\s+)*(?:git\s+clone|hg\s+clone|svn\s+(?:co|checkout))\s|^\s*(?:sudo\s+|RUN\s+|-\s+)*(?:curl|wget|aria2c)\s.*https?://\S*\.(?:tgz|tbz2?|txz|zip|tar(?:\.\w+)?|7z)\b`)
	})
	treeRun = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*(?:sudo\s+|-\s+)*(?:cd\s+\S+\s*&&\s*)?(?:\./[\w./-]+|(?:ba|z|da)?sh\s+[\w./-]+|make\b|g?make\s+install|ninja\b|python[\d.]*\s+\S*setup\.py|pip[\d.]*\s+install\s+(?:-e\s+)?\.|npm\s+(?:i|ci|install|run)\b|cargo\s+(?:build|install|run)\b|go\s+(?:build|install|run)\s+\.)`)
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
