package node

import (
	"errors"
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
