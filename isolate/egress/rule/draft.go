package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDraft is how many readings of a path an entry is drafted for.
const maxDraft = 8

// Draft gives the narrowest entry that would allow what was refused, and says
// what it opens beyond that one request. path may have its query, behind "?";
// without one the query is not known. What no entry can allow gives an empty
// entry, and opens says why. The account, an upgrade and caps are the person's
// to add.
func Draft(host string, port uint16, method, path string) (e Entry, opens string) {
	no := func(why string) (Entry, string) { return Entry{}, "No entry can allow it: " + why + "." }
	name, ip, err := parseHost(host)
	if err != nil || port == 0 {
		return no("the destination can be read in more than one way")
	}
	e = Entry{Destination: Authority{Host: name, IP: ip, Port: port}.String(), Account: "none"}
	if method == "CONNECT" {
		e.Operations, e.Query = []string{"GET /**", "HEAD /**"}, "any"
		opens = "Only the destination is known: this opens GET and HEAD for every path there, with any query."
	} else if opens, err = e.draftOperation(method, path); err != nil {
		return no(err.Error())
	}
	if ip.IsValid() {
		if class := ClassOf(ip); class != Public {
			opens += fmt.Sprintf(" It leads to a %s address, which no other entry does unless it says so.", class)
		}
	}
	t, err := Compile([]Entry{e})
	if err != nil {
		return no(err.Error())
	}
	if path, query, asked := strings.Cut(path, "?"); method != "CONNECT" && (asked || !strings.HasSuffix(path, infoRefs)) {
		q := Request{Authority: Authority{Host: name, IP: ip, Port: port}, Method: method, Path: path, Query: query}
		if ans := t.Decide(q); ans.Entry == nil {
			return no(strings.TrimSuffix(string(ans.Reason)+", "+ans.Detail, ", "))
		}
	}
	return e, opens
}

func (e *Entry) draftOperation(method, path string) (opens string, err error) {
	path, query, asked := strings.Cut(path, "?")
	all, bad := readings(path)
	switch {
	case bad != "":
		return "", fmt.Errorf("the path is refused as it is: %s", bad)
	case path == "" && method == "OPTIONS":
		return "", errors.New("it is about all of a server")
	// An entry for "POST /**/git-receive-pack" would open a push to everything.
	case slices.ContainsFunc(all, func(r string) bool { return strings.Contains(r, "*") || strings.Contains(r, "%2A") }):
		return "", errors.New("the path has an asterisk, which can't be written literally")
	case len(all) > maxDraft:
		return "", fmt.Errorf("the path can be read in %d ways", len(all))
	}
	if _, err := checkMethod(method); err != nil {
		return "", fmt.Errorf("the method: %w", err)
	}
	if op, opens := draftGit(method, path, query, asked); op != "" && len(all) == 1 {
		e.Operations, e.Query = []string{op}, "any"
		return opens, nil
	}
	for _, r := range all {
		e.Operations = append(e.Operations, method+" "+asGlob(r))
	}
	var also []string
	e.Query, also = draftQuery(query, asked)
	if len(all) > 1 {
		also = append(also, "the other paths that servers may take it for")
	}
	if len(also) == 0 {
		return "This opens nothing beyond that request.", nil
	}
	return "This opens beyond that request: " + strings.Join(also, "; ") + ".", nil
}

func draftQuery(query string, asked bool) (rule string, also []string) {
	text, ok := normalQuery(query)
	switch {
	case !asked || !ok || len(text) > maxGlob:
		return "any", []string{"any query"}
	case query == "":
		return "none", nil
	case text == "any" || text == "none" || text[0] == '?':
		return "any", []string{"any query"} // it can't be told from the word
	case strings.Contains(text, "*"):
		also = []string{"queries that have anything in place of its asterisk"}
	}
	return asGlob(text), also
}

// asGlob gives the narrowest glob that matches a text in normal form.
func asGlob(text string) string {
	for strings.Contains(text, "***") {
		text = strings.ReplaceAll(text, "***", "**")
	}
	return text
}

// draftGit drafts git's own operation for one of its requests.
func draftGit(method, path, query string, asked bool) (op, opens string) {
	fetch := "This opens the fetch, its two requests: reading all of that repository."
	push := "This opens the push, its two requests: writing to all of that repository."
	repo, refs := strings.CutSuffix(path, infoRefs)
	switch {
	case method == "GET" && refs && repo != "" && query == "service="+receivePack:
		return "git push " + repo, push
	case method == "GET" && refs && repo != "" && query == "service="+uploadPack:
		return "git fetch " + repo, fetch
	case method == "GET" && refs && repo != "" && !asked:
		return "git fetch " + repo, fetch + " If it was a push, that needs \"git push\" in its place."
	case method != "POST" || query != "":
		return "", ""
	}
	if repo, ok := strings.CutSuffix(path, "/"+uploadPack); ok && repo != "" {
		return "git fetch " + repo, fetch
	}
	if repo, ok := strings.CutSuffix(path, "/"+receivePack); ok && repo != "" {
		return "git push " + repo, push
	}
	return "", ""
}
