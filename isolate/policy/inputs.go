package policy

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Inputs turns the host paths that a policy lists (filesystem.inputs, or a
// list of toolchains) into places. home is the user's home, for "~/"; never
// lists folders that no session may see, such as fumehood's own state and
// configuration; resolve follows every link of a path and fails when there is
// nothing. What was asked for by name and can't be given is a Refusal, and a
// start with one is refused.
func Inputs(list []string, home string, never []string, resolve func(string) (string, error)) (places []Place, refused []Refusal) {
	f := finder{home: home, resolve: resolve, homes: []string{home}}
	if real, err := resolve(home); err == nil && real != home {
		f.homes = append(f.homes, real)
	}
	for _, name := range list {
		dir := name
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			dir = path.Join(home, rest)
		}
		dir = path.Clean(dir)
		real, err := resolve(dir)
		if err == nil {
			err = f.badInput(dir, real, never)
		} else if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("does not exist")
		}
		if err != nil {
			refused = append(refused, Refusal{Path: name, Why: err.Error()})
			continue
		}
		places = append(places, Place{Path: dir, Real: real})
	}
	return places, refused
}

// badInput says why a path that the policy names must not go in all the same.
func (f *finder) badInput(dir, real string, never []string) error {
	switch {
	case !path.IsAbs(dir):
		return errors.New("not absolute")
	case f.holdsHome(dir) || f.holdsHome(real):
		return errors.New("leads to " + real + ", which is the home or holds it")
	case withinAny(dir, kernelFolders()) || withinAny(real, kernelFolders()):
		return errors.New("leads to " + real + ", a folder of the running system")
	}
	for _, h := range f.homes {
		for _, c := range credentialFolders() {
			if one := path.Join(h, c); within(real, one) || within(dir, one) || within(one, real) {
				return errors.New("leads to " + real + ", which holds credentials or is around them: " + one)
			}
		}
	}
	for _, own := range never {
		own = path.Clean(own)
		// The real path of our own folder counts too: a link must not open it.
		for _, one := range []string{own, f.real(own)} {
			if within(real, one) || within(one, real) || within(dir, one) || within(one, dir) {
				return errors.New("leads to " + real + ", and fumehood's own " + own + " is never visible inside")
			}
		}
	}
	return nil
}

func (f *finder) real(dir string) string {
	if to, err := f.resolve(dir); err == nil {
		return to
	}
	return dir
}

// kernelFolders show the running system and other processes; each sandbox has
// its own.
func kernelFolders() []string { return []string{"/proc", "/sys", "/dev", "/run", "/var/run"} }

// credentialFolders are places below a home that hold keys and logins. No
// policy can bring them in: what is inside is read by code that nobody trusts.
func credentialFolders() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".config/gh", ".config/gcloud", ".config/op",
		".netrc", ".git-credentials", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium",
	}
}
