package dist

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// TLSConfig is how connections are encrypted: as -proto_dist inet_tls has it,
// the distribution's packets inside TLS. A nil TLSConfig is plain TCP.
type TLSConfig struct {
	// CertFile and KeyFile are this node's certificate chain and key, PEM.
	CertFile, KeyFile string
	// CAFile holds the certificates that peers' certificates are checked
	// against; the system's where empty.
	CAFile string
	// Verify refuses peers without a valid certificate, in both directions.
	// The one we dial must have a certificate for its host's name.
	Verify bool

	serverSide, clientSide *tls.Config
}

// Load reads the files. Start calls it.
func (t *TLSConfig) Load() error {
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
			return fmt.Errorf("load authorities for the distribution: %w", errors.New("no certificate in "+t.CAFile))
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

// server wraps a socket that was accepted.
func (t *TLSConfig) server(c net.Conn) (net.Conn, error) {
	if t == nil {
		return c, nil
	}
	return encrypted(tls.Server(c, t.serverSide))
}

// client wraps a socket that was dialled to host.
func (t *TLSConfig) client(c net.Conn, host string) (net.Conn, error) {
	if t == nil {
		return c, nil
	}
	config := t.clientSide.Clone()
	config.ServerName = host
	return encrypted(tls.Client(c, config))
}

// encrypted does the handshake of TLS.
func encrypted(c *tls.Conn) (net.Conn, error) {
	if err := c.Handshake(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return c, nil
}
