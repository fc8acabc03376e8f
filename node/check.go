package node

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// ErrConfig is a setting that no node can be started with.
var ErrConfig = errors.New("bad option")

// shortestTicktime is the least time after which a peer may be called down. A
// quarter of it passes between two ticks; garbage collectors may take longer
// than less.
const shortestTicktime = time.Second

// check finds settings that contradict themselves, before anything is opened.
func (c *Config) check() error {
	for _, o := range []struct {
		ok   bool
		text string
	}{
		{nodeName(c.Name), fmt.Sprintf("--name %q: a node is called NAME@HOST, as nxvk@127.0.0.1", c.Name)},
		{c.Port >= 0 && c.Port < 1<<16, fmt.Sprintf("--port %d: ports are 0 to 65535; 0 picks one", c.Port)},
		{c.NetTicktime >= shortestTicktime, fmt.Sprintf("--net-ticktime %v: at least %v", c.NetTicktime, shortestTicktime)},
		{c.Deadline >= 0, fmt.Sprintf("--deadline %v: a length of time; 0 is no limit", c.Deadline)},
		{c.SessionLimit >= 0, fmt.Sprintf("--session-limit %d: a number of bytes; 0 is no limit", c.SessionLimit)},
		{c.HostLimit >= 0, fmt.Sprintf("--host-limit %d: a number of elements; 0 is the device's default", c.HostLimit)},
		{(c.TLS.Cert == "") == (c.TLS.Key == ""), "--tls-cert and --tls-key go together"},
		{c.TLS.CA == "" || c.TLS.Cert != "", "--tls-ca needs --tls-cert and --tls-key"},
		{!c.trustsAll() || c.TLS.Insecure || loopback(c.Listen), fmt.Sprintf(
			"--tls-cert without --tls-ca trusts every certificate, so whoever is between can read and change what goes over --listen %s: name the authorities with --tls-ca, or say --tls-insecure", c.Listen)},
	} {
		if !o.ok {
			return fmt.Errorf("%w: %s", ErrConfig, o.text)
		}
	}
	for name := range strings.SplitSeq(c.Connect, ",") {
		if name = strings.TrimSpace(name); name != "" && !nodeName(name) {
			return fmt.Errorf("%w: --connect %q: a node is called NAME@HOST", ErrConfig, name)
		}
	}
	if _, err := c.rules(); err != nil {
		return fmt.Errorf("%w: --disable-passes: %w; nxvk-node run --help lists them", ErrConfig, err)
	}
	return nil
}

// nodeName reports whether a name has the two parts that it needs. What else a
// peer may find wrong with it, dist says.
func nodeName(name string) bool {
	short, host, ok := strings.Cut(name, "@")
	return ok && short != "" && host != "" && !strings.Contains(host, "@")
}

// trustsAll reports whether the node speaks TLS with whoever has any certificate.
func (c *Config) trustsAll() bool { return c.TLS.Cert != "" && c.TLS.CA == "" }

// loopback reports whether an address can be reached from this machine alone.
func loopback(address string) bool {
	ip := net.ParseIP(address)
	return address == "localhost" || ip != nil && ip.IsLoopback()
}
