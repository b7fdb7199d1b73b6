package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// shellFiles are settings of shells and of git, which may hold a credential or
// name who has it.
var shellFiles = []string{
	".profile", ".bashrc", ".bash_profile", ".bash_logout", ".bash_aliases", ".zshrc", ".zprofile", ".zshenv", ".config/fish/config.fish", ".envrc", ".env",
	".gitconfig", ".config/git/config", ".config/environment.d",
}

// files are those of the account, and one that a group of its may read.
func (s *seeking) files(context.Context) ([]row, error) {
	out := s.e.ofHome(shellFiles, s.mounted, "settings file", "decoy")
	const id, tried = "group's file", "open a canary that a supplementary group may read"
	groups, err := os.Getgroups()
	if err != nil {
		return nil, fmt.Errorf("ask for groups: %w", err)
	}
	groups = slices.DeleteFunc(groups, func(g int) bool { return g == os.Getgid() })
	if len(groups) == 0 {
		return append(out, skipped(id, tried, "this account has no supplementary groups")), nil
	}
	path, err := s.e.canary(s.e.dir, "group")
	if err != nil {
		return nil, err
	}
	err = os.Lchown(path, -1, groups[0])
	if errors.Is(err, unix.EINVAL) {
		return append(out, skipped(id, tried, "no group of this account's is known to its user namespace")), nil
	}
	if err := errors.Join(err, unix.Chmod(path, 0o640)); err != nil {
		return nil, fmt.Errorf("plant a canary for group %d of this account's: %w", groups[0], err)
	}
	return append(out, row{
		id: id, tried: fmt.Sprintf("%s (%d): %s", tried, groups[0], path), expected: "refused or absent", do: openAction(path), control: "decoy",
		judge: s.e.unseen(refused("openat", absent...)),
	}), nil
}

// groups is whether the account's groups are the sandbox's.
func (s *seeking) groups() []row {
	const id, tried = "groups", "ask for the supplementary groups"
	if os.Getuid() != 0 {
		return []row{skipped(id, tried, "an ordinary user's groups can't be dropped; no file that one may read is inside")}
	}
	return []row{{
		id: id, tried: tried, expected: "none", account: true, do: probe.Action{Steps: []probe.Step{{Call: "getgroups", Args: []string{"0", "0"}}}},
		judge: func(sn *seen) outcome {
			calls := sn.seg.Find("getgroups")
			if len(calls) == 0 || !calls[0].OK() {
				return errored("it was not told" + sn.why())
			}
			if calls[0].Ret > 0 {
				return failed(fmt.Sprintf("%d groups of root's", calls[0].Ret), walls.Kernel, calls[0].String())
			}
			return held("none", walls.Kernel, calls[0].String())
		},
	}}
}
