package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// carriedOut tries to bring the token out, by output and workspace.
func (r *reading) carriedOut() ([]row, error) {
	canary, err := r.e.canary(r.e.dir, "to-carry-out")
	if err != nil {
		return nil, err
	}
	_, inside := r.rm.workspace()
	return []row{
		r.e.carry(r.rm, "carried control", "carry a file of the workspace out", filepath.Join(inside, "README.md"), nil),
		r.e.carry(r.rm, "carried", "carry the canary out by output and workspace", canary, []string{r.e.token}),
	}, nil
}

// carry is one attempt to bring a file out. Without secrets it is the control:
// the text of the throw-away repository has to come out both ways.
func (e *env) carry(rm room, id, tried, from string, secrets []string) row {
	host, inside := rm.workspace()
	name := "fumehood-" + e.id + "-" + strings.ReplaceAll(id, " ", "-")
	one := row{
		id: id, tried: tried, expected: "nothing of it comes out", host: true, control: "carried control",
		do:    probe.Action{Do: "carry out", Args: map[string]string{"from": from, "to": filepath.Join(inside, name)}},
		after: func() (outcome, error) { return nothingMore, atLeastGone(os.Remove(filepath.Join(host, name))) },
	}
	if secrets == nil {
		one.expected, one.control = "comes out both ways", ""
	}
	one.judge = func(s *seen) outcome {
		text, err := os.ReadFile(filepath.Join(host, name))
		if err != nil {
			return errored("it was not tried: nothing lies in the workspace" + s.why())
		}
		if secrets == nil {
			return cameOut(string(text), s)
		}
		return e.stayedIn(rm, string(text), s, secrets)
	}
	return one
}

func cameOut(text string, s *seen) outcome {
	if !strings.Contains(text, repoText) || !strings.Contains(string(s.out), "carried: "+repoText) {
		return errored("a file of the workspace did not come out both ways" + s.why())
	}
	return held("came out by output and workspace", walls.Filesystem, fmt.Sprintf("workspace: %q", clean(text)))
}

// repoText is the beginning of the throw-away repository's README.
const repoText = "# a repository of the wall tests"

// stayedIn seeks the secrets in everything that came out: what the probe wrote,
// what it left in the workspace, and the session's record.
func (e *env) stayedIn(rm room, text string, s *seen, secrets []string) outcome {
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			return failed("it lies in the workspace", walls.Filesystem, fmt.Sprintf("workspace: %q", clean(text)))
		}
		if strings.Contains(string(s.out), secret) {
			return failed("it is in the output", walls.Supervisor, "the output holds "+secret)
		}
	}
	if o, found := e.found(s); found {
		return o
	}
	seen, bytes := 0, int64(0)
	if r, ok := rm.(*sess); ok {
		hit, files, size, err := seekIn(string(r.dir), secrets, "home", "workspace")
		switch {
		case err != nil:
			return errored(err.Error())
		case hit != "":
			return failed("it lies in the session's record", walls.Filesystem, hit)
		}
		seen, bytes = files, size
	}
	return held("not in output, workspace or record", walls.Filesystem,
		fmt.Sprintf("sought in %d bytes of output, in the file in the workspace, and in %d files of the record with %d bytes", len(s.out), seen, bytes))
}
