package workspace

import (
	"bytes"
	"path"
	"strings"
)

// secretNames are patterns of file names (in lower case) that hold secrets by
// convention. not lists look-alikes that are meant to be shared.
var secretNames = []struct {
	why   string
	names []string
	not   []string
}{
	{"environment file", []string{".env", ".env.*", "*.env", ".envrc"}, []string{"*.example", "*.sample", "*.template", "*.dist", "*.defaults", "example.env", "sample.env", "template.env"}},
	{"private key", []string{"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.ppk", "*.jks", "*.keystore", "*.asc", "*.gpg"}, []string{"*.pub.*", "*public*"}},
	{"ssh key", []string{"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "identity", "ssh_host_*_key"}, []string{"*.pub"}},
	{"password store", []string{"*.kdbx", "*.kdb", "*.keychain", "*.keychain-db", "*.agilekeychain", "*.psafe3", "logins.json", "key4.db", "wallet.dat"}, nil},
	{"login file", []string{".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg", ".pypirc", ".boto", ".s3cfg", "kubeconfig", "*.kubeconfig", ".vault-token", ".terraformrc", "credentials.toml", ".npmtoken"}, nil},
	{"credentials", []string{"credentials", "credentials.*", "*credentials.json", "*-credentials.*", "client_secret*.json", "service-account*.json", "service_account*.json", "serviceaccount*.json", "gha-creds-*.json"}, []string{"*.go", "*.py", "*.js", "*.ts", "*.tsx", "*.rs", "*.java", "*.rb", "*.md", "*.html", "*.c", "*.h", "*.cpp", "*.cs", "*.kt", "*.swift", "*.php", "*.sh"}},
	{"secrets", []string{"secrets", "secrets.*", "secret.*", "*.secret", "*.secrets", "master.key", "*.tfvars", "*.tfstate", "*.tfstate.*", "*.ovpn"}, []string{"*.go", "*.py", "*.js", "*.ts", "*.tsx", "*.rs", "*.java", "*.rb", "*.md", "*.html", "*.c", "*.h", "*.cpp", "*.cs", "*.kt", "*.swift", "*.php", "*.sh", "*.example", "*.sample", "*.template"}},
	{"shell history", []string{".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".node_repl_history"}, nil},
}

// secretFolders are folders whose files all hold secrets.
var secretFolders = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud", ".docker", ".password-store"}

// secretByName says why a path looks like a secret, or "".
func secretByName(p string) string {
	p = strings.ToLower(p)
	dir, name := path.Split(p)
	for _, part := range strings.Split(strings.TrimSuffix(dir, "/"), "/") {
		for _, f := range secretFolders {
			if part == f {
				return "in a folder of secrets"
			}
		}
	}
	for _, row := range secretNames {
		if matchAny(row.names, name) && !matchAny(row.not, name) {
			return row.why
		}
	}
	return ""
}

// secretInDependency is secretByName for a dependency folder: there certificate
// bundles and test keys belong to the packages, and leaving them out would
// break those. A login or environment file is somebody's.
func secretInDependency(p string) string {
	name := strings.ToLower(path.Base(p))
	for _, row := range secretNames {
		if (row.why == "login file" || row.why == "environment file") && matchAny(row.names, name) && !matchAny(row.not, name) {
			return row.why
		}
	}
	return ""
}

func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchName(p, name) {
			return true
		}
	}
	return false
}

// matchName is path.Match for patterns whose only wildcard is a star. A whole
// history's names are matched, so the common shapes must be quick.
func matchName(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	switch {
	case !star:
		return pattern == name
	case !strings.Contains(after, "*"):
		return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	}
	ok, _ := path.Match(pattern, name) // the patterns are constants
	return ok
}

// maxSecrets bounds the list of what a history holds.
const maxSecrets = 1000

// secretInHistory is secretByName for a path in a git history, which may be a
// folder's as well: bare words are then no sign.
func secretInHistory(p string) string {
	if base := path.Base(p); !strings.Contains(base, ".") && !strings.HasPrefix(base, "id_") {
		return ""
	}
	return secretByName(p)
}

const (
	// sniffMax is the size above which a file's content is not looked at: keys
	// and tokens are kept in small files.
	sniffMax = 64 << 10
)

// secretByContent says why the content of a small file looks like a secret,
// or "". name is the file's.
func secretByContent(name string, data []byte) string {
	if i := bytes.Index(data, []byte("-----BEGIN ")); i >= 0 {
		line, _, _ := bytes.Cut(data[i:], []byte("\n"))
		if bytes.Contains(line, []byte("PRIVATE KEY")) {
			return "holds a private key"
		}
	}
	if bytes.HasPrefix(data, []byte("PuTTY-User-Key-File-")) {
		return "holds a private key"
	}
	if bytes.Contains(data, []byte(`"type"`)) && bytes.Contains(data, []byte(`"service_account"`)) && bytes.Contains(data, []byte(`"private_key`)) {
		return "holds a service account's key"
	}
	if registryFile(path.Base(name)) && containsFold(data, "_authtoken", "_auth=", "_password", "npmauthtoken") {
		return "holds a registry token"
	}
	for _, t := range tokens {
		if t.in(data) {
			return "holds what looks like " + t.what
		}
	}
	return ""
}

// registryFile says whether a file configures a package registry, with a token
// in it or not.
func registryFile(name string) bool {
	switch strings.ToLower(name) {
	case ".npmrc", ".yarnrc", ".yarnrc.yml":
		return true
	}
	return false
}

func containsFold(data []byte, words ...string) bool {
	low := bytes.ToLower(data)
	for _, w := range words {
		if bytes.Contains(low, []byte(w)) {
			return true
		}
	}
	return false
}

// token is the shape of a well-known access token: a fixed beginning, then so
// many characters of its alphabet.
type token struct {
	what, prefix string
	min          int
	extra        string // of the alphabet, beside letters and digits
	upper        bool   // capitals and digits only
}

// A beginning is written in two halves where a scanner of this source would
// take it for a token itself.
var tokens = []token{
	{what: "a source host's access token", prefix: "gh" + "p_", min: 36},
	{what: "a source host's access token", prefix: "gh" + "o_", min: 36},
	{what: "a source host's access token", prefix: "gh" + "s_", min: 36},
	{what: "a source host's access token", prefix: "gh" + "u_", min: 36},
	{what: "a source host's access token", prefix: "gh" + "r_", min: 36},
	{what: "a source host's access token", prefix: "github" + "_pat_", min: 50, extra: "_"},
	{what: "a source host's access token", prefix: "glp" + "at-", min: 20, extra: "-_"},
	{what: "a cloud access key", prefix: "AK" + "IA", min: 16, upper: true},
	{what: "a cloud access key", prefix: "AS" + "IA", min: 16, upper: true},
	{what: "a cloud API key", prefix: "AI" + "za", min: 35, extra: "-_"},
	{what: "a model provider's API key", prefix: "sk-" + "ant-", min: 40, extra: "-_"},
	{what: "a model provider's API key", prefix: "sk-" + "proj-", min: 40, extra: "-_"},
	{what: "a payment provider's key", prefix: "sk_" + "live_", min: 20},
	{what: "a payment provider's key", prefix: "rk_" + "live_", min: 20},
	{what: "a chat token", prefix: "xox" + "b-", min: 20, extra: "-"},
	{what: "a chat token", prefix: "xox" + "p-", min: 20, extra: "-"},
	{what: "a chat token", prefix: "xox" + "a-", min: 20, extra: "-"},
	{what: "a registry token", prefix: "npm" + "_", min: 36},
	{what: "a registry token", prefix: "pypi-" + "AgE", min: 50, extra: "-_"},
	{what: "a vault token", prefix: "hv" + "s.", min: 24, extra: "-_"},
	{what: "a mail service's key", prefix: "SG" + ".", min: 60, extra: "-_."},
}

func (t *token) in(data []byte) bool {
	for {
		i := bytes.Index(data, []byte(t.prefix))
		if i < 0 {
			return false
		}
		rest := data[i+len(t.prefix):]
		// In the middle of a word it is part of something else.
		if i == 0 || !alnum(data[i-1]) {
			n := 0
			for n < len(rest) && t.has(rest[n]) {
				n++
			}
			if n >= t.min {
				return true
			}
		}
		data = rest
	}
}

func (t *token) has(c byte) bool {
	if t.upper {
		return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	return alnum(c) || strings.IndexByte(t.extra, c) >= 0
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
