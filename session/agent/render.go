package agent

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Facts are what a seed's text may name.
type Facts struct {
	Workspace string
	// Last20 is the last 20 characters of each account's placeholder, which stay
	// the same in every life of a session: by them Claude Code knows a key that
	// it was told to trust.
	Last20 map[string]string
}

// Render gives a seed file's text: {workspace} is the workspace's path and
// {placeholder:NAME:last20} the end of an account's placeholder, both escaped
// for a quoted string of JSON or TOML, whose escapes are the same for this.
// Braces that hold no such word stay as they are: both formats use them. An
// account that the policy does not have leaves an empty text.
func (f File) Render(facts Facts) (string, error) {
	if !utf8.ValidString(facts.Workspace) {
		return "", fmt.Errorf("the path of the workspace %q is not UTF-8, and %s has to name it", facts.Workspace, f.Path)
	}
	var out strings.Builder
	rest := f.Text
	for {
		before, after, found := strings.Cut(rest, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		word, tail, closed := strings.Cut(after, "}")
		value, known := "", closed
		if name, last, ok := placeholderWord(word); closed && ok {
			value = facts.Last20[name]
			known = last
		} else if word == "workspace" {
			value = facts.Workspace
		} else {
			known = false
		}
		if !known {
			out.WriteByte('{')
			rest = after
			continue
		}
		quoted, err := quote(value)
		if err != nil {
			return "", fmt.Errorf("write %q into %s: %w", value, f.Path, err)
		}
		out.WriteString(quoted)
		rest = tail
	}
}

// placeholderWord reads "placeholder:NAME:last20".
func placeholderWord(s string) (name string, last20, ok bool) {
	name, ok = strings.CutPrefix(s, "placeholder:")
	if !ok {
		return "", false, false
	}
	name, last20 = strings.CutSuffix(name, ":last20")
	return name, last20, true
}

// quote escapes a text for between quotes.
func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return string(b[1 : len(b)-1]), nil
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
