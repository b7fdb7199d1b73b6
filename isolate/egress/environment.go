package egress

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
)

// gitConfig has git reach by https what it would reach over ssh, where the
// policy lets it, and answers for ssh in the other cases: it has no way out.
func gitConfig(hosts []string) string {
	var out strings.Builder
	out.WriteString(`[core]
	sshCommand = "sh -c 'echo \"fumehood: git over ssh has no way out of this session; use the https URL of the repository (git remote set-url), which the policy can allow\" >&2; exit 128'"
`)
	for _, h := range hosts {
		// A name in its normal form has nothing in it that git's file reads
		// otherwise.
		a, err := rule.ParseAuthority(h, 443)
		if err != nil || a.IP.IsValid() || a.Port != 443 {
			continue
		}
		_, _ = fmt.Fprintf(&out, "[url \"https://%[1]s/\"]\n\tinsteadOf = git@%[1]s:\n\tinsteadOf = ssh://git@%[1]s/\n\tinsteadOf = git+ssh://git@%[1]s/\n", a.Host)
	}
	return out.String()
}

// GitHosts are the hosts that entries let git reach over https.
func GitHosts(entries []rule.Entry) []string {
	var out []string
	for _, e := range entries {
		host, ok := strings.CutSuffix(e.Destination, ":443")
		git := slices.ContainsFunc(e.Operations, func(op string) bool { return strings.HasPrefix(op, "git ") })
		if ok && git && !strings.HasPrefix(host, "*") && !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	return out
}

// javaOptions are what tells a java, which reads no other variable. It prints
// them on its standard error.
func javaOptions(trust string) string {
	host, port, _ := strings.Cut(Address, ":")
	return strings.Join([]string{
		"-Dhttp.proxyHost=" + host, "-Dhttp.proxyPort=" + port, "-Dhttps.proxyHost=" + host, "-Dhttps.proxyPort=" + port,
		"-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
		"-Djavax.net.ssl.trustStore=" + filepath.Join(trust, "java.jks"), "-Djavax.net.ssl.trustStorePassword=" + javaPassword,
	}, " ")
}

// Environment is what tells the programs inside of the proxy and of the
// session's certificates. home is the account's, as in Trust.
func Environment(trust, home string) []string {
	in := func(name string) string { return filepath.Join(trust, name) }
	const proxy, direct = "http://" + Address, "localhost,127.0.0.1,::1,[::1]"
	pairs := [][2]string{
		{"HTTP_PROXY", proxy},
		{"HTTPS_PROXY", proxy},
		{"http_proxy", proxy},
		{"https_proxy", proxy},
		// For schemes that have no variable of their own, such as ftp and ws: what
		// asks for one comes here and is written down with its host.
		{"ALL_PROXY", proxy},
		{"all_proxy", proxy},
		{"NO_PROXY", direct},
		{"no_proxy", direct},
		{"NODE_USE_ENV_PROXY", "1"}, // node 22.21 and 24 on
		{"npm_config_https_proxy", proxy},
		{"npm_config_proxy", proxy},
		{"CARGO_HTTP_PROXY", proxy},
		{"SSL_CERT_FILE", in("bundle.pem")},
		{"SSL_CERT_DIR", in("certs") + ":/etc/ssl/certs"},
		{"CURL_CA_BUNDLE", in("bundle.pem")},
		{"GIT_SSL_CAINFO", in("bundle.pem")},
		{"REQUESTS_CA_BUNDLE", in("bundle.pem")},
		{"PIP_CERT", in("bundle.pem")},
		{"CARGO_HTTP_CAINFO", in("bundle.pem")},
		{"AWS_CA_BUNDLE", in("bundle.pem")},
		{"DENO_CERT", in("bundle.pem")},
		{"CODEX_CA_CERTIFICATE", in("bundle.pem")},
		{"NODE_EXTRA_CA_CERTS", in("ca.pem")},
		{"GIT_CONFIG_SYSTEM", in("gitconfig")},
	}
	if hasJava(home) {
		pairs = append(pairs, [2]string{"JAVA_TOOL_OPTIONS", javaOptions(trust)})
	}
	out := make([]string, 0, len(pairs))
	for _, kv := range pairs {
		out = append(out, kv[0]+"="+kv[1])
	}
	return out
}
