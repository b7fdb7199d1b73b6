package prove

import (
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
)

// plantedKey is a key in the account's own keyring on the host.
type plantedKey struct {
	id   int
	name string
	why  string // there is none
}

// plantKey puts the credential into the account's keyring, for as long as a run
// can last: a run that is killed leaves nothing for long.
func (e *env) plantKey() *plantedKey {
	k := &plantedKey{name: "fumehood-canary-" + e.id}
	var err error
	if k.id, err = unix.AddKey("user", k.name, []byte(e.secret), unix.KEY_SPEC_USER_KEYRING); err != nil {
		k.why = "this account can't keep a key: " + err.Error()
		return k
	}
	const everything = 0x3f3f0000 // possessor and user; that both may read it is the point
	if _, err = unix.KeyctlInt(unix.KEYCTL_SET_TIMEOUT, k.id, 120, 0, 0); err == nil {
		err = unix.KeyctlSetperm(k.id, everything)
	}
	if err != nil {
		k.remove()
		k.why = "this account can't keep a key: " + err.Error()
	}
	return k
}

func (k *plantedKey) remove() {
	if k.why == "" {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, k.id, unix.KEY_SPEC_USER_KEYRING, 0, 0) // gone by itself soon
	}
}

func (k *plantedKey) rows(e *env) []row {
	var out []row
	read := probe.Step{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_READ), "$key", "z:256", "256"}}
	sought := []probe.Step{
		{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_SEARCH), fmt.Sprint(unix.KEY_SPEC_USER_KEYRING), "s:user", "s:" + k.name, "0"}, Save: "key"}, read,
	}
	numbered := []probe.Step{{Call: "keyctl", Args: []string{fmt.Sprint(unix.KEYCTL_READ), fmt.Sprint(k.id), "z:256", "256"}}}
	for _, r := range []struct {
		id, tried string
		steps     []probe.Step
	}{{"keyring", "seek the credential in the account's keyring", sought}, {"key", "read the credential's key by its number", numbered}} {
		if k.why != "" {
			out = append(out, skipped(r.id, r.tried, k.why))
			continue
		}
		out = append(out, row{
			id: r.id, tried: r.tried, expected: "refused", do: probe.Action{Steps: r.steps}, control: "decoy",
			judge: e.unseen(refused("keyctl", unix.ENOSYS, unix.EPERM, unix.EACCES, unix.ENOKEY)),
		})
	}
	if e.target.kind() == foreign {
		return out
	}
	return append(out, row{
		id: "own keyring", tried: "put a key into the process's own keyring", expected: "refused", control: "decoy",
		do:    probe.Action{Steps: []probe.Step{{Call: "add_key", Args: []string{"s:user", "s:fumehood", "s:x", "1", fmt.Sprint(unix.KEY_SPEC_PROCESS_KEYRING)}}}},
		judge: refused("add_key", unix.ENOSYS, unix.EPERM),
	})
}
