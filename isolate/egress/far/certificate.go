// Package far is what a destination on this machine needs to be taken for one on
// the network: certificates for whatever name is asked for, and a CONNECT proxy
// that leads every name to it. Wall tests and tests of the tree play their
// destinations with it; nothing that a session runs by itself uses it.
package far

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
)

// Authority makes certificates, one for each name that is asked for. Its key is
// in memory only.
type Authority struct {
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte

	mu    sync.Mutex
	known map[string]*tls.Certificate
}

// NewAuthority makes one that calls itself name.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the certificates of %s: %w", name, err)
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificates of %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the certificates of %s: %w", name, err)
	}
	return &Authority{
		name: name, cert: cert, key: key, known: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

// PEM is what has to be trusted.
func (a *Authority) PEM() []byte { return a.pem }

// Config is a server's that answers as whatever it is asked for.
func (a *Authority) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return a.Certificate(hello.ServerName) },
	}
}

// Certificate makes one for a name. A client that names an address sends no
// name: it gets one for the loopback addresses.
func (a *Authority) Certificate(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.known[name]; ok {
		return c, nil
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.known) + 2)), Subject: pkix.Name{Organization: []string{a.name}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{name},
	}
	if name == "" {
		t.DNSNames, t.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate of %s: %w", a.name, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.known[name] = c
	return c, nil
}
