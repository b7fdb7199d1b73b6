package risk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fumehood/diffreview"
)

// plainKeys are the parts of package.json that only describe. Whatever else stands
// there makes npm or some tool run something, load something or take it from
// elsewhere: every tool may have a key of its own.
var plainKeys = words("$schema name version description keywords author contributors maintainers license licenses homepage bugs repository funding files private engines os cpu libc preferGlobal preferUnplugged readme readmeFilename displayName publisher icon categories galleryBanner badges pricing qna l10n browserslist eslintIgnore gitHead dependencies devDependencies optionalDependencies peerDependencies testedWith title productName copyright contact tags verified stableVersion")

// quietKeys change with any release and mean little.
var quietKeys = words("main module browser types type man directories sideEffects exports unpkg jsdelivr svelte vue contributes")

var dependencyKeys = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "require", "require-dev"}

func packageJSON(s *subject, _ picked) []hit {
	return s.jsonKeys(func(k string) bool { return !plainKeys.has(k) && !strings.HasPrefix(k, "_") }, quietKeys)
}

var (
	composerKeys = words("type scripts scripts-aliases repositories config autoload autoload-dev bin plugins extra include-path target-dir minimum-stability prefer-stable replace provide conflict archive")
	composerNote = words("autoload extra minimum-stability prefer-stable conflict archive")
)

func composerJSON(s *subject, _ picked) []hit { return s.jsonKeys(composerKeys.has, composerNote) }

// jsonKeys compares the two sides by their top-level keys. What is no JSON
// object counts by the fact that it changed.
func (s *subject) jsonKeys(acts func(key string) bool, quiet *set) []hit {
	if s.f.New.Blob == s.f.Old.Blob {
		return nil
	}
	before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if b := s.content(s.f.Old); len(b) > 0 && json.Unmarshal(b, &before) != nil {
		before = nil
	}
	b := bytes.TrimPrefix(s.content(s.f.New), []byte("\xef\xbb\xbf"))
	if b == nil || json.Unmarshal(b, &after) != nil || before == nil {
		return []hit{{why: "this is not the JSON that the tools expect, or was not; what they make of it is not known"}}
	}
	var hits []hit
	for k, v := range after {
		if sameJSON(before[k], v) {
			continue
		}
		switch {
		case slices.Contains(dependencyKeys, k):
			for name, from := range stringMap(v) {
				if from == stringMap(before[k])[name] {
					continue
				}
				if anyVersion.has(from) {
					hits = append(hits, hit{line: s.lineWith(`"` + name + `"`), severity: note, why: fmt.Sprintf("any version of the package %s will do", diffreview.SafeName(name))})
				}
				if oddSource(from) {
					hits = append(hits, hit{line: s.lineWith(`"` + name + `"`), why: fmt.Sprintf("the package %s comes from %s, not from the registry", diffreview.SafeName(name), diffreview.SafeName(from))})
				}
			}
		case k == "scripts":
			old, now := stringMap(before[k]), stringMap(v)
			moved := map[string]bool{} // commands whose script has another name now
			for name, cmd := range old {
				if _, stays := now[name]; !stays {
					moved[cmd] = true
				}
			}
			for name, cmd := range now {
				if cmd != old[name] && moved[cmd] && old[name] == "" && !runsUnasked(name) {
					hits = append(hits, hit{line: s.lineWith(`"` + name + `"`), severity: note, why: "a script has another name"})
				} else if cmd != old[name] {
					hits = append(hits, hit{line: s.lineWith(`"` + name + `"`), why: fmt.Sprintf("the package manager runs this: %s", scriptTime(name))})
				}
			}
			if len(now) == 0 && !sameJSON(v, []byte("{}")) {
				hits = append(hits, hit{line: s.lineWith(`"scripts"`)})
			}
		case quiet.has(k) && !(k == "extra" && bytes.Contains(v, []byte("hook")) || k == "autoload" && bytes.Contains(v, []byte(`"files"`))):
			hits = append(hits, hit{line: s.lineWith(`"` + k + `"`), severity: note, why: "another file is loaded for this package"})
		case acts(k):
			hits = append(hits, hit{line: s.lineWith(`"` + k + `"`), why: fmt.Sprintf("%q changes: tools run, load or fetch what it names", k)})
		}
	}
	for k := range before {
		if _, ok := after[k]; !ok && (acts(k) && !quiet.has(k)) {
			hits = append(hits, hit{severity: note, why: fmt.Sprintf("%q goes away", k)})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.line-b.line, cmp.Compare(a.why, b.why)) })
	return hits
}

func scriptTime(name string) string {
	switch name {
	case "preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "prepublish", "dependencies", "postinstall-cmd", "pre-install-cmd", "post-install-cmd", "post-update-cmd", "pre-update-cmd", "post-autoload-dump", "pre-autoload-dump":
		return "at install, without being asked"
	case "test", "pretest", "posttest":
		return "at test"
	}
	return "when the script, or the one that it belongs to, is called"
}

// runsUnasked says whether a package manager runs a script for its name.
func runsUnasked(name string) bool {
	switch name {
	case "install", "uninstall", "prepare", "prepublish", "prepublishOnly", "prepack", "publish", "dependencies", "version", "test", "start", "stop", "restart", "shrinkwrap", "uninstall-cmd":
		return true
	}
	return strings.HasPrefix(name, "pre") || strings.HasPrefix(name, "post")
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// stringMap reads an object; values that are no strings count as their text.
func stringMap(raw json.RawMessage) map[string]string {
	m := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		var text string
		if json.Unmarshal(v, &text) != nil {
			text = string(v)
		}
		out[k] = text
	}
	return out
}

var anyVersion = words("* latest next x X >=0 >=0.0.0 dev-master dev-main")

// oddSource says whether a dependency's version is a place instead.
func oddSource(v string) bool {
	for _, p := range []string{"workspace:", "catalog:"} {
		if strings.HasPrefix(v, p) {
			return false
		}
	}
	return strings.ContainsAny(v, ":/@\\") || strings.HasPrefix(v, "dev-")
}

// lineWith finds the added line that holds word, or an added line at all; 0 when
// there is none.
func (s *subject) lineWith(word string) int {
	for _, l := range s.added {
		if bytes.Contains(l.text, []byte(word)) {
			return l.no
		}
	}
	return 0
}

var settingsKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"[^"]*(path|exec|command|cmd|shell|arg|env|interpreter|tsdk|server|profile|proxy|trust|auto|task|hook|script|plugin|extension|binary|launch|tool|url|mcp|lint|format(ter)?"|runtime|java\.|sdk|home|root|location|program|flags|options|terminal|remote|debug|test|git\.|association|exclude|watcher|security|telemetry|allow|approve|chat\.|agent|copilot|enable|decoration|hide|visible|snippet|customizations|defaultformatter)[^"]*"\s*:|:\s*"[^"]*[/\\$][^"]*"`)
})

var harmlessKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\s*[{}\[\],]*\s*$|^\s*//|"(editor\.(tabsize|insertspaces|rulers|wordwrap|formatonsave|detectindentation|linenumbers|fontsize|minimap\.enabled|trimautowhitespace|bracketpaircolorization\.enabled)|files\.(eol|insertfinalnewline|trimtrailingwhitespace|trimfinalnewlines|encoding)|cspell\.words|editor\.defaultformatter|workbench\.colortheme|spellright\.\w+|prettier\.(printwidth|singlequote|semi|tabwidth))"\s*:\s*("[\w.-]*"|true|false|\d+|\[[\d,\s]*\])\s*,?\s*}?\s*$`)
})

func editorSettings(s *subject, _ picked) (hits []hit) {
	if s.f.Binary || s.f.New.Kind == diffreview.KindSymlink {
		return []hit{{}}
	}
	for _, l := range s.added {
		t := clip(l.text)
		switch {
		case harmlessKey().Match(t):
			hits = append(hits, hit{line: l.no, severity: note, why: "the editor is set up differently"})
		case settingsKey().Match(t) || s.base != "extensions.json" && s.base != "settings.json":
			hits = append(hits, hit{line: l.no})
		case s.base == "extensions.json":
			hits = append(hits, hit{line: l.no, severity: warn, why: "the editor offers to install this extension"})
		default:
			hits = append(hits, hit{line: l.no, severity: warn, why: "the editor is set up differently"})
		}
	}
	return hits
}
