package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Bounds of a profile.
const (
	maxProfile = 64 << 10 // bytes of its file
	maxSeeds   = 32
	maxPause   = 10 * time.Second
)

// file is a profile as it is written.
type file struct {
	Title    string            `toml:"title"`
	Command  []string          `toml:"command"`
	Act      []string          `toml:"act"`
	Print    []string          `toml:"print"`
	Prompt   []string          `toml:"prompt"`
	Policies []string          `toml:"policies"`
	Missing  string            `toml:"missing"`
	Install  string            `toml:"install"`
	Env      map[string]string `toml:"env"`
	Seed     []struct {
		Path string `toml:"path"`
		Text string `toml:"text"`
		Exec bool   `toml:"exec"`
	} `toml:"seed"`
	Send struct {
		Paste bool   `toml:"paste"`
		Pause string `toml:"pause"`
	} `toml:"send"`
	Waits struct {
		Signals      []string `toml:"signals"`
		TitleWaiting string   `toml:"title_waiting"`
		TitleWorking string   `toml:"title_working"`
	} `toml:"waits"`
}

// Parse reads a profile, strictly: an unknown key, a wrong type and what can't
// be meant are errors. name is the profile's; where is its file, for errors.
func Parse(name, where string, src []byte) (Profile, error) {
	fail := func(format string, args ...any) (Profile, error) {
		return Profile{}, fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...))
	}
	if len(src) > maxProfile {
		return fail("%d bytes: over the limit of %d", len(src), maxProfile)
	}
	if !GoodName(name) {
		return fail("%q is no name of an agent: lower-case letters, digits and -, at most 32", name)
	}
	var f file
	d := toml.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return fail("%w", positioned(err))
	}
	p := Profile{
		Name: name, Title: f.Title, Command: f.Command, Act: f.Act, Print: f.Print, Prompt: f.Prompt,
		Policies: f.Policies, Missing: f.Missing, Install: f.Install, Env: f.Env,
		Waits: Waits{Signals: f.Waits.Signals, TitleWaiting: f.Waits.TitleWaiting, TitleWorking: f.Waits.TitleWorking},
	}
	for _, s := range f.Seed {
		p.Seed = append(p.Seed, File{Path: s.Path, Text: s.Text, Exec: s.Exec})
	}
	p.Send.Paste = f.Send.Paste
	if f.Send.Pause != "" {
		pause, err := time.ParseDuration(f.Send.Pause)
		if err != nil || pause < 0 || pause > maxPause {
			return fail("send.pause: %q is no duration of at most %v", f.Send.Pause, maxPause)
		}
		p.Send.Pause = pause
	}
	if err := check(p); err != nil {
		return fail("%w", err)
	}
	return p, nil
}

// positioned gives an error of the TOML reader with its line and column.
func positioned(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		line, col := e.Position()
		return fmt.Errorf("line %d, column %d: unknown key %q", line, col, strings.Join(e.Key(), "."))
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, col := at.Position()
		return fmt.Errorf("line %d, column %d: %s", line, col, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return err
}

// check refuses what can't be meant.
func check(p Profile) error {
	for _, list := range [][]string{p.Command, p.Act, p.Print, p.Prompt} {
		for _, s := range list {
			if strings.ContainsRune(s, 0) {
				return errors.New("a NUL in an argument")
			}
		}
	}
	switch {
	case p.Title == "":
		return errors.New("no title")
	case len(p.Command) == 0 || p.Command[0] == "":
		return errors.New("no command")
	case len(p.Print) > 0 != (len(p.Prompt) > 0):
		return errors.New("print and prompt: both or neither")
	case len(p.Print) > 0 && (!names(p.Print, "{prompt}") || !names(p.Prompt, "{prompt}")):
		return errors.New("print and prompt: each needs {prompt} in it")
	case len(p.Policies) > 0 && p.Missing == "":
		return errors.New("policies without missing: say what to set when no credential is there")
	case len(p.Seed) > maxSeeds:
		return fmt.Errorf("%d seed files: over the limit of %d", len(p.Seed), maxSeeds)
	}
	for name, value := range p.Env {
		if why := badVariable(name); why != "" {
			return fmt.Errorf("env.%s: %s", name, why)
		}
		if strings.ContainsAny(value, "\x00\n") {
			return fmt.Errorf("env.%s: a line break or NUL in it", name)
		}
	}
	seen := map[string]bool{}
	for _, s := range p.Seed {
		if s.Path == "" || path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path || s.Path == "." || s.Path == ".." || strings.HasPrefix(s.Path, "../") || strings.ContainsRune(s.Path, 0) {
			return fmt.Errorf("seed: %q is no path below the home", s.Path)
		}
		if seen[s.Path] {
			return fmt.Errorf("seed: %q twice", s.Path)
		}
		seen[s.Path] = true
	}
	for _, s := range p.Waits.Signals {
		if s != SignalOSC7501 && s != SignalTitle && s != SignalNotification {
			return fmt.Errorf("waits.signals: %q is not one of %s, %s, %s", s, SignalOSC7501, SignalTitle, SignalNotification)
		}
	}
	if p.Waits.Counts(SignalTitle) == (p.Waits.TitleWaiting == "") {
		return errors.New("waits: title_waiting and the signal \"title\" go together")
	}
	return nil
}

func names(list []string, word string) bool {
	for _, s := range list {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// badVariable says why a profile may not set a variable. What leads programs to
// the proxy and to the session's certificates is the session's alone.
func badVariable(name string) string {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return "not a name of a variable"
		}
	}
	up := strings.ToUpper(name)
	switch up {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "FUMEHOOD", "IS_SANDBOX", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS":
		return "the session sets it"
	}
	if strings.HasPrefix(up, "LD_") || strings.HasSuffix(up, "_PROXY") {
		return "it would change what loads the program or where its requests go"
	}
	return ""
}

// GoodName keeps names to what can lead nowhere and stands on every screen.
func GoodName(name string) bool {
	if name == "" || len(name) > 32 || name[0] == '-' || name == "command" || name == "run" {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}
