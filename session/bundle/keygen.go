package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
)

// namespace is what a signature is made for: one that was made for something else
// with the same key does not hold here.
const namespace = "fumehood-bundle"

// Waiting times: a key may ask for its passphrase or for a touch.
const (
	signTime   = 3 * time.Minute
	verifyTime = 30 * time.Second
)

// maxSignature bounds a signature, in bytes.
const maxSignature = 64 << 10

// ErrBadSignature says that a signature does not hold for the file.
var ErrBadSignature = errors.New("the signature does not hold")

// noKeygenError says that there is no ssh-keygen.
type noKeygenError struct{}

func (noKeygenError) Error() string { return "ssh-keygen, which signs and checks, is not installed" }

// Hint is what to do about it.
func (noKeygenError) Hint() string { return "install OpenSSH's client (package openssh-client)" }

// keygenPath finds ssh-keygen by an absolute path: never in the folder that
// happens to be the current one.
func keygenPath() (string, error) {
	dirs := append([]string{"/usr/bin", "/bin", "/usr/local/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, "ssh-keygen")
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", noKeygenError{}
}

// keygen runs ssh-keygen with the signed file on stdin and a clean environment;
// of the caller's it has what reaches a key: the agent's socket and the home.
func keygen(ctx context.Context, within time.Duration, in io.Reader, args ...string) (stdout []byte, said string, err error) {
	path, err := keygenPath()
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	for _, name := range []string{"SSH_AUTH_SOCK", "HOME"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("ssh-keygen was ended after %s: %w", within, ctx.Err())
	}
	said = strings.TrimSpace(errs.String())
	return out.Bytes(), said, err
}

// SignatureSuffix is what the name of a signature adds to its file's.
const SignatureSuffix = ".sig"

// Sign signs a file with an ssh key (a private one, or a public one whose private
// half an agent holds) and writes the signature to FILE.sig, 0644.
func Sign(ctx context.Context, file, key string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := os.Stat(key); err != nil {
		return "", fmt.Errorf("the key to sign with: %w", err)
	}
	sig, said, err := keygen(ctx, signTime, f, "-Y", "sign", "-n", namespace, "-f", key)
	if err != nil {
		return "", fmt.Errorf("sign with %s: %w: %s", diffreview.SafeName(key), err, said)
	}
	out := file + SignatureSuffix
	return out, atomicfile.Write(out, sig, 0o644)
}

// Signers is what a signature is checked against.
type Signers struct {
	Signature string // file
	Allowed   string // file, as ssh-keygen's ALLOWED SIGNERS has it
	Identity  string // who must have signed; "" takes anybody allowed
}

// CheckSignature says who signed what open gives. The error is ErrBadSignature
// when nobody allowed did, or not these bytes.
func CheckSignature(ctx context.Context, open func() io.Reader, s Signers) (identity string, err error) {
	for what, path := range map[string]string{"signature": s.Signature, "list of allowed signers": s.Allowed} {
		fi, err := os.Stat(path)
		switch {
		case err != nil:
			return "", fmt.Errorf("the %s: %w", what, err)
		case !fi.Mode().IsRegular():
			return "", fmt.Errorf("the %s %s is no regular file", what, diffreview.SafeName(path))
		case what == "signature" && fi.Size() > maxSignature:
			return "", fmt.Errorf("the signature has %d bytes: the limit is %d", fi.Size(), maxSignature)
		}
	}
	who := []string{s.Identity}
	if s.Identity == "" {
		names, said, err := keygen(ctx, verifyTime, nil, "-Y", "find-principals", "-s", s.Signature, "-f", s.Allowed)
		if err != nil {
			return "", badSignature(err, said)
		}
		who = strings.Split(strings.TrimSpace(string(names)), "\n")
	}
	var last error
	for _, name := range who[:min(len(who), maxPrincipals)] {
		if last = checkAs(ctx, open(), name, s); last == nil {
			return name, nil
		}
	}
	return "", last
}

// maxPrincipals bounds how many names of one key are tried.
const maxPrincipals = 16

func checkAs(ctx context.Context, in io.Reader, name string, s Signers) error {
	_, said, err := keygen(ctx, verifyTime, in, "-Y", "verify", "-n", namespace, "-I", name, "-s", s.Signature, "-f", s.Allowed)
	if err != nil {
		return badSignature(err, said)
	}
	return nil
}

// badSignature tells ssh-keygen's no from its not being able to run.
func badSignature(err error, said string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrBadSignature, said)
}
