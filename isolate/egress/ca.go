package egress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"fumehood/isolate/egress/rule"
)

// authority is a session's own certificate authority. Its keys are in memory
// only and end with the process.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	leaf *ecdsa.PrivateKey // one key for all: only this process has any
	pem  []byte

	mu    sync.Mutex
	known map[string]*tls.Certificate
}

// maxCertificates bounds those kept; a wildcard entry lets the inside ask for
// any number of names.
const maxCertificates = 256

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the session's certificate authority: %w", err)
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the session's certificate authority: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "fumehood session", Organization: []string{"fumehood"}},
		NotBefore: now().Add(-time.Hour), NotAfter: now().Add(365 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the session's certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the session's certificate authority: %w", err)
	}
	return &authority{
		cert: cert, key: key, leaf: leaf, known: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil { // the kernel's random source does not fail (getrandom(2))
		return big.NewInt(time.Now().UnixNano())
	}
	return n
}

func (a *authority) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// certificate gives one for a destination.
func (a *authority) certificate(to rule.Authority) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.known[to.Host]; ok && now().Before(c.Leaf.NotAfter.Add(-time.Hour)) {
		return c, nil
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{Organization: []string{"fumehood session"}},
		NotBefore: now().Add(-time.Hour), NotAfter: now().Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if to.IP.IsValid() {
		t.IPAddresses = []net.IP{to.IP.AsSlice()}
	} else {
		t.DNSNames = []string{to.Host}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.leaf.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leaf, Leaf: leaf}
	if len(a.known) >= maxCertificates {
		clear(a.known)
	}
	a.known[to.Host] = c
	return c, nil
}
