package witness

import (
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprint is that of the certificate for a name.
func (s *Server) Fingerprint(name string) (string, error) {
	c, err := s.ca.Certificate(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:]), nil
}
