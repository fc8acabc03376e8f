package node

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	good := Config{Name: "nxvk@127.0.0.1", NetTicktime: DefaultTicktime, Connect: "a@b, c@d", DisablePasses: "rows,dead"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no host":                             func(c *Config) { c.Name = "nxvk" },
		"empty host":                          func(c *Config) { c.Name = "nxvk@" },
		"space":                               func(c *Config) { c.Name = "my node@127.0.0.1" },
		"line feed":                           func(c *Config) { c.Name = "nxvk\n@127.0.0.1" },
		"control character in the host":       func(c *Config) { c.Name = "nxvk@gpu\x1bbox" },
		"two hosts":                           func(c *Config) { c.Name = "nxvk@a@b" },
		"all and one":                         func(c *Config) { c.Devices = []string{"all", "0"} },
		"one and no name":                     func(c *Config) { c.Devices = []string{"0", ""} },
		"port":                                func(c *Config) { c.Port = 1 << 16 },
		"ticktime":                            func(c *Config) { c.NetTicktime = time.Millisecond },
		"deadline":                            func(c *Config) { c.Deadline = -1 },
		"session limit":                       func(c *Config) { c.SessionLimit = -1 },
		"host limit":                          func(c *Config) { c.HostLimit = -1 },
		"cert alone":                          func(c *Config) { c.TLS.Cert = "cert.pem" },
		"key alone":                           func(c *Config) { c.TLS.Key = "key.pem" },
		"CA alone":                            func(c *Config) { c.TLS.CA = "ca.pem" },
		"any certificate beyond this machine": func(c *Config) { c.TLS, c.Listen = TLS{Cert: "c", Key: "k"}, "0.0.0.0" },
		"connect to what":                     func(c *Config) { c.Connect = "a@b,c" },
		"no such rule":                        func(c *Config) { c.DisablePasses = "rows,columns" },
	} {
		bad := good
		spoil(&bad)
		if err := bad.check(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}

// TestTrust listens where others reach it, with certificates of anybody and without.
func TestTrust(t *testing.T) {
	for _, tt := range []struct {
		listen string
		tls    TLS
	}{
		{"0.0.0.0", TLS{}},
		{"127.0.0.1", TLS{Cert: "c", Key: "k"}},
		{"::1", TLS{Cert: "c", Key: "k"}},
		{"0.0.0.0", TLS{Cert: "c", Key: "k", CA: "a"}},
		{"192.0.2.1", TLS{Cert: "c", Key: "k", Insecure: true}},
	} {
		c := Config{Name: "nxvk@127.0.0.1", NetTicktime: DefaultTicktime, Listen: tt.listen, TLS: tt.tls}
		if err := c.check(); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestListenCure fails to listen, and is told what to do.
func TestListenCure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for address, want := range map[string]string{
		l.Addr().String(): "--port",
		"192.0.2.1:0":     "--listen", // of documents: no machine has it
	} {
		if _, err := net.Listen("tcp", address); err == nil || !strings.Contains(listenCure(err), want) {
			t.Errorf("%s: %v: %q, want %q", address, err, listenCure(err), want)
		}
	}
}
