// Package tlstest makes what tests of the distribution over TLS need: an
// authority, one certificate that is good for either side, and the options of
// a BEAM that uses them. It knows nothing of who connects to whom.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files are the names of files that last as long as the test.
type Files struct {
	CA, Cert, Key string // PEM

	// Options are those of a BEAM's -ssl_dist_optfile: certificates are checked
	// on both sides.
	Options string
}

// New makes an authority and a certificate for 127.0.0.1 and localhost.
func New(t testing.TB) Files {
	t.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		DNSNames: []string{"127.0.0.1", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	authorityKey, leafKey := newKey(t), newKey(t)
	private, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := Files{
		CA:      writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", sign(t, authority, authority, authorityKey, authorityKey)),
		Cert:    writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", sign(t, leaf, authority, leafKey, authorityKey)),
		Key:     writePEM(t, filepath.Join(dir, "key.pem"), "EC PRIVATE KEY", private),
		Options: filepath.Join(dir, "ssl_dist.conf"),
	}
	side := fmt.Sprintf("{certfile,%q},{keyfile,%q},{cacertfile,%q},{verify,verify_peer}", f.Cert, f.Key, f.CA)
	text := fmt.Sprintf("[{server,[%s,{fail_if_no_peer_cert,true}]},{client,[%s]}].", side, side)
	write(t, f.Options, []byte(text))
	return f
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign has the authority's key sign a certificate for the other key.
func sign(t testing.TB, c, authority *x509.Certificate, key, authorityKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t testing.TB, path, kind string, der []byte) string {
	t.Helper()
	write(t, path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	return path
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
