package session

import (
	"fmt"
	"os"
	"strings"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/policy"
)

// Given is what a supervisor gets from the process that starts it, over a pipe
// and in memory alone: it is in no file, no argument and no environment.
type Given struct {
	Home         string            `json:"home"`         // of the account, for sources below ~/
	Env          map[string]string `json:"env"`          // values of env: sources
	Placeholders map[string]string `json:"placeholders"` // by account
	// The host's own proxy and certificates, which upstream connections use.
	HTTPProxy  string `json:"http_proxy"`
	HTTPSProxy string `json:"https_proxy"`
	NoProxy    string `json:"no_proxy"`
	CAFile     string `json:"ca_file"`
	CADir      string `json:"ca_dir"`
	// Stand is for the wall tests' sessions alone.
	Stand *StandIn `json:"stand,omitempty"`
}

// GivenFD is where a supervisor reads it.
const GivenFD = 4

// given gathers what the policy's credentials and the host's way out need.
func (h *Host) given(pol *policy.Policy, mark string, stand *StandIn) (*Given, error) {
	g := &Given{Home: h.Home, Env: map[string]string{}, Placeholders: map[string]string{}, Stand: stand}
	for _, c := range pol.Credentials {
		name, ofEnv := strings.CutPrefix(c.Source, "env:")
		format := c.PlaceholderFormat
		if value := lookup(h.Env, name); format == "" && ofEnv && stand == nil && value != "" {
			format = account.ShapeOf(value) // a client may look at kind and shape
		}
		p, err := account.Placeholder(format, mark)
		if err != nil {
			return nil, fmt.Errorf("placeholder of account %q: %w", c.Name, err)
		}
		g.Placeholders[c.Name] = p
		// In a session of the wall tests no real credential is read.
		if ofEnv && stand == nil {
			g.Env[name] = lookup(h.Env, name)
		}
	}
	g.HTTPProxy, g.HTTPSProxy = h.hostProxies()
	g.NoProxy = h.first("no_proxy", "NO_PROXY")
	g.CAFile, g.CADir = h.first("SSL_CERT_FILE"), h.first("SSL_CERT_DIR")
	return g, nil
}

// hostProxies are the host's own.
func (h *Host) hostProxies() (http, https string) {
	return h.first("http_proxy", "HTTP_PROXY"), h.first("https_proxy", "HTTPS_PROXY")
}

// first is the value of the first variable that has one.
func (h *Host) first(names ...string) string {
	for _, n := range names {
		if v := lookup(h.Env, n); v != "" {
			return v
		}
	}
	return ""
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// PlaceholderEnv is the variables in which the inside sees its placeholders.
func PlaceholderEnv(pol *policy.Policy, g *Given) []string {
	var out []string
	for _, c := range pol.Credentials {
		if name, ok := strings.CutPrefix(c.Placeholder, "env:"); ok {
			out = append(out, name+"="+g.Placeholders[c.Name])
		}
	}
	return out
}

// pipeOf gives the reading end of a pipe that yields b.
func pipeOf(b []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = w.Write(b) // a reader that has gone failed for another reason
		_ = w.Close()
	}()
	return r, nil
}
