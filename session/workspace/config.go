package workspace

import (
	"net/url"
	"slices"
	"strings"
)

// config is git's effective configuration: keys in lower case but for the
// middle part, each with its values in order.
type config struct {
	values map[string][]string
	order  []string
}

// parseConfig reads what "git config -z --list" prints.
func parseConfig(raw []byte) config {
	c := config{values: map[string][]string{}}
	for _, item := range strings.Split(string(raw), "\x00") {
		key, value, has := strings.Cut(item, "\n")
		if key == "" {
			continue
		}
		if !has {
			value = "true" // a key alone
		}
		if _, seen := c.values[key]; !seen {
			c.order = append(c.order, key)
		}
		c.values[key] = append(c.values[key], value)
	}
	return c
}

// get gives the value that counts, the last.
func (c config) get(key string) (string, bool) {
	v := c.values[key]
	if len(v) == 0 {
		return "", false
	}
	return v[len(v)-1], true
}

// is reads a boolean; what is none of git's words for it is false.
func (c config) is(key string) bool {
	v, _ := c.get(key)
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// carried are the keys whose effective value goes into the workspace: plain
// values that no program, path or address hides in.
var carried = []string{
	"core.autocrlf", "core.eol", "core.safecrlf", "core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.filemode",
	"core.quotepath", "core.whitespace", "core.abbrev", "core.commentchar", "core.sparsecheckout", "core.sparsecheckoutcone",
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email",
	"init.defaultbranch", "pull.rebase", "pull.ff", "push.default", "merge.conflictstyle", "merge.ff",
	"rebase.autosquash", "rebase.autostash", "diff.algorithm", "diff.renames", "diff.colormoved", "fetch.prune", "rerere.enabled",
	"commit.cleanup", "column.ui", "branch.sort", "tag.sort", "i18n.commitencoding", "i18n.logoutputencoding",
}

// section is one block of a config file to be written.
type section struct {
	name, sub string
	lines     [][2]string
}

// sections makes the workspace's configuration out of the host's. branches are
// the short names of those that are in the workspace.
func sections(host config, format string, branches []string) []section {
	core := section{name: "core", lines: [][2]string{{"repositoryformatversion", "0"}, {"bare", "false"}, {"logallrefupdates", "true"}}}
	var out []section
	if format != "sha1" {
		core.lines[0][1] = "1"
		out = append(out, section{name: "extensions", lines: [][2]string{{"objectformat", format}}})
	}
	rest := map[string]*section{"core": &core}
	names := []string{"core"}
	for _, key := range carried {
		v, ok := host.get(key)
		if !ok {
			continue
		}
		name, k, _ := strings.Cut(key, ".")
		if rest[name] == nil {
			rest[name] = &section{name: name}
			names = append(names, name)
		}
		rest[name].lines = append(rest[name].lines, [2]string{k, v})
	}
	if rest["commit"] == nil {
		rest["commit"] = &section{name: "commit"}
		names = append(names, "commit")
	}
	// No signing program and no agent is in reach inside.
	rest["commit"].lines = append(rest["commit"].lines, [2]string{"gpgsign", "false"})
	for _, n := range names {
		out = append(out, *rest[n])
	}
	out = append(out, section{name: "tag", lines: [][2]string{{"gpgsign", "false"}}})
	return append(out, subsections(host, branches)...)
}

// subsections carries remotes and the upstreams of branches.
func subsections(host config, branches []string) []section {
	var out []section
	at := map[string]int{}
	add := func(name, sub, key, value string) {
		id := name + "." + sub
		i, ok := at[id]
		if !ok {
			i = len(out)
			at[id] = i
			out = append(out, section{name: name, sub: sub})
		}
		out[i].lines = append(out[i].lines, [2]string{key, value})
	}
	for _, full := range host.order {
		name, rest, ok := strings.Cut(full, ".")
		if !ok {
			continue
		}
		i := strings.LastIndexByte(rest, '.')
		if i < 0 {
			continue
		}
		sub, key := rest[:i], rest[i+1:]
		if strings.ContainsAny(sub, "\n\x00") {
			continue
		}
		for _, v := range host.values[full] {
			switch {
			case name == "remote" && (key == "url" || key == "pushurl"):
				if u, ok := cleanURL(v); ok {
					add(name, sub, key, u)
				}
			case name == "remote" && key == "fetch":
				add(name, sub, key, v)
			case name == "branch" && slices.Contains(branches, sub) && (key == "remote" || key == "merge" || key == "rebase"):
				add(name, sub, key, v)
			}
		}
	}
	return out
}

// cleanURL takes the secrets out of a remote's address: userinfo, query and
// fragment. ssh keeps its user name. What could make git run a program
// ("ext::", any "helper::") is dropped.
func cleanURL(s string) (string, bool) {
	if strings.Contains(s, "::") {
		return "", false
	}
	if !strings.Contains(s, "://") {
		// A path, or ssh's short form [user@]host:path.
		at := strings.IndexByte(s, '@')
		if at < 0 || strings.Contains(s[:at], "/") {
			return s, true
		}
		user, _, _ := strings.Cut(s[:at], ":")
		return user + s[at:], true
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "ssh", "git+ssh", "ssh+git":
		if u.User != nil {
			u.User = url.User(u.User.Username())
		}
	case "http", "https", "git", "ftp", "ftps", "file":
		u.User = nil
	default:
		return "", false
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
	return u.String(), true
}

// renderConfig writes sections as git reads them.
func renderConfig(list []section) []byte {
	var b strings.Builder
	for _, s := range list {
		if len(s.lines) == 0 {
			continue
		}
		b.WriteString("[" + s.name)
		if s.sub != "" {
			b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.sub) + `"`)
		}
		b.WriteString("]\n")
		for _, l := range s.lines {
			if strings.Contains(l[1], "\x00") {
				continue
			}
			b.WriteString("\t" + l[0] + " = \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(l[1]) + "\"\n")
		}
	}
	return []byte(b.String())
}
