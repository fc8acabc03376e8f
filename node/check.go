package node

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ErrConfig marks a setting with which no node can start.
var ErrConfig = errors.New("bad option")

// shortestTicktime is the lower bound of --net-ticktime. A quarter of it passes between two
// ticks, and the garbage collector of a peer may pause for longer than less.
const shortestTicktime = time.Second

// check finds invalid settings before anything is opened.
func (c *Config) check() error {
	for _, o := range []struct {
		ok   bool
		text string
	}{
		{nodeName(c.Name), fmt.Sprintf("--name %q: write NAME@HOST, such as nxvk@127.0.0.1, where NAME has letters, digits, _ and -", c.Name)},
		{c.selectsAll() || !slices.Contains(c.Devices, allDevices), "--device all and another --device: give all alone, or name each device"},
		{c.selectsAll() || !slices.Contains(c.Devices, ""), "--device without a name beside another --device: leave it out, or name a device"},
		{c.Port >= 0 && c.Port < 1<<16, fmt.Sprintf("--port %d: give a port from 0 to 65535; 0 picks a free one", c.Port)},
		{c.NetTicktime >= shortestTicktime, fmt.Sprintf("--net-ticktime %v: give at least %v", c.NetTicktime, shortestTicktime)},
		{c.Deadline >= 0, fmt.Sprintf("--deadline %v: give a duration of 0 or more; 0 is no limit", c.Deadline)},
		{c.SessionLimit >= 0, fmt.Sprintf("--session-limit %d: give 0 bytes or more; 0 is no limit", c.SessionLimit)},
		{c.HostLimit >= 0, fmt.Sprintf("--host-limit %d: give 0 elements or more; 0 is the default of the device", c.HostLimit)},
		{(c.TLS.Cert == "") == (c.TLS.Key == ""), "--tls-cert and --tls-key: give both or neither"},
		{c.TLS.CA == "" || c.TLS.Cert != "", "--tls-ca: give --tls-cert and --tls-key, too"},
		{!c.trustsAll() || c.TLS.Insecure || loopback(c.Listen), fmt.Sprintf(
			"--tls-cert without --tls-ca trusts every certificate, so anyone on the way to --listen %s can read and change messages: give the authorities with --tls-ca, or accept that with --tls-insecure", c.Listen)},
	} {
		if !o.ok {
			return fmt.Errorf("%w: %s", ErrConfig, o.text)
		}
	}
	for name := range strings.SplitSeq(c.Connect, ",") {
		if name = strings.TrimSpace(name); name != "" && !nodeName(name) {
			return fmt.Errorf("%w: --connect %q: write NAME@HOST", ErrConfig, name)
		}
	}
	if _, err := c.parseRules(); err != nil {
		return fmt.Errorf("%w: --disable-passes: %w; nxvk-node run --help lists them", ErrConfig, err)
	}
	return nil
}

// nameParts matches the names of nodes that Erlang takes.
var nameParts = regexp.MustCompile(`^[0-9A-Za-z_-]+@[^@\s\pC]+$`)

// nodeName reports whether a name has its two parts. Package dist checks the rest.
func nodeName(name string) bool { return nameParts.MatchString(name) }

// trustsAll reports whether the node speaks TLS and accepts every certificate.
func (c *Config) trustsAll() bool { return c.TLS.Cert != "" && c.TLS.CA == "" }

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	ip := net.ParseIP(address)
	return address == "localhost" || ip != nil && ip.IsLoopback()
}
