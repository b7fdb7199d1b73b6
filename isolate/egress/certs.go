package egress

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // formats that others fixed: OpenSSL's folder, Java's store; neither relies on it
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// certsOf are the certificates in PEM text, as DER, each once.
func certsOf(text []byte) [][]byte {
	var out [][]byte
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return out
		}
		// TRUSTED CERTIFICATE is OpenSSL's own and has more in it.
		if b.Type == "CERTIFICATE" {
			out = append(out, b.Bytes)
		}
	}
}

func distinct(certs [][]byte) [][]byte {
	seen := map[[32]byte]bool{}
	var out [][]byte
	for _, c := range certs {
		if sum := sha256.Sum256(c); !seen[sum] {
			seen[sum] = true
			out = append(out, c)
		}
	}
	return out
}

func bundle(certs [][]byte) []byte {
	var out bytes.Buffer
	size := 0
	for _, c := range certs {
		size += len(c)*7/5 + 64 // base64, line ends and the two lines around it
	}
	out.Grow(size)
	for _, c := range certs {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c}) // a buffer takes all
	}
	return out.Bytes()
}

// subjectHash is the name under which OpenSSL looks a certificate up in a folder
// (X509_NAME_hash): the first four bytes of the SHA-1 of its subject, of which
// each text is UTF-8, in lower case, with single blanks.
func subjectHash(cert []byte) (string, error) {
	list := certsOf(cert)
	if len(list) != 1 {
		return "", errors.New("not one certificate")
	}
	c, err := x509.ParseCertificate(list[0])
	if err != nil {
		return "", err
	}
	var canonical bytes.Buffer
	for _, set := range c.Subject.ToRDNSequence() {
		var out []attribute
		for _, a := range set {
			text := strings.Join(strings.Fields(strings.ToLower(fmt.Sprint(a.Value))), " ")
			out = append(out, attribute{a.Type, asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(text)}})
		}
		b, err := asn1.MarshalWithParams(out, "set")
		if err != nil {
			return "", err
		}
		canonical.Write(b)
	}
	sum := sha1.Sum(canonical.Bytes()) //nolint:gosec // see above
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(sum[:])), nil
}

type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// javaPassword is what every java takes for granted. There is no secret in the
// store.
const javaPassword = "changeit"

// javaStore is a store of certificates in the format that every java reads
// (JKS, version 2). PKCS#12 would have to be encrypted for the older ones.
func javaStore(certs [][]byte) []byte {
	var out bytes.Buffer
	put32 := func(n int) { out.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	text := func(s string) {
		out.Write(binary.BigEndian.AppendUint16(nil, uint16(len(s))))
		out.WriteString(s)
	}
	put32(0xFEEDFEED)
	put32(2)
	put32(len(certs))
	for i, c := range certs {
		put32(2) // a trusted certificate
		text(fmt.Sprintf("fumehood-%d", i))
		out.Write(make([]byte, 8)) // when it was added
		text("X.509")
		put32(len(c))
		out.Write(c)
	}
	h := sha1.New() //nolint:gosec // see above
	for _, u := range utf16.Encode([]rune(javaPassword)) {
		_, _ = h.Write([]byte{byte(u >> 8), byte(u)}) // a hash never fails
	}
	_, _ = h.Write([]byte("Mighty Aphrodite")) // so it is in java's own source
	_, _ = h.Write(out.Bytes())
	return h.Sum(out.Bytes())
}
