package socket

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// ErrTLS says that no encrypted connection could be agreed on.
var ErrTLS = errors.New("TLS handshake")

// TLS says how connections are encrypted: as with -proto_dist inet_tls, the packets of
// the distribution travel inside TLS. A nil TLS is plain TCP.
type TLS struct {
	// CertFile and KeyFile are this node's certificate chain and key, PEM.
	CertFile, KeyFile string
	// CAFile has the certificates of the authorities that peers' certificates are
	// checked against, PEM. The system's are taken where it is empty.
	CAFile string
	// Verify refuses peers without a valid certificate, in both directions. A peer
	// that this node dials must have a certificate for its host's name.
	Verify bool

	serverSide, clientSide *tls.Config
}

// Load reads the files. It comes before Server and Client.
func (t *TLS) Load() error {
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return fmt.Errorf("load certificate for the distribution: %w", err)
	}
	base := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return fmt.Errorf("load authorities for the distribution: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("load authorities for the distribution: no certificate in %s", t.CAFile)
		}
		base.RootCAs, base.ClientCAs = pool, pool
	}
	t.serverSide, t.clientSide = base, base.Clone()
	t.clientSide.InsecureSkipVerify = !t.Verify
	if t.Verify {
		t.serverSide.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return nil
}

// Server encrypts a socket that was accepted.
func (t *TLS) Server(c net.Conn) (net.Conn, error) {
	if t == nil {
		return c, nil
	}
	return handshake(tls.Server(c, t.serverSide))
}

// Client encrypts a socket that was dialled to host.
func (t *TLS) Client(c net.Conn, host string) (net.Conn, error) {
	if t == nil {
		return c, nil
	}
	config := t.clientSide.Clone()
	config.ServerName = host
	return handshake(tls.Client(c, config))
}

func handshake(c *tls.Conn) (net.Conn, error) {
	if err := c.Handshake(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return c, nil
}
