package cluster

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

// TestTLS has a BEAM of -proto_dist inet_tls use the node, certificates checked
// on both sides. A BEAM without TLS is not let in.
func TestTLS(t *testing.T) {
	c := makeCertificates(t)
	side := fmt.Sprintf("{certfile,%q},{keyfile,%q},{cacertfile,%q},{verify,verify_peer}", c.cert, c.key, c.ca)
	options := filepath.Join(t.TempDir(), "ssl_dist.conf")
	text := fmt.Sprintf("[{server,[%s,{fail_if_no_peer_cert,true}]},{client,[%s]}].", side, side)
	if err := os.WriteFile(options, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, "--device", "host", "--tls-cert", c.cert, "--tls-key", c.key, "--tls-ca", c.ca)
	b := startBEAM(t, "-proto_dist", "inet_tls", "-ssl_dist_optfile", options)
	b.connect(n)
	for _, promise := range []string{"echo", "large_echo", "long_chain", "owner_exit_frees"} {
		b.want("ok", "{nxvk_suite,run,[%s,%s]}", promise, n.device())
	}
	plain := startBEAM(t)
	if got := plain.call("{nxvk_client,connect,[%s]}", n.atom()); got == "ok" {
		t.Error("a BEAM without TLS could connect")
	}
}

// certificates are the names of PEM files.
type certificates struct{ ca, cert, key string }

// makeCertificates makes an authority and a certificate for either side.
func makeCertificates(t *testing.T) certificates {
	t.Helper()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
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
	return certificates{
		ca:   writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", sign(t, authority, authority, authorityKey, authorityKey)),
		cert: writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", sign(t, leaf, authority, leafKey, authorityKey)),
		key:  writePEM(t, filepath.Join(dir, "key.pem"), "EC PRIVATE KEY", private),
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign has the authority's key sign a certificate for the other key.
func sign(t *testing.T, c, authority *x509.Certificate, key, authorityKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, path, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
