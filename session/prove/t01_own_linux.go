package prove

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
)

// homeFiles are where accounts keep keys, credentials and what they typed.
var homeFiles = []string{
	".ssh", ".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/id_ecdsa", ".ssh/config", ".ssh/known_hosts", ".ssh/authorized_keys",
	".aws", ".aws/credentials", ".aws/config", ".azure", ".config/gcloud", ".config/gcloud/credentials.db", ".kube", ".kube/config", ".docker", ".docker/config.json",
	".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".gradle/gradle.properties",
	".git-credentials", ".config/git/credentials", ".config/gh", ".config/gh/hosts.yml", ".config/hub", ".config/glab-cli/config.yml",
	".gnupg", ".gnupg/private-keys-v1.d", ".gnupg/pubring.kbx", ".password-store", ".local/share/keyrings", ".vault-token", ".terraform.d/credentials.tfrc.json", ".pgpass", ".my.cnf",
	".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history", ".viminfo", ".lesshst",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".thunderbird", ".local/share/recently-used.xbel",
	".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/opencode", ".local/share/opencode/auth.json",
}

// homeFiles are the account's own: they are opened and nothing is read.
func (r *reading) homeFiles() ([]row, error) {
	return r.e.ofHome(homeFiles, r.mounted, "key or credential file", "workspace open"), nil
}

// ofHome is a row for each file of a list that the account has.
func (e *env) ofHome(names, mounted []string, what, control string) []row {
	var out []row
	for _, name := range names {
		path := filepath.Join(e.real.Home, name)
		if e.real.Home == "" || unix.Access(path, unix.F_OK) != nil {
			continue // what is not there is no attempt
		}
		if below(path, mounted) {
			out = append(out, skipped(name, path, "the policy mounts that place"))
			continue
		}
		out = append(out, row{
			id: name, tried: "open the " + what + " " + path, expected: "refused or absent", do: onlyOpen(path), control: control,
			judge: refused("openat", absent...),
		})
	}
	return out
}

// ownRecord is what fumehood itself keeps: the session's policy and record, the
// other sessions, the account's policies.
func (r *reading) ownRecord() ([]row, error) {
	type file struct {
		id, path string
		list     bool
	}
	files := []file{
		{"lock of the run", filepath.Join(r.e.dir, "lock"), false},
		{"folder of sessions", string(r.e.real.Root), true},
		{"policies", filepath.Join(r.e.real.Config, "fumehood"), true},
	}
	if s, ok := r.rm.(*sess); ok {
		files = append(files, file{"session folder", string(s.dir), true})
		names, err := os.ReadDir(string(s.dir))
		if err != nil {
			return nil, fmt.Errorf("list the session's folder: %w", err)
		}
		for _, n := range names {
			files = append(files, file{"session's " + n.Name(), filepath.Join(string(s.dir), n.Name()), false})
		}
	}
	var out []row
	for _, f := range files {
		if unix.Access(f.path, unix.F_OK) != nil {
			continue
		}
		one := row{
			id: f.id, tried: "open " + f.path, expected: "refused or absent", do: onlyOpen(f.path), control: "workspace open",
			judge: refused("openat", absent...),
		}
		if f.list {
			one.tried, one.do, one.control = "list "+f.path, listAction(f.path), "workspace list"
		}
		out = append(out, one)
	}
	for _, dir := range []string{r.e.dir, r.e.real.Home} {
		if dir != "" && !below(dir, r.mounted) {
			out = append(out, r.above(dir))
		}
	}
	return out, nil
}

// above lists a folder that may be above the workspace. It is there then, with
// nothing in it but what leads to the workspace and to what the policy mounts.
func (r *reading) above(dir string) row {
	_, inside := r.rm.workspace()
	var ways []string
	meant := append([]string{inside}, r.mounted...)
	if theirs, ok := r.e.target.(*command); ok {
		meant = append(meant, theirs.path) // which it has to run
	}
	for _, path := range meant {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			ways = append(ways, first)
		}
	}
	return row{
		id: "names in " + dir, tried: "list " + dir, expected: "refused, absent, or nothing but the way to the workspace", do: listAction(dir), control: "workspace list",
		judge: func(s *seen) outcome {
			calls := s.seg.Find("getdents64")
			if len(calls) == 0 {
				return refused("openat", absent...)(s)
			}
			c := calls[len(calls)-1]
			if !c.OK() {
				return held("the kernel returned "+unix.ErrnoName(c.Errno()), walls.Kernel, c.String())
			}
			var more []string
			names := namesIn(c.Data)
			for _, n := range names {
				if n != "." && n != ".." && !slices.Contains(ways, n) {
					more = append(more, n)
				}
			}
			c.Data = nil
			line := fmt.Sprintf("%s: %q", c, names)
			switch {
			case len(names) == 0:
				return errored("the names were not seen")
			case len(more) > 0:
				return failed(fmt.Sprintf("%d names of the host's", len(more)), walls.Kernel, line)
			}
			return held("nothing but the way to the workspace", walls.Kernel, line)
		},
	}
}

// namesIn reads the names out of what getdents64 wrote.
func namesIn(b []byte) []string {
	const head = 19 // inode, offset, length of the record, kind
	var out []string
	for len(b) > head {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= head || size > len(b) {
			break // cut where the tracer's copy ends
		}
		out = append(out, unix.ByteSliceToString(b[head:size]))
		b = b[size:]
	}
	return out
}
