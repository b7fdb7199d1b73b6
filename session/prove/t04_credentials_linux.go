package prove

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// hostCredentials is test 4.
func hostCredentials(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	c, err := e.startCarrier(ctx)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	sockets, err := e.listenAsAgents()
	if err != nil {
		return nil, err
	}
	defer sockets.close()
	k := e.plantKey()
	defer k.remove()
	s := &seeking{e: e, rm: rm, c: c}
	if s.mounted, err = e.mountedPlaces(); err != nil {
		return nil, err
	}
	list := slices.Concat(s.controls(), s.environments(), s.memory(), k.rows(e), sockets.rows(), s.groups())
	for _, rows := range []func(context.Context) ([]row, error){s.repository, s.files} {
		more, err := rows(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return e.rows(ctx, rm, list)
}

// seeking makes the rows of test 4.
type seeking struct {
	e       *env
	rm      room
	c       *holder
	mounted []string
}

func readAction(path string) probe.Action {
	return probe.Action{Do: "read", Args: map[string]string{"path": path}}
}

// controls show that what is there is found: in a file, in memory, and on the
// way out.
func (s *seeking) controls() []row {
	host, inside := s.rm.workspace()
	decoy := filepath.Join(host, "fumehood-decoy-"+s.e.id)
	return []row{{
		id: "decoy", tried: "read a made-up text in a file of the workspace", expected: "it is found", do: readAction(filepath.Join(inside, filepath.Base(decoy))),
		before: func() error { return newFile(decoy, s.e.decoy()+"\n") },
		judge:  s.e.finds("read"),
		after:  func() (outcome, error) { return nothingMore, atLeastGone(os.Remove(decoy)) },
	}, {
		id: "decoy in memory", tried: "seek a made-up text in the probe's own memory", expected: "it is found",
		do: probe.Action{Do: "memory", Args: map[string]string{"decoy": s.e.decoy(), "only": "itself"}}, judge: s.e.finds("pread64"),
	}, s.e.carry(s.rm, "carried control", "carry a file of the workspace out", filepath.Join(inside, "README.md"), nil)}
}

// finds judges a control: the decoy has to be in what the kernel handed out.
func (e *env) finds(call string) func(*seen) outcome {
	return func(s *seen) outcome {
		if !s.traced {
			return works(call)(s) // again as a control only
		}
		for _, c := range s.seg.Find(call) {
			if slices.Contains(c.Found, e.decoy()) {
				c.Data = nil
				return held("it is found", walls.Kernel, c.String()+" holds "+e.decoy())
			}
		}
		return errored("what lies there was not found" + s.why())
	}
}

// nowhere judges what was read by a call: neither the credential nor the token
// may be in it. At least one such call has to have been tried.
func (e *env) nowhere(call string) func(*seen) outcome {
	return e.unseen(func(s *seen) outcome {
		calls, tried, size := s.seg.Find(call), s.seg.Find("openat"), int64(0)
		if len(tried) == 0 {
			return errored("nothing was opened" + s.why())
		}
		for _, c := range calls {
			if c.OK() {
				size += c.Ret
			}
		}
		last := tried[len(tried)-1]
		return held("it is nowhere in it", walls.Kernel, fmt.Sprintf("sought in %d bytes of %d answers to %s; %d files were tried, the last by %s", size, len(calls), call, len(tried), last))
	})
}

// environments is every environment and command line that shows.
func (s *seeking) environments() []row {
	own := row{
		id: "own environment", tried: "read the own environment", expected: "without the credential, and without the agents' sockets", do: readAction("/proc/self/environ"), control: "decoy",
		judge: s.e.unseen(func(sn *seen) outcome {
			var text strings.Builder
			for _, c := range sn.seg.Find("read") {
				text.Write(c.Data)
			}
			vars := strings.Split(strings.TrimSuffix(text.String(), "\x00"), "\x00")
			for _, v := range vars {
				name, value, _ := strings.Cut(v, "=")
				if strings.Contains(value, agentFolder(s.e.id)) {
					return failed("it names an agent's socket", walls.Kernel, name+" is inherited")
				}
			}
			if text.Len() == 0 {
				return errored("the environment was not seen to be read" + sn.why())
			}
			return held("the credential is not in it", walls.Kernel, fmt.Sprintf("%d variables in %d bytes", len(vars), text.Len()))
		}),
	}
	out := []row{
		own,
		s.e.carry(s.rm, "carried environment", "carry the own environment out by output and workspace", "/proc/self/environ", []string{s.e.secret}),
	}
	for _, file := range []string{"environ", "cmdline"} {
		out = append(out, row{
			id: "each " + file, tried: "read " + file + " of every process that shows", expected: "the credential is nowhere", control: "decoy",
			do: probe.Action{Do: "processes", Args: map[string]string{"file": file}}, judge: s.e.nowhere("read"),
		}, row{
			id: "host process's " + file, tried: fmt.Sprintf("read /proc/%d/%s of a host process that holds the credential", s.c.pid, file), expected: "refused or absent", control: "decoy",
			do: readAction(fmt.Sprintf("/proc/%d/%s", s.c.pid, file)), judge: s.e.nowhere("read"),
		})
	}
	out = append(out, row{
		id: "environment of process 1", tried: "read /proc/1/environ", expected: "refused, or without the credential", do: readAction("/proc/1/environ"), control: "decoy", account: true,
		judge: func(sn *seen) outcome { return worst(s.fromOutside(), s.e.nowhere("read")(sn)) },
	})
	if s.e.target.kind() != foreign {
		out = append(out, row{
			id: "descriptors of process 1", tried: "list /proc/1/fd", expected: "refused", do: listAction("/proc/1/fd"), control: "own descriptors",
			judge: refused("openat", absent...),
		}, row{
			id: "own descriptors", tried: "list /proc/self/fd", expected: "works", do: listAction("/proc/self/fd"),
			judge: works("getdents64"),
		})
	}
	return out
}

// fromOutside is what root sees of process 1's environment: nothing of the
// starter's, so that no hole inside could show any.
func (s *seeking) fromOutside() outcome {
	if os.Getuid() != 0 || s.rm.first() == 0 {
		return nothingMore
	}
	path := fmt.Sprintf("/proc/%d/environ", s.rm.first())
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return errored(fmt.Sprintf("read process 1's environment on the host: %v", err))
	case strings.Contains(string(text), s.e.secret):
		return failed("process 1 has it in its environment", walls.Status, path+" on the host holds "+s.e.secret)
	}
	for _, v := range inherited(string(text), os.Environ()) {
		name, _, _ := strings.Cut(v, "=")
		return failed("process 1 has inherited from who started it", walls.Status, fmt.Sprintf("%s on the host has %s", path, name))
	}
	return nothingMore
}

// inherited gives the variables of an environ file that are the starter's.
func inherited(environ string, starter []string) []string {
	var out []string
	for _, v := range strings.Split(environ, "\x00") {
		// Process 1 is given this one by whoever starts it.
		if v != "" && !strings.HasPrefix(v, "GOMAXPROCS=") && slices.Contains(starter, v) {
			out = append(out, v)
		}
	}
	return out
}

// memory is the memory of every process that shows.
func (s *seeking) memory() []row {
	return []row{{
		id: "memory", tried: "seek it in the memory of every process that shows, process 1 and those above among them", expected: "the credential is nowhere", control: "decoy in memory",
		do:    probe.Action{Do: "memory", Args: map[string]string{"decoy": s.e.decoy(), "first": fmt.Sprint(s.c.pid)}},
		judge: s.e.nowhere("pread64"),
	}}
}

// repository is what a copy of a repository could bring with it.
func (s *seeking) repository(ctx context.Context) ([]row, error) {
	_, inside := s.rm.workspace()
	out := []row{
		{
			id: "ignored file", tried: "open the file with a token that git ignores", expected: "absent", do: openAction(filepath.Join(inside, "ignored.env")), control: "decoy",
			judge: s.e.unseen(refused("openat", absent...)),
		},
	}
	if s.e.target.kind() == bare {
		return out, nil // its workspace has no .git
	}
	// Without this the attempts below would prove nothing.
	cmd := exec.CommandContext(ctx, "git", "-C", s.e.repo, "cat-file", "--batch-all-objects", "--batch")
	if text, err := cmd.Output(); err != nil || !strings.Contains(string(text), s.e.token) {
		return nil, fmt.Errorf("the dropped stash is not in the repository on the host: %w", err)
	}
	git := func(id, tried, words, there string) row {
		return row{
			id: id, tried: tried, expected: "the token is nowhere", control: "decoy",
			do: probe.Action{Do: "git", Args: map[string]string{"dir": inside, "words": words}}, judge: s.e.unseen(gitSaid(there)),
		}
	}
	return append(
		out,
		git("git objects", "read every object with git, a dropped stash among them", "cat-file --batch-all-objects --batch", repoText),
		git("git settings", "list every setting of git's, credential helpers and headers among them", "config --list --show-origin", "core.repositoryformatversion"),
		row{
			id: "loose objects", tried: "inflate every object and pack without git", expected: "the token is nowhere", control: "decoy",
			do: probe.Action{Do: "objects", Args: map[string]string{"dir": inside}}, judge: s.e.unseen(holds(repoText)),
		},
		row{
			id: ".git/config", tried: "read .git/config", expected: "the token is nowhere", control: "decoy", do: readAction(filepath.Join(inside, ".git/config")),
			judge: s.e.nowhere("read"),
		},
	), nil
}

// holds judges what the probe handed out to be searched: what is known to be
// there has to be in it, or it was no search.
func holds(there string) func(*seen) outcome {
	return func(s *seen) outcome {
		if s.said == nil || !strings.Contains(string(s.said.Got), there) {
			return errored(fmt.Sprintf("%q, which is there, was not found either%s", there, s.why()))
		}
		return held("it is nowhere in it", walls.Supervisor, fmt.Sprintf("sought in %d bytes that the probe read (%s), which hold %q", len(s.said.Got), s.said.Text, there))
	}
}

func gitSaid(there string) func(*seen) outcome {
	return func(s *seen) outcome {
		ran := false
		for _, c := range s.seg.Find("execve") {
			ran = ran || c.OK()
		}
		if !ran && s.said != nil && s.said.Err != "" {
			return notApplicable("git is not inside: " + s.said.Err)
		}
		return holds(there)(s)
	}
}
