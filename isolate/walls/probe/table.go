package probe

import "maps"

// action does one attempt that a list of calls can't express.
type action func(args map[string]string) Said

// actions is every action by its name. Each family has a file of its own.
func actions() map[string]action {
	all := map[string]action{}
	for _, family := range []map[string]action{
		nameActions, credentialActions, netActions, proxyActions, hogActions, clockActions, lifeActions, strengthActions, trapActions,
	} {
		maps.Copy(all, family)
	}
	return all
}

// childActions is what a probe can be started again as: "fumehood-probe NAME
// ARGS..." runs one and ends with the status that it returns.
func child(name string, args []string) int {
	for _, family := range []map[string]func([]string) int{launchChildren, credentialChildren, denyChildren, coverChildren, hogChildren, clockChildren, lifeChildren, strengthChildren} {
		if f, ok := family[name]; ok {
			return f(args)
		}
	}
	return 3
}
