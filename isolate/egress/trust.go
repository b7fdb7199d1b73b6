package egress

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Trust is what WriteTrust writes.
type Trust struct {
	CA []byte // the session's own certificate, PEM
	// CAFile and CADir are where the host's programs find certificates besides,
	// as in Upstream: a company's own are in there.
	CAFile, CADir string
	Home          string   // of the account, in which a java may be
	GitHosts      []string // that may be reached as https://HOST/ by git
}

// bundles is where hosts keep the certificates that their programs trust, as
// one file; the first that is there counts.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
	}
}

// maxBundle bounds what is read of one, in bytes.
const maxBundle = 8 << 20

// WriteTrust writes what the inside has to trust into dir: bundle.pem, the
// host's certificates and the session's own; ca.pem, the latter alone; certs,
// a folder of it as OpenSSL looks one up; java.jks, where the host has a java;
// and gitconfig.
func WriteTrust(dir string, t Trust) error {
	certs, err := hostCerts(t)
	if err != nil {
		return err
	}
	all := slices.Concat(certs, certsOf(t.CA))
	hash, err := subjectHash(t.CA)
	if err != nil {
		return fmt.Errorf("write the session's certificates: %w", err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "certs")} {
		if err := readableFolder(d); err != nil {
			return err
		}
	}
	files := map[string][]byte{
		"bundle.pem": bundle(all), "ca.pem": t.CA, filepath.Join("certs", hash+".0"): t.CA, "gitconfig": []byte(gitConfig(t.GitHosts)),
	}
	if hasJava(t.Home) {
		files["java.jks"] = javaStore(all)
	}
	for name, b := range files {
		if err := writeReadable(filepath.Join(dir, name), b); err != nil {
			return err
		}
	}
	return nil
}

// hostCerts are the certificates that the host's own programs trust, as DER.
// Anything else in those files, such as a key, stays out.
func hostCerts(t Trust) ([][]byte, error) {
	var out [][]byte
	for _, name := range bundles() {
		b, err := readBounded(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the host's certificates: %w", err)
		}
		out = certsOf(b)
		break
	}
	if t.CAFile != "" {
		// A variable that points nowhere is no reason to start nothing.
		if b, err := readBounded(t.CAFile); err == nil {
			out = append(out, certsOf(b)...)
		}
	}
	if t.CADir != "" {
		for _, b := range folderCerts(t.CADir) {
			out = append(out, certsOf(b)...)
		}
	}
	return distinct(out), nil
}

// readBounded reads a file of certificates.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBundle+1))
	if err == nil && len(b) > maxBundle {
		err = fmt.Errorf("%s has over %d bytes", name, maxBundle)
	}
	return b, err
}

// readableFolder makes a folder that the session's ids may read, whatever the
// umask.
func readableFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o755), f.Close())
}

// writeReadable writes a file that the session's ids may read, whatever the umask.
func writeReadable(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

// hasJava tells whether the host has a java, in the places where packages and
// version managers put one. Without it the inside has none either.
func hasJava(home string) bool {
	places := []string{"/usr/bin/java", "/usr/local/bin/java", "/usr/lib/jvm/*/bin/java", "/opt/*/bin/java", "/usr/local/*/bin/java"}
	if home != "" {
		places = append(places,
			filepath.Join(home, ".sdkman/candidates/java/*/bin/java"), filepath.Join(home, ".jdks/*/bin/java"),
			filepath.Join(home, ".asdf/installs/java/*/bin/java"), filepath.Join(home, ".local/share/mise/installs/java/*/bin/java"),
			filepath.Join(home, ".jenv/versions/*/bin/java"))
	}
	for _, p := range places {
		if found, err := filepath.Glob(p); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
