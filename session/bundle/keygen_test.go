package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/session"
)

// key makes a key and a list that allows it as name.
func key(t *testing.T, name string) (private, allowed string) {
	t.Helper()
	tool, err := keygenPath()
	if err != nil {
		t.Skipf("got %v, want ssh-keygen", err)
	}
	private = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command(tool, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", private).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(private + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	allowed = private + ".allowed"
	if err := os.WriteFile(allowed, []byte(name+" "+string(public)), 0o600); err != nil {
		t.Fatal(err)
	}
	return private, allowed
}

func TestASignatureHoldsForItsBytesAlone(t *testing.T) {
	private, allowed := key(t, "ada@fumehood.test")
	_, strangers := key(t, "eve@fumehood.test")
	k, file, r, set := reviewed(t)
	k.must(r.Decide(ctx, "", []session.Choice{{Unit: unitsOf(t, set, "c")[0], Path: "c", Verdict: diffreview.Approved}}))
	for _, name := range []string{file, file + ".decisions"} {
		sig, err := Sign(ctx, name, private)
		k.must(err)
		if again, err := Sign(ctx, name, private); err != nil || again != sig {
			t.Errorf("got %v the second time, want the signature replaced without a question", err)
		}
		rep, err := Verify(ctx, name, &Signers{Signature: sig, Allowed: allowed}, free)
		k.must(err)
		if !rep.Intact || rep.Signed != "ada@fumehood.test" {
			t.Errorf("%s: got %+v, want it signed by ada", name, rep)
		}
		for _, s := range []Signers{
			{Signature: sig, Allowed: strangers},
			{Signature: sig, Allowed: allowed, Identity: "eve@fumehood.test"},
		} {
			rep, err := Verify(ctx, name, &s, free)
			k.must(err)
			if rep.Intact || rep.Signed != "" {
				t.Errorf("%s: got it taken for signed with %+v, want not", name, s)
			}
		}
		// A byte that no hash of ours would miss is not needed: another whole file.
		other := filepath.Join(t.TempDir(), "other")
		raw, err := os.ReadFile(name)
		k.must(err)
		k.must(os.WriteFile(other, raw[:len(raw)-1], 0o600))
		if _, err := CheckSignature(ctx, fileReader(t, other), Signers{Signature: sig, Allowed: allowed}); !errors.Is(err, ErrBadSignature) {
			t.Errorf("got %v for other bytes, want the signature refused", err)
		}
	}
	if _, _, err := LoadSigned(ctx, file+".decisions", &Signers{Signature: file + ".sig", Allowed: allowed}, free); !errors.Is(err, ErrBadSignature) {
		t.Errorf("got %v with the bundle's signature, want it refused for the decisions", err)
	}
	if _, who, err := LoadSigned(ctx, file+".decisions", &Signers{Signature: file + ".decisions.sig", Allowed: allowed}, free); err != nil || who != "ada@fumehood.test" {
		t.Errorf("got %q, %v, want the decisions signed by ada", who, err)
	}
}

// What was signed for another purpose says nothing of a bundle.
func TestASignatureForSomethingElseDoesNotHold(t *testing.T) {
	private, allowed := key(t, "ada@fumehood.test")
	tool, err := keygenPath()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "-Y", "sign", "-n", "git", "-f", private, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := CheckSignature(ctx, fileReader(t, file), Signers{Signature: file + ".sig", Allowed: allowed}); !errors.Is(err, ErrBadSignature) {
		t.Errorf("got %v, want it refused", err)
	}
}

func TestSigningSaysWhatIsMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Sign(ctx, file, filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "key to sign with") {
		t.Errorf("got %v, want the key named", err)
	}
	if _, err := os.Stat(file + ".sig"); err == nil {
		t.Error("got a signature file though nothing was signed")
	}
	none, cancel := context.WithCancel(ctx)
	cancel()
	private, _ := key(t, "a")
	if _, err := Sign(none, file, private); err == nil {
		t.Error("got it signed after the end, want an error")
	}
}

// fileReader reads a file from its beginning, each time.
func fileReader(t *testing.T, name string) func() io.Reader {
	return func() io.Reader {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return bytes.NewReader(b)
	}
}
