package rule

import (
	"errors"
	"fmt"
	"strings"
)

// operation is a method and the paths for which it is allowed. query is not nil
// for git's own operations: exactly this one.
type operation struct {
	method string
	path   *glob
	query  *string
	push   bool
}

// Bounds of what one entry may ask for.
const (
	maxOperations = 256
	maxMethod     = 32
)

var (
	errQuestion = errors.New("a glob is matched against what follows the ?")
	errShape    = errors.New("not a method and a path")
)

const asOperation = `as "GET /**", "git fetch /team/project.git", or "CONNECT" alone`

// What git asks for over HTTP (gitprotocol-http).
const (
	infoRefs    = "/info/refs"
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// compileOperations reads an entry's operations. opaque is "CONNECT" alone.
func compileOperations(list []string) (ops []operation, opaque bool, f *Fault) {
	fault := func(op string, err error, hint string) *Fault {
		return &Fault{Key: "operations", Msg: quoted(op, err), Hint: hint}
	}
	switch {
	case len(list) == 0:
		return nil, false, &Fault{Key: "operations", Msg: "none is named", Hint: asOperation}
	case len(list) > maxOperations:
		return nil, false, &Fault{Key: "operations", Msg: fmt.Sprintf("more than %d", maxOperations), Hint: "bring paths together with * and **"}
	}
	for _, op := range list {
		if op == "CONNECT" {
			if len(list) > 1 {
				return nil, false, fault(op, errors.New("an opaque tunnel carries everything, so nothing can stand beside it"), `"CONNECT" alone, or only methods and paths`)
			}
			return nil, true, nil
		}
		more, hint, err := compileOperation(op)
		if err != nil {
			return nil, false, fault(op, err, hint)
		}
		ops = append(ops, more...)
	}
	return ops, false, reachable(ops)
}

func compileOperation(op string) ([]operation, string, error) {
	method, text, ok := strings.Cut(op, " ")
	if !ok {
		return nil, asOperation, errShape
	}
	verb := ""
	if method == "git" {
		if verb, text, ok = strings.Cut(text, " "); !ok || verb != "fetch" && verb != "push" {
			return nil, `"git fetch GLOB" or "git push GLOB", where GLOB is the repository's path`, errors.New("not an operation of git")
		}
	} else if hint, err := checkMethod(method); err != nil {
		return nil, hint, err
	}
	if hint, err := checkPathGlob(text); err != nil {
		return nil, hint, err
	}
	if verb == "" {
		if hint, err := withoutPush(text); err != nil {
			return nil, hint, err
		}
		return []operation{{method: method, path: newGlob(text, pathSep)}}, "", nil
	}
	return gitOperations(verb, text)
}

func gitOperations(verb, repo string) ([]operation, string, error) {
	if strings.HasSuffix(repo, "/") || strings.HasSuffix(repo, infoRefs) || strings.Contains(repo, uploadPack) || strings.Contains(repo, receivePack) {
		return nil, `the repository's own path, as "git ` + verb + ` /team/project.git"`, errors.New("not the path of a repository")
	}
	if len(repo)+len("/"+receivePack) > maxGlob {
		return nil, "", fmt.Errorf("a glob of more than %d bytes", maxGlob)
	}
	pack := uploadPack
	if verb == "push" {
		pack = receivePack
	}
	ask, none := "service="+pack, ""
	return []operation{
		{method: "GET", path: newGlob(repo+infoRefs, pathSep), query: &ask, push: verb == "push"},
		{method: "POST", path: newGlob(repo+"/"+pack, pathSep), query: &none, push: verb == "push"},
	}, "", nil
}

func checkMethod(m string) (hint string, err error) {
	upper := strings.ToUpper(m)
	switch {
	case m == "*":
		return "write one operation for each method", errors.New("a method can't be a wildcard")
	case m == "" || len(m) > maxMethod || strings.ContainsFunc(m, func(r rune) bool { return !token(r) }):
		return asOperation, errors.New("not a method")
	case m == "CONNECT":
		return `"CONNECT" alone`, errors.New("a tunnel has no path")
	case m == "TRACE" || m == "TRACK":
		return "", errors.New("it gives the request back, what is attached on the way included")
	case m != upper:
		return fmt.Sprintf("%q: methods are case-sensitive and in upper case", upper), errors.New("a method in lower case")
	}
	return "", nil
}

// token is RFC 9110, 5.6.2.
func token(r rune) bool {
	return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func checkPathGlob(g string) (hint string, err error) {
	switch {
	case strings.HasPrefix(g, "*"):
		return fmt.Sprintf("%q", "/"+g), errors.New("a path begins with a slash, not with a wildcard")
	case !strings.HasPrefix(g, "/"):
		return asOperation, errors.New("a path begins with a slash")
	case strings.Contains(g, "?"):
		return `the path here, and the query as query = "page=*"`, errors.New("a query is no part of the path")
	case strings.Contains(g, "//") && strings.Contains(g, "*"):
		return "one slash", errors.New(`"//" is matched by nothing: some servers take it for "/"`)
	}
	fixed, err := checkGlob(g, "/")
	if err != nil {
		return instead(fixed, ""), err
	}
	for s := range strings.SplitSeq(g, "/") {
		if s, _, _ = strings.Cut(s, ";"); s != "" && strings.Trim(s, ".") == "" {
			return "the path as it is without it", errors.New("a segment of dots is matched by nothing")
		}
	}
	return "", nil
}

// withoutPush refuses what only a git operation can allow.
func withoutPush(g string) (hint string, err error) {
	if i := strings.Index(g, "/"+receivePack); i >= 0 {
		return fmt.Sprintf("%q", "git push "+g[:i]), errors.New("only \"git push\" allows that")
	}
	return "", nil
}

// reachable refuses an operation without wildcards that allows nothing, since
// its path has readings that no operation of the entry names.
func reachable(ops []operation) *Fault {
	for _, o := range ops {
		if o.path.rest != "" {
			continue
		}
		all, bad := readings(o.path.text)
		if bad != "" {
			return &Fault{Key: "operations", Msg: fmt.Sprintf("%q can't be allowed: %s", o.method+" "+o.path.text, bad)}
		}
		for _, r := range all {
			if !matched(ops, o.method, r) {
				hint := fmt.Sprintf("add %q if that may be done as well", o.method+" "+r)
				if o.query != nil {
					hint = "a git operation for that path as well, or in its place"
				}
				return &Fault{Key: "operations", Msg: fmt.Sprintf("%.120q is matched by nothing: some servers take it for %.120q", o.method+" "+o.path.text, r), Hint: hint}
			}
		}
	}
	return nil
}

func matched(ops []operation, method, path string) bool {
	for i := range ops {
		if ops[i].method == method && ops[i].path.match(path) {
			return true
		}
	}
	return false
}

// quoted is a value of the policy and what is wrong with it.
func quoted(s string, err error) string { return fmt.Sprintf("%.120q: %v", s, err) }

func instead(fixed, otherwise string) string {
	if fixed == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", fixed)
}
