package session

import (
	"fmt"
	"strings"

	"fumehood/isolate/policy"
	"fumehood/session/agent"
)

// reachLines says in plain words what a policy lets a session reach.
func reachLines(p *policy.Policy) []string {
	if len(p.Network.Allow) == 0 {
		return []string{"no network: only loopback of its own"}
	}
	var out []string
	for _, a := range p.Network.Allow {
		line := strings.TrimSuffix(a.Destination, ":443") + ", " + purpose(a.Operations)
		if a.Account != "" && a.Account != "none" {
			line += ", as your account " + a.Account + " (it sees a placeholder)"
		}
		out = append(out, line)
	}
	return append(out, "nothing else")
}

// verbs are methods in plain words.
var verbs = []struct {
	text    string
	methods []string
}{
	{"to read", []string{"GET", "HEAD"}},
	{"to post to", []string{"POST"}},
	{"to write", []string{"PUT", "PATCH"}},
	{"to delete", []string{"DELETE"}},
}

// purpose tells what operations are good for.
func purpose(operations []string) string {
	paths, order, others := map[string][]string{}, []string(nil), []string(nil)
	for _, op := range operations {
		method, path, _ := strings.Cut(op, " ")
		if method == "CONNECT" {
			return "through a tunnel that nobody looks into"
		}
		text := ""
		for _, v := range verbs {
			for _, m := range v.methods {
				if m == method {
					text = v.text
				}
			}
		}
		if text == "" {
			others = append(others, op)
			continue
		}
		if paths[text] == nil {
			order = append(order, text)
		}
		if !has(paths[text], path) {
			paths[text] = append(paths[text], path)
		}
	}
	var out []string
	for _, text := range order {
		out = append(out, text+" "+pathsText(paths[text]))
	}
	if len(others) > 0 {
		out = append(out, "for "+strings.Join(others, ", "))
	}
	return strings.Join(out, " and ")
}

func pathsText(list []string) string {
	if has(list, "/**") {
		return "anything"
	}
	if len(list) > 2 {
		return fmt.Sprintf("%s, %s (and %d more)", list[0], list[1], len(list)-2)
	}
	return strings.Join(list, ", ")
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// accountLines says of each credential where it is held and what the inside has
// of it.
func accountLines(p *policy.Policy) []string {
	var out []string
	for _, c := range p.Credentials {
		out = append(out, fmt.Sprintf("%s: %s, held outside; inside, %s is a placeholder", c.Name, sourceText(c.Source), strings.TrimPrefix(c.Placeholder, "env:")))
	}
	return out
}

func sourceText(source string) string {
	kind, rest, _ := strings.Cut(source, ":")
	switch kind {
	case "env":
		return rest + " of your environment"
	case "file":
		file, _, _ := strings.Cut(rest, "#")
		return "in " + file
	}
	prog, _, _ := strings.Cut(rest, " ")
	return "what " + prog + " prints"
}

// agentNotes is what a person should know of the agent in this session.
func (h *Host) agentNotes(prof *agent.Profile, p *policy.Policy) []string {
	var out []string
	for _, c := range p.Credentials {
		if h.sourceThere(c.Source) {
			out = append(out, fmt.Sprintf("account %s uses %s, held outside (policy %s)", c.Name, sourceText(c.Source), p.Name))
		} else {
			out = append(out, fmt.Sprintf("account %s has no credential: %s is not there; its requests will be refused", c.Name, sourceText(c.Source)))
		}
	}
	if prof != nil && len(prof.Policies) > 0 && !has(prof.Policies, p.Name) && !h.fits(prof, p) {
		out = append(out, fmt.Sprintf("the policy %s does not let %s reach what it needs; --policy %s does", p.Name, prof.Name, h.agentPolicy(prof)))
	}
	return out
}

// fits tells whether a policy names a destination of one of the agent's own.
func (h *Host) fits(prof *agent.Profile, p *policy.Policy) bool {
	for _, name := range prof.Policies {
		own, _, err := policy.Find(name, h.Config)
		if err != nil {
			continue
		}
		for _, a := range own.Network.Allow {
			for _, b := range p.Network.Allow {
				if a.Destination == b.Destination {
					return true
				}
			}
		}
	}
	return false
}
