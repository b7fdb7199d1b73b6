package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fumehood/diffreview"
	"fumehood/isolate/policy"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// notFound is the status of a command that is not found, a shell's too.
const notFound = 127

// notMade are the statuses from here on that a command does not choose itself,
// but for notFound and one less.
const notMade = 124

// Missing says why a run that ended with a status may not have found a command
// that this machine has, or what it needs, and what brings it in; "" when there
// is nothing to say.
func (h *Host) Missing(d store.Dir, code int, began bool) string {
	if code <= 0 || code >= notMade && code != notFound {
		return ""
	}
	rec, err := d.LoadRecord()
	if err != nil || len(rec.Command) == 0 {
		return "" // the run's own end was said before
	}
	pol, err := frozen(d, rec)
	if err != nil {
		return ""
	}
	left, err := d.LoadLeftOut()
	if err != nil {
		return ""
	}
	stayed := stayedOut(pol, left)
	if code != notFound {
		return stayed
	}
	p := &Prepared{Policy: pol}
	if err := h.readOnly(p); err != nil {
		return ""
	}
	if began {
		if stayed != "" {
			return stayed
		}
		return shellMissing(p.Offered, h.Home)
	}
	name := rec.Command[0]
	if strings.Contains(name, "/") {
		return stayedBelow(name, left)
	}
	for _, dir := range filepath.SplitList(h.getenv("PATH")) {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 && !h.isInside(p, dir) {
			return missing(name, dir, h.Home, p.Refused)
		}
	}
	return ""
}

// stayedOut names the dependency folders that stayed out for no other reason than
// that the policy says nothing of what git ignores.
func stayedOut(pol *policy.Policy, left []diffreview.LeftOut) string {
	if len(include(pol)) > 0 {
		return ""
	}
	var names []string
	for _, l := range left {
		// What a build made it makes again.
		if workspace.Dependency(l) && filepath.Base(l.Path) != "target" {
			names = append(names, l.Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	n := min(len(names), 3)
	return fmt.Sprintf("%s%s stayed out, since git ignores it; if the command needs it: filesystem.include = \"auto\" in a policy (\"fumehood policy init NAME\" writes one), or i on the page of a new session",
		strings.Join(names[:n], ", "), andMore(len(names)-n))
}

// stayedBelow is for a command that is named by a path in what stayed out.
func stayedBelow(name string, left []diffreview.LeftOut) string {
	for _, l := range left {
		folder, ok := strings.CutSuffix(l.Path, "/")
		if ok && l.Reason == workspace.IgnoredByGit && strings.Contains("/"+filepath.Clean(name)+"/", "/"+folder+"/") {
			how := fmt.Sprintf("filesystem.include = [%q] brings it in", folder)
			if workspace.Dependency(l) {
				how = `filesystem.include = "auto" in a policy brings such folders in ("fumehood policy init NAME" writes one), as does i on the page of a new session`
			}
			return fmt.Sprintf("%s stayed out: %s; %s", l.Path, l.Reason, how)
		}
	}
	return ""
}

// isInside tells whether a folder of PATH is there inside.
func (h *Host) isInside(p *Prepared, dir string) bool {
	for _, m := range p.ReadOnly {
		if within(dir, m.Inside) {
			return true
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && (within(real, "/usr") || within(real, "/opt"))
}

func missing(name, dir, home string, refused []policy.Refusal) string {
	text := fmt.Sprintf("%q is in %q on this machine, which is not inside", name, dir)
	for _, r := range refused {
		if r.Path == filepath.Clean(dir) {
			return text + ": " + r.Why
		}
	}
	return text + fmt.Sprintf("; filesystem.inputs = [%q] shows it there, read-only", toName(dir, home))
}

// shellMissing is for a command whose status says that it did not find another.
// Folders elsewhere than below the home are too many to name each time.
func shellMissing(offered []string, home string) string {
	var dirs, names []string
	for _, dir := range offered {
		if home != "" && within(dir, home) && len(dirs) < 3 {
			dirs, names = append(dirs, fmt.Sprintf("%q", dir)), append(names, fmt.Sprintf("%q", toName(dir, home)))
		}
	}
	if len(dirs) == 0 {
		return ""
	}
	return fmt.Sprintf("127 is a shell's status for a command that is not found; on PATH but not inside: %s; filesystem.inputs = [%s] shows what is there, read-only",
		strings.Join(dirs, ", "), strings.Join(names, ", "))
}

// toName is what a policy would name to bring a folder of programs in: with what
// lies beside it, since programs have their libraries there.
func toName(dir, home string) string {
	dir = filepath.Clean(dir)
	if up := filepath.Dir(dir); filepath.Base(dir) == "bin" && up != "/" && !within(home, up) {
		dir = up
	}
	if rest, ok := strings.CutPrefix(dir, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return dir
}
