package node

import (
	"errors"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	good := Config{Name: "nxvk@127.0.0.1", NetTicktime: DefaultTicktime, Connect: "a@b, c@d", No: "rows,dead"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no host":         func(c *Config) { c.Name = "nxvk" },
		"empty host":      func(c *Config) { c.Name = "nxvk@" },
		"two hosts":       func(c *Config) { c.Name = "nxvk@a@b" },
		"port":            func(c *Config) { c.Port = 1 << 16 },
		"ticktime":        func(c *Config) { c.NetTicktime = time.Millisecond },
		"deadline":        func(c *Config) { c.Deadline = -1 },
		"session limit":   func(c *Config) { c.SessionLimit = -1 },
		"host limit":      func(c *Config) { c.HostLimit = -1 },
		"cert alone":      func(c *Config) { c.TLS.Cert = "cert.pem" },
		"key alone":       func(c *Config) { c.TLS.Key = "key.pem" },
		"CA alone":        func(c *Config) { c.TLS.CA = "ca.pem" },
		"connect to what": func(c *Config) { c.Connect = "a@b,c" },
		"no such rule":    func(c *Config) { c.No = "rows,columns" },
	} {
		bad := good
		spoil(&bad)
		if err := bad.check(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
