package risk

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"fumehood/diffreview"
)

// deceiveRules are for what makes a reader see something else than what is there,
// or nothing at all.
var deceiveRules = []Rule{
	{Name: "bidi", Severity: danger, Why: "characters turn the direction of the text: the line reads as other code than it is", Check: bidi},
	{Name: "control-character", Severity: warn, Why: "control characters act on the terminal of whoever prints this, or hide a part of it", Check: controls},
	{Name: "invisible-character", Severity: warn, Why: "the line holds characters that are drawn as nothing", Check: invisible},
	{Name: "lookalike-letter", Severity: warn, Why: "a word mixes letters of two scripts that look alike: it is not the word that it seems to be", Check: lookalikeLetters},
	{Name: "offscreen", Severity: warn, Why: "code stands far beyond the edge of the screen or far below blank lines", Check: offscreen},
	{Name: "long-line", Severity: warn, Why: "the line is too long to be read: a part of it can do anything", Check: longLine},
	{Name: "bulk", Severity: warn, Why: "so many lines at once are not read line by line: one of them can do anything", Check: bulk},
	{Name: "blob", Severity: warn, Why: "a long encoded text stands for bytes that nobody can read", Check: blob},
	{Name: "obfuscated", Severity: note, Why: "the code is made unreadable", Line: `(_0x[0-9a-f]{3,}.*){2}|(\\x[0-9a-f]{2}){8}|(\\u00[0-9a-f]{2}){8}|String\.fromCharCode\((\s*\d+\s*,){6}|\bchr\(\d+\)\s*([.+]\s*chr\(\d+\)\s*){4}`, Has: []string{"_0x", `\x`, `\u00`, "fromCharCode", "chr("}, Code: true},
	{Name: "network-code", Severity: warn, Code: true, Why: "this runs what the network or an encoded text holds, whatever that is by then", Line: netExecLine},
	{Name: "fetched-then-run", Severity: warn, Why: "this fetches a file and starts it, whatever it is by then", Source: true, Check: fetchedThenRun, Has: slices.Concat(fetchWords, programWords, runWords)},
	{
		Name: "loaded-data", Severity: warn, Code: true, Why: "whoever loads this data makes the objects, or reads the files and addresses, that it names",
		Line: `!!python/(object|name|module)|!!java\.|!!javax\.|!!org\.|!!com\.|!!sun\.|!ruby/(object|hash|struct|class)\b|!php/object|<!ENTITY\s+(%\s*)?\S+\s+SYSTEM\s+["'](file:|/|php:|expect:|jar:|https?:|netdoc:)|"\$type"\s*:\s*"System\.|"@(type|class)"\s*:\s*"(javax?|com\.sun|org\.apache)\.|xmlns:\w+="(http://xml\.apache\.org/(xalan|xslt)/java|urn:schemas-microsoft-com:xslt)"|<(msxsl|xsl):script\b|<!--#(exec|include)\b|\$\{jndi:|\$\{\w*:-j\}`,
		Has:  []string{"!!", "!ruby", "!php", "ENTITY", "$type", "@type", "@class", "xmlns:", ":script", "<!--#", "${jndi", ":-j}"},
	},
	{
		Name: "unsafe-load", Severity: warn, Code: true, InTests: note, Why: "loading data this way makes whatever objects the data names, and runs what is in it",
		Line: `\bweights_only\s*=\s*False|\ballow_pickle\s*=\s*True|\bsafe_mode\s*=\s*False|\ballow_dangerous_deserialization\s*=\s*True|\byaml\.(unsafe_load|full_load|unsafe_load_all)\s*\(|\byaml\.\w*load\w*\(.*\bLoader\s*=\s*(yaml\.)?C?(Unsafe|Full)?Loader\b|\bYAML\.unsafe_load|\bMarshal\.load\b|\bPsych\.unsafe_load|\bOj\.(load|object_load)\(.*:object|TypeNameHandling\s*[.=:]\s*"?(TypeNameHandling\.)?(All|Auto|Objects|Arrays)\b|\b(enable|activate)DefaultTyping\(|\bnew\s+(BinaryFormatter|NetDataContractSerializer|LosFormatter|SoapFormatter|ObjectStateFormatter)\b|EnableUnsafeBinaryFormatterSerialization\W+true|\bnew\s+XMLDecoder\b|\bjsonpickle\.(decode|loads)\(|\bunserialize\(\s*\$_|\bresolve_entities\s*=\s*True|\bno_network\s*=\s*False|\bXmlResolver\s*=\s*new\b|DtdProcessing\.Parse\b|\bLIBXML_NOENT\b|\bnoent\s*:\s*true|\bunserialize\(.*['"]allowed_classes['"]\s*=>\s*true|\bpickle_module\s*=|external-general-entities["']\s*,\s*true|disallow-doctype-decl["']\s*,\s*false|\bSAFE_LOAD\W+False|\brequire\(\s*['"](node-serialize|serialize-to-js|cryo|funcster)['"]|\bdynamicTyping\s*=\s*true`,
	},
	{Name: "stored-objects", Severity: warn, Why: "a program that loads this file runs what stands in it", Paths: []string{"*.pkl", "*.pickle", "*.joblib", "*.dill", "*.ckpt", "*.rdata", "*.rds", "*.ser", "*.mar"}},
	{
		Name: "cell-formula", Severity: warn, Why: "a spreadsheet that opens this file starts a program, or sends other cells away",
		Paths: []string{"*.csv", "*.tsv", "*.tab", "*.slk", "*.iqy"},
		Line:  `(?i)(^|[,;\t"'])\s*["']*[=+@-][^,;|]*\b(cmd|powershell|msexcel|dde|mshta|rundll32|regsvr32)\b[^,;|]*\||(^|[,;\t"'])\s*["']*[=+@-]\s*(WEBSERVICE|IMPORT(DATA|XML|HTML|FEED|RANGE)|HYPERLINK|CALL|REGISTER(\.ID)?|EXEC|DDE|RTD|FILTERXML)\s*\(`,
		Has:   []string{"|", "webservice", "import", "hyperlink", "call", "register", "exec", "dde", "rtd", "filterxml"},
	},
	{Name: "picture-script", Severity: warn, Why: "opened in a browser, the picture runs this", Paths: []string{"*.svg"}, Line: `(?i)<script\b|\bonload|\bonclick|\bonerror|\bonmouse|\bonfocus|\bonbegin|\bonend|\bonactivate|(href|src)\s*=\s*["']\s*(javascript:|data:(text/html|application))`, Has: []string{"<script", "onload", "onclick", "onerror", "onmouse", "onfocus", "onbegin", "onend", "onactivate", "javascript:", "data:"}},
	{Name: "page-script", Severity: warn, Why: "a viewer that renders this page runs it, at once or with a click", Paths: []string{"*.md", "*.markdown", "*.rst", "*.adoc", "*.textile"}, Line: `(?i)<(img|svg|body|video|audio|details|input|iframe|object|embed)\b[^>]*\b(onerror|onload|ontoggle|onfocus|onbegin)|\]\(\s*<?(javascript|vbscript|data:text/html)[:;,]`, Has: []string{"onerror", "onload", "ontoggle", "onfocus", "onbegin", "javascript:", "vbscript:", "data:text"}},
	{
		Name: "database-shell", Severity: warn, Why: "running these statements starts programs, or reads and writes files, where the database or its client runs",
		Paths: []string{"*.sql", "*.psql", "*.pgsql", "*.ddl", "*.mysql", "*.plsql"},
		Line:  `(?i)\b(FROM|TO)\s+PROGRAM\b|^\s*\\(!|o\s*\||g\s*\||w\s*\||copy\b.*\bprogram\b)|\bxp_cmdshell\b|\bsys_(exec|eval)\s*\(|\bINTO\s+(OUTFILE|DUMPFILE)\b|\bLOAD_FILE\s*\(|\bload_extension\s*\(|^\s*\.(shell|system|load)\s|\bLANGUAGE\s+['"]?(plpython3?u|plperlu|plsh|pltclu)\b|\bOPENROWSET\b|\bsp_OACreate\b|\bpg_read_(binary_)?file\b|\blo_(export|import)\b|\bALTER\s+SYSTEM\b|\bUTL_(FILE|HTTP)\b`,
		Has:   []string{"program", "\\!", "\\o", "\\g", "\\w", "\\copy", "xp_cmdshell", "sys_e", "outfile", "dumpfile", "load_", ".shell", ".system", ".load", "language", "openrowset", "sp_oacreate", "pg_read", "lo_", "alter", "utl_"},
	},
	{Name: "notebook-command", Severity: note, Why: "running this cell starts a program", Paths: []string{"*.ipynb"}, Line: `"(!|%%?(bash|sh|script|system|sx|cmd|perl|ruby|run|load_ext|writefile|pip|conda)\b)`, Has: []string{"\"!", "%"}},
	{Name: "package-run", Severity: warn, InTests: note, Code: true, Why: "this fetches a package of the moment, which no lock file names, and runs it", Line: `\b(npx|bunx)\s+(-y|--yes)\b|\b(npx|bunx|pnpm\s+dlx|yarn\s+dlx|npm\s+exec|uvx|pipx\s+run|uv\s+tool\s+run)\s+(-\S+\s+)*@?[\w./-]+@(latest|next|main|master|HEAD)\b|\b(uvx|pipx\s+run)\s+[a-z]|\bgo\s+(run|install)\s+[\w-]+\.[\w.-]+/\S+@(latest|main|master|HEAD)\b|\bdeno\s+run\s.*\b(npm|jsr):|\bdocker\s+run\s.*:latest\s.*\bsh\s+-c|["']-m["']\s*,\s*["']pip["']\s*,\s*["']install["']|\[\s*["'](pip3?|npm|yarn|pnpm|gem|cargo|apt|apt-get|brew|conda)["']\s*,\s*["'](install|add|i)["']|\b(os\.system|subprocess\.\w+|execSync|exec|spawn(Sync)?|system|shell_exec|popen)\(\s*[frb]?["'\x60](sudo\s+)?(python[\d.]*\s+-m\s+)?(pip3?|npm|yarn|pnpm|gem|cargo|apt|apt-get|brew|conda)\s+(install|add|i)\b`},
	{Name: "sends-secrets", Severity: warn, Code: true, Why: "this sends the environment, keys or credentials of whoever runs it somewhere else", Line: `\b(curl|wget|nc|ncat)\b.*(\$\((env|printenv|set|cat\s+\S*(\.ssh|\.aws|\.netrc|\.npmrc|\.kube|passwd|shadow|\.env))\b|@\S*(\.ssh/|\.aws/|\.netrc|\.npmrc|\.kube/|\.gnupg|id_rsa|id_ed25519|\.env\b))|\b(env|printenv)\s*\|.*\b(curl|wget|nc|base64)\b|(stringify|dumps|urlencode|b64encode)\(\s*(dict\(\s*)?(process\.env|os\.environ)\s*\)|\b(json|data|body|params)\s*[=:]\s*(dict\(\s*)?(os\.environ|process\.env)\s*[,)}]|169\.254\.169\.254.*(security-credentials|token|user-data)|\b(dig|nslookup|host)\s.*\$\(`},
	{Name: "executable-file", Severity: warn, Why: "a program or library in machine code, which can't be reviewed here", Check: executables},
	{Name: "archive", Severity: warn, Why: "an archive or package, which holds files that are not shown here and may run when it is unpacked or installed", Check: archives},
	{Name: "binary-content", Severity: warn, Why: "the content can't be shown as text", Check: binaries},
	{Name: "not-shown", Severity: warn, Why: "the content is not shown and was not looked through", Check: notShown},
	{Name: "vendored-code", Severity: warn, Why: "code of others, copied into the tree: it is run like the own but hardly ever read", Paths: []string{"vendor/**", "third_party/**", "thirdparty/**", "node_modules/**", "bower_components/**", "jspm_packages/**", "_vendor/**", "vendored/**", "*.min.js", "*.min.mjs", "*.bundle.js", "dist/*.js", "dist/*.cjs", "dist/*.mjs", "dist/**", "build/*.js", "*.user.js"}, Not: []string{"*.md", "*.txt", "*.css", "*.svg", "*.html", "*.map", "license*", "*.png", "vendor/*.html.erb", "app/vendor/**"}},
	{Name: "shadowed-module", Severity: note, Why: "Python scripts of this folder import this file instead of the module of the same name", Paths: []string{"random.py", "os.py", "sys.py", "json.py", "re.py", "ssl.py", "socket.py", "subprocess.py", "logging.py", "typing.py", "types.py", "abc.py", "ast.py", "base64.py", "calendar.py", "code.py", "codecs.py", "collections.py", "copy.py", "csv.py", "datetime.py", "email.py", "enum.py", "functools.py", "glob.py", "hashlib.py", "http.py", "inspect.py", "io.py", "itertools.py", "math.py", "operator.py", "pathlib.py", "pickle.py", "platform.py", "queue.py", "secrets.py", "select.py", "shutil.py", "signal.py", "string.py", "struct.py", "tempfile.py", "threading.py", "time.py", "token.py", "traceback.py", "unittest.py", "urllib.py", "uuid.py", "warnings.py", "weakref.py", "zipfile.py", "requests.py", "numpy.py", "yaml.py", "site.py"}, Check: onlyNew},
}

func onlyNew(s *subject, _ picked) []hit {
	if !s.came() {
		return nil
	}
	return []hit{{}}
}

// eachOdd calls fn for each added line that has a byte outside printable ASCII.
func (s *subject) eachOdd(fn func(l line)) {
	if s.gone() {
		return
	}
	for _, i := range s.odd {
		fn(s.fresh[i])
	}
}

func bidi(s *subject, _ picked) (hits []hit) {
	s.eachOdd(func(l line) {
		for _, r := range string(l.text) {
			if !diffreview.IsBidi(r) {
				continue
			}
			if r == 0x61c || r == 0x200e || r == 0x200f {
				// The marks only nudge; texts in Arabic and Hebrew need them.
				hits = append(hits, hit{line: l.no, severity: warn})
				continue
			}
			hits = append(hits, hit{line: l.no})
			return
		}
	})
	return hits
}

func controls(s *subject, _ picked) (hits []hit) {
	s.eachOdd(func(l line) {
		t := bytes.TrimSuffix(l.text, []byte("\r"))
		if len(t) == 1 && t[0] == '\f' {
			return // a page break, as old sources have
		}
		for i := 0; i < len(t); {
			r, n := utf8.DecodeRune(t[i:])
			switch {
			case r == utf8.RuneError && n == 1 && t[i] >= 0x80 && t[i] < 0xa0,
				r < ' ' && r != '\t', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
				hits = append(hits, hit{line: l.no})
				return
			}
			i += n
		}
	})
	return hits
}

func invisible(s *subject, _ picked) (hits []hit) {
	s.eachOdd(func(l line) {
		bad, odd := 0, 0
		var before rune
		for i, r := range string(l.text) {
			sev := invisibleKind(r, before, l.no == 1 && i == 0)
			if sev == note && s.changesWord(l.text, i, r) {
				sev = warn
			}
			if sev == warn && (r == 0x200b || r == 0x200c || r == 0x200d) {
				after, _ := utf8.DecodeRune(l.text[i+utf8.RuneLen(r):])
				if unicode.In(after, joining...) || unicode.In(before, joining...) {
					sev = note // a text of such a script, where it breaks lines or joins letters
				}
			}
			switch sev {
			case warn, diffreview.Danger:
				bad++
			case note:
				odd++
			}
			before = r
		}
		switch {
		case bad > 0 || odd >= 8:
			hits = append(hits, hit{line: l.no})
		case odd > 0:
			hits = append(hits, hit{line: l.no, severity: note})
		}
	})
	return hits
}

// namesExt are languages whose names may have letters beyond ASCII.
var namesExt = words(".go .rs .java .kt .scala .cs .c .cc .cpp .h .hpp .m .swift .py .pyi .js .ts .mjs .cjs .jsx .tsx .rb .php .lua .ex .exs .hs .ml .zig .jl .dart .groovy .gradle .sh .bash .ps1 .sql .sol")

// otherSpelling finds a name of code that is written with a letter and a mark apart,
// as no keyboard does, or which the language reads as a plain name.
func (s *subject) otherSpelling(text string) (word string, ok bool) {
	if !namesExt.has(s.ext) || s.commentLine([]byte(text)) {
		return "", false
	}
	inName := func(r rune) bool { return r == '_' || unicode.In(r, unicode.L, unicode.Nd, unicode.Mn, unicode.No) }
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !inName(r) {
			i += n
			continue
		}
		start := i
		for i < len(text) {
			if r, n = utf8.DecodeRuneInString(text[i:]); !inName(r) {
				break
			}
			i += n
		}
		w := text[start:i]
		if ascii(w) || quoted([]byte(text), start) {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(w); unicode.In(first, unicode.Latin, unicode.Greek, unicode.Cyrillic) && norm.NFC.String(w) != w {
			return w, true
		}
		if plain := norm.NFKC.String(w); (s.ext == ".py" || s.ext == ".pyi") && plain != w && ascii(plain) {
			return w, true
		}
	}
	return "", false
}

// wordSpaces are languages to which a space of typography is a letter, or no space.
var wordSpaces = words(".sh .bash .zsh .ksh .fish .bats .mk .mak .make .rb .php .pl .pm .ps1 .psm1 .cmd .bat .tcl .nix .just .dockerfile makefile gnumakefile dockerfile containerfile justfile rakefile gemfile vagrantfile jenkinsfile procfile .envrc .profile .bashrc .zshrc")

// pageExt are texts that are shown, with code in them.
var pageExt = words(".html .htm .vue .svelte .jsx .tsx .erb .twig .hbs .ejs .css .scss .less .yml .yaml .properties .strings .arb .resx .toml .ini .cfg")

// changesWord says whether a space of typography, or a hyphen that is drawn at the
// end of a line only, makes a word of code another than it seems to be.
func (s *subject) changesWord(text []byte, at int, r rune) bool {
	if s.prose || s.data || s.test || s.commentLine(text) {
		return false
	}
	if r != 0xad {
		return (wordSpaces.has(s.ext) || wordSpaces.has(s.base) || s.ext == "" && s.f.New.Exec) && unicode.Is(unicode.Zs, r) && !quoted(text, at)
	}
	if pageExt.has(s.ext) || slices.ContainsFunc(s.segs, translations.has) {
		return false
	}
	start, end := at, at
	for start > 0 && text[start-1] != '"' && text[start-1] != '\'' && text[start-1] != '`' {
		start--
	}
	for end < len(text) && text[end] != '"' && text[end] != '\'' && text[end] != '`' {
		end++
	}
	// A sentence between quotes is a text; a word is compared with others.
	return !quoted(text, at) || bytes.IndexByte(text[start:end], ' ') < 0
}

var translations = words("i18n l10n locale locales lang langs language languages translations messages intl strings nls")

// quoted says whether a place of a line stands between quotes, as far as the line
// shows.
func quoted(text []byte, at int) bool {
	var quote byte
	for i := 0; i < at; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		}
	}
	return quote != 0
}

// joining are scripts whose texts need characters that join, part or break words.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Gujarati, unicode.Gurmukhi,
	unicode.Sinhala, unicode.Khmer, unicode.Mongolian, unicode.Syriac, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Tibetan, unicode.Oriya,
}

// invisibleKind says how a character that is drawn as nothing, or that fonts
// draw each in their own way, counts after the one before it.
func invisibleKind(r, before rune, first bool) diffreview.Severity {
	joins := r == 0x200c || r == 0x200d
	switch {
	case r == 0xfe0e || r == 0xfe0f:
		if before == 0xfe0e || before == 0xfe0f || before == '_' || unicode.IsLetter(before) {
			return warn
		}
		return "" // chooses between a sign and its picture
	case r < 0xa0 || r == 0xfffd || diffreview.IsBidi(r) || r == 0x2028 || r == 0x2029 || !diffreview.IsInvisible(r):
		return ""
	case joins && before > 0x2000 && !diffreview.IsInvisible(before), joins && unicode.In(before, joining...):
		return "" // joins emoji, and letters of scripts that need it
	case r == 0xfeff && first:
		return "" // a byte order mark
	case r == 0x3000, r == 0x202f, r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x205f, r == 0xad:
		return note // spaces of typography
	case r >= 0xe0100 && r <= 0xe01ef && unicode.Is(unicode.Han, before):
		return "" // chooses a form of an ideograph
	case r >= 0xe0020 && r <= 0xe007f && (before == 0x1f3f4 || before >= 0xe0020 && before <= 0xe007e) && r != 0xe0041:
		return note // flags of regions; long runs of them hide text
	case unicode.Is(unicode.Co, r):
		return note // icons of patched fonts; a run of them is a hidden text
	case !unicode.IsPrint(r) && !unicode.In(r, unicode.Cf, unicode.Zs, unicode.Co):
		return note // not assigned in the tables of this build
	}
	return warn
}

func lookalikeLetters(s *subject, _ picked) (hits []hit) {
	s.eachOdd(func(l line) {
		text := string(clip(l.text))
		if w, ok := mixedWord(text, false); ok {
			h := hit{line: l.no, why: fmt.Sprintf("%s mixes letters that look alike but are of two scripts: it is not the word that it seems to be", diffreview.SafeName(w))}
			if s.prose || s.commentLine(l.text) {
				h.severity = note // sentences of another language inflect English words
			}
			hits = append(hits, h)
			return
		}
		if strings.ContainsAny(text, "\u037e\u01c3\ua789\u2236") && !s.prose && !s.commentLine(l.text) {
			hits = append(hits, hit{line: l.no, why: "a sign looks like punctuation of code but is not"})
		}
		if w, ok := s.otherSpelling(text); ok {
			hits = append(hits, hit{line: l.no, why: fmt.Sprintf("the name %s can be spelled in two ways that look the same: one is not the other, or is taken for it", diffreview.SafeName(w))})
			return
		}
		for _, r := range text {
			if (r == 0x2044 || r == 0x2215 || r == 0x29f8 || r == 0xff0f) && (strings.Contains(text, "http") || strings.Contains(text, "://")) {
				hits = append(hits, hit{line: l.no, why: "a sign in an address looks like a slash but is not"})
				return
			}
		}
	})
	return hits
}
