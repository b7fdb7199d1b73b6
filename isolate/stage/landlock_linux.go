package stage

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// ruleset is a Landlock ruleset that is ready to be put in force.
type ruleset struct {
	fd    int
	flags uint32
}

// makeRuleset is strict: a rule or right that the kernel does not take is an
// error, and so is a ruleset that would enforce nothing.
func makeRuleset(l plan.Landlock) (ruleset, error) {
	if leftOut == plan.LandlockFS && l.FS == 0 && l.Scoped == 0 {
		return ruleset{fd: -1}, nil // a kernel that can do nothing else
	}
	conf := landlock.Config{HandledAccessFS: landlock.AccessFSSet(l.FS), Scoped: landlock.ScopedSet(l.Scoped)}
	if l.Log {
		conf = conf.EnableLoggingForSubprocesses()
	}
	rules := make([]landlock.Rule, 0, len(l.Rules))
	for _, r := range l.Rules {
		rules = append(rules, landlock.PathAccess(landlock.AccessFSSet(r.Access), r.Path))
	}
	fd, flags, err := conf.NewRulesetFD(rules...)
	if err != nil {
		return ruleset{}, at(layer.Landlock, "create_ruleset", err)
	}
	if fd < 0 || l.FS == 0 && leftOut != plan.LandlockFS {
		return ruleset{}, at(layer.Landlock, "create_ruleset", fmt.Errorf("nothing would be enforced"))
	}
	return ruleset{fd: fd, flags: flags}, nil
}

// enforce puts the ruleset in force on the calling thread alone.
func (r ruleset) enforce() error {
	if r.fd < 0 {
		return nil
	}
	return wrap(layer.Landlock, "restrict_self", ll.LandlockRestrictSelf(r.fd, r.flags))
}
