package socket

import (
	"net"
	"testing"
)

func TestLocalPeers(t *testing.T) {
	addr := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }
	for _, c := range []struct {
		here, there net.Addr
		want        bool
	}{
		{addr("127.0.0.1"), addr("127.0.0.1"), true},
		{addr("::1"), addr("::1"), true},
		{addr("10.0.0.5"), addr("10.0.0.5"), true},
		{addr("10.0.0.5"), addr("10.0.0.6"), false},
		{addr("fe80::1"), addr("fe80::2"), false},
		{addr("10.0.0.5"), &net.UnixAddr{}, false},
	} {
		if got := isLocal(c.here, c.there); got != c.want {
			t.Errorf("from %v to %v: %v, want %v", c.here, c.there, got, c.want)
		}
	}
}
