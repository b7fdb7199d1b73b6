package egress

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/isolate/egress/rule"
)

func trustOf(t *testing.T) (dir string, own, company *authority) {
	t.Helper()
	own, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	company, err = newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(company.key)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	file := filepath.Join(t.TempDir(), "company.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), company.pem...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	trust := Trust{CA: own.pem, CAFile: file, GitHosts: []string{"git.test", "odd\"].test", "10.0.0.1"}}
	if err := WriteTrust(dir, trust); err != nil {
		t.Fatal(err)
	}
	return dir, own, company
}

func TestTrustHasTheHostsCertificatesAndTheSessionsOwn(t *testing.T) {
	dir, own, company := trustOf(t)
	b, err := os.ReadFile(filepath.Join(dir, "bundle.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("PRIVATE")) {
		t.Error("got a private key in the bundle, want certificates only")
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	for name, ca := range map[string]*authority{"the session's own": own, "the company's": company} {
		c, err := ca.certificate(rule.Authority{Host: "x.test", Port: 443})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: "x.test", Roots: pool}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"bundle.pem", "ca.pem", "gitconfig", "certs"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil || fi.Mode().Perm()&0o004 == 0 {
			t.Errorf("%s: got %v, %v, want it readable for all", name, fi, err)
		}
	}
}

func TestCertificateLiesWhereOpenSSLLooks(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("got no openssl, want it to compare")
	}
	dir, own, _ := trustOf(t)
	cmd := exec.Command(openssl, "x509", "-noout", "-subject_hash")
	cmd.Stdin = bytes.NewReader(own.pem)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(out)) + ".0"
	if _, err := os.Stat(filepath.Join(dir, "certs", want)); err != nil {
		got, _ := filepath.Glob(filepath.Join(dir, "certs", "*"))
		t.Errorf("got %v, want %q", got, want)
	}
}

func TestJavaReadsItsStore(t *testing.T) {
	keytool, err := exec.LookPath("keytool")
	if err != nil {
		t.Skip("got no keytool, want it to read the store")
	}
	own, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "java.jks")
	if err := os.WriteFile(file, javaStore(certsOf(own.pem)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(keytool, "-list", "-v", "-keystore", file, "-storepass", javaPassword)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "contains 1 entry") || !strings.Contains(string(out), "CN=fumehood session") {
		t.Errorf("got %v, %s, want its one certificate", err, out)
	}
}

func TestGitIsSentToHTTPSWhereThePolicyAllowsIt(t *testing.T) {
	dir, _, _ := trustOf(t)
	b, err := os.ReadFile(filepath.Join(dir, "gitconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`[url "https://git.test/"]`: true, "insteadOf = git@git.test:": true, "insteadOf = ssh://git@git.test/": true, "odd": false, "10.0.0.1": false} {
		if got := strings.Contains(string(b), text); got != want {
			t.Errorf("%q: got %v, want %v in %s", text, got, want, b)
		}
	}
	got := GitHosts([]rule.Entry{
		{Destination: "git.test:443", Operations: []string{"git fetch /**"}},
		{Destination: "web.test:443", Operations: []string{"GET /**"}},
		{Destination: "*.wild.test:443", Operations: []string{"git push /**"}},
		{Destination: "git.test:8443", Operations: []string{"git push /**"}},
	})
	if len(got) != 1 || got[0] != "git.test" {
		t.Errorf("got %q, want %q", got, "git.test")
	}
}

func TestEnvironmentHasBothCasesAndTheLoopback(t *testing.T) {
	env := map[string]string{}
	for _, kv := range Environment("/trust", "") {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	for k, want := range map[string]string{
		"HTTP_PROXY": "http://127.0.0.1:3128", "https_proxy": "http://127.0.0.1:3128", "no_proxy": "localhost,127.0.0.1,::1,[::1]",
		"NODE_EXTRA_CA_CERTS": "/trust/ca.pem", "SSL_CERT_FILE": "/trust/bundle.pem", "SSL_CERT_DIR": "/trust/certs:/etc/ssl/certs", "NODE_USE_ENV_PROXY": "1",
	} {
		if env[k] != want {
			t.Errorf("%s: got %q, want %q", k, env[k], want)
		}
	}
	if v, ok := env["JAVA_TOOL_OPTIONS"]; ok && !strings.Contains(v, "-Dhttp.nonProxyHosts=localhost|127.*|[::1]") {
		t.Errorf("JAVA_TOOL_OPTIONS: got %q, want the loopback left out", v)
	}
}
