package dist

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

// TestTLS talks to BEAMs that were started with -proto_dist inet_tls, in both
// directions, with certificates checked on both sides.
func TestTLS(t *testing.T) {
	for name, root := range roots(t) {
		t.Run(name, func(t *testing.T) {
			if root != "/" {
				t.Skip("SKIP(chroot): the certificates are outside")
			}
			dir := t.TempDir()
			ca, cert, key := makeCertificates(t, dir)
			c := newCluster(t, root, Options{TLS: &TLSConfig{CertFile: cert, KeyFile: key, CAFile: ca, Verify: true}})
			conf := filepath.Join(dir, "ssl.conf")
			side := fmt.Sprintf("{certfile,%q},{keyfile,%q},{cacertfile,%q},{verify,verify_peer}", cert, key, ca)
			text := fmt.Sprintf("[{server,[%s,{fail_if_no_peer_cert,true}]},{client,[%s]}].", side, side)
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c.args = []string{"-proto_dist", "inet_tls", "-ssl_dist_optfile", conf}
			b := c.start(`io:format("~p~n",[net_adm:ping(N)]),
				B = crypto:strong_rand_bytes(3000000),
				io:format("~p~n",[gen_server:call({echo,N},{echo,B}) =:= B]), timer:sleep(60000)`)
			b.expect("pong")
			b.expect("true")
			b2 := c.start(`io:format("ready~n"), timer:sleep(60000)`)
			b2.expect("ready")
			if err := c.node.Connect(b2.Name); err != nil {
				t.Error(err)
			}
			c.args = nil
			c.start(`io:format("~p~n",[net_adm:ping(N)])`).expect("pang")
		})
	}
}

// makeCertificates makes an authority and one certificate that is good for
// either side.
func makeCertificates(t *testing.T, dir string) (ca, cert, key string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	must(err)
	ourKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"127.0.0.1", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, ourKey.Public(), caKey)
	must(err)
	keyDER, err := x509.MarshalECPrivateKey(ourKey)
	must(err)
	return write("ca.pem", "CERTIFICATE", caDER), write("cert.pem", "CERTIFICATE", leafDER), write("key.pem", "EC PRIVATE KEY", keyDER)
}
