package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// bareTarget is isolate's sandbox by itself, without a supervisor, and with a
// part left out. Nothing but Mutate makes one.
type bareTarget struct {
	e       *env
	part    *isolate.Part // nil leaves out nothing
	environ bool          // all variables of the starter go in
}

func (*bareTarget) kind() kind { return bare }

// ownTemporary is the part that a workspace in a temporary folder can't do without.
const ownTemporary = "own temporary folders"

// openFiles is the sandbox's limit of descriptors: a policy has none, and the
// part could not be left out otherwise.
const openFiles = 1024

func (t *bareTarget) open(ctx context.Context, pol *policy.Policy) (room, error) {
	e := t.e
	e.rooms++
	dir := filepath.Join(e.dir, fmt.Sprintf("bare-%d", e.rooms))
	name := fmt.Sprintf("%s-%s-%d", probe.Name, e.id, e.rooms)
	uid, gid, user := os.Getuid(), os.Getgid(), "user"
	if uid == 0 {
		uid, gid = 61184, 61184 // as a session of root's: no account's, no package's
	}
	r := &bareRoom{
		e: e, dir: dir, path: isolate.HomeInside + "/" + name,
		// Below a private folder, so that there is one above to be sealed.
		inside: "/tmp/fumehood-" + e.id + "/above/repo", input: "/srv/fumehood-" + e.id,
	}
	if t.part != nil && t.part.Name == ownTemporary {
		r.inside = "/srv/fumehood-" + e.id + "-work/above/repo" // what is mounted below /tmp would need it
	}
	if t.part != nil && t.part.Name == "own temporary folders" {
		r.inside = "/srv/fumehood-workspace-" + e.id + "/repo" // else it would be made in the host's
	}
	give := func(path string) error { return os.Lchown(path, uid, gid) }
	for _, sub := range []string{"", "canary", "input", "workspace", "home"} {
		path := filepath.Join(dir, sub)
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, fmt.Errorf("make a throw-away sandbox's folder: %w", err)
		}
		if sub != "" {
			if err := give(path); err != nil {
				return nil, fmt.Errorf("make a throw-away sandbox's folder: %w", err)
			}
		}
	}
	if err := copyTree(e.repo, filepath.Join(dir, "workspace"), give); err != nil {
		return nil, err
	}
	if err := copyProgram(filepath.Join(dir, "home", name), uid, gid); err != nil {
		return nil, err
	}
	spec := isolate.Spec{
		ID: e.id, Workspace: isolate.Mount{Host: filepath.Join(dir, "workspace"), Inside: r.inside},
		Home: isolate.Mount{Host: filepath.Join(dir, "home"), Inside: isolate.HomeInside}, Canary: filepath.Join(dir, "canary"),
		ReadOnly: []isolate.Mount{{Host: filepath.Join(dir, "input"), Inside: r.input}},
		HostHome: e.host.Home, Require: pol.Boundary.Require, UID: uid, GID: gid, User: user,
		Processes: pol.Limits.Processes, DataBytes: uint64(pol.Limits.Memory), OpenFiles: openFiles,
		FileBytes: uint64(pol.Limits.Disk), CPUs: pol.Limits.CPUs, TmpBytes: uint64(pol.Limits.Memory),
	}
	r.env = session.Environment(e.host.Env, user, nil)
	if t.environ {
		r.env = append(append([]string(nil), e.host.Env...), "HOME="+isolate.HomeInside)
	}
	var err error
	if t.part == nil {
		r.box, err = isolate.Start(ctx, spec)
	} else {
		r.box, err = isolate.StartWithout(ctx, spec, *t.part)
	}
	if err != nil {
		return nil, fmt.Errorf("start a throw-away sandbox: %w", err)
	}
	return r, nil
}

// bareRoom is one of them.
type bareRoom struct {
	e                 *env
	box               *isolate.Sandbox
	dir, inside, path string
	input             string // a folder of the host's, read-only, as it appears inside
	env               []string
}

func (r *bareRoom) probe(ctx context.Context, job probe.Job, o how) (*ran, error) {
	return talk(ctx, job, o, r.path, func(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
		inside, ok := in.(*os.File)
		if !ok {
			return "", errors.New("the probe's input is no file")
		}
		pr, pw, err := os.Pipe()
		if err != nil {
			return "", fmt.Errorf("pipe for a probe: %w", err)
		}
		defer pr.Close()
		p, err := r.box.Spawn(isolate.Command{Argv: []string{r.path}, Env: r.env, Dir: r.inside, Stdin: inside, Stdout: pw, Stderr: pw})
		_ = pw.Close() // the probe has its own
		if err != nil {
			return "", err
		}
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			_, _ = io.Copy(out, pr) // until every writer has gone, or the pipe is closed below
		}()
		select {
		case <-p.Done():
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), r.box.Kill())
		}
		st := p.Wait()
		_ = pr.SetReadDeadline(deadlineSoon()) // what it left behind may hold the pipe open
		<-copied
		switch {
		case st.StartErr != "":
			return st.StartErr, nil
		case st.Signal != 0:
			return "signal " + session.SignalName(st.Signal), nil
		}
		return fmt.Sprintf("exit %d", st.Code), nil
	})
}

func (r *bareRoom) workspace() (host, inside string) {
	return filepath.Join(r.dir, "workspace"), r.inside
}
func (r *bareRoom) home() string                { return isolate.HomeInside }
func (r *bareRoom) first() int                  { return r.box.PID() }
func (r *bareRoom) close(context.Context) error { return r.box.Kill() }

// copyTree copies the throw-away repository, which no session has touched.
func copyTree(from, to string, give func(string) error) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case rel == "." || rel == ".git" || d.Type()&fs.ModeSymlink != 0:
			if d.IsDir() && rel == ".git" {
				return fs.SkipDir
			}
			return nil
		case rel == "ignored.env":
			return nil // as a copy-in would leave it out
		case d.IsDir():
			err = os.Mkdir(dst, 0o755)
		default:
			var b []byte
			if b, err = os.ReadFile(path); err == nil {
				err = atomicfile.Write(dst, b, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("copy the throw-away repository: %w", err)
		}
		return give(dst)
	})
}
