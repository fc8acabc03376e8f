package cluster

import (
	"testing"

	"nxvk/node/dist/tlstest"
)

// TestTLS has a BEAM of -proto_dist inet_tls use the node, certificates checked
// on both sides. A BEAM without TLS is not let in.
func TestTLS(t *testing.T) {
	f := tlstest.New(t)
	n := startNode(t, "--device", "host", "--tls-cert", f.Cert, "--tls-key", f.Key, "--tls-ca", f.CA)
	b := startBEAM(t, "-proto_dist", "inet_tls", "-ssl_dist_optfile", f.Options)
	b.connect(n)
	for _, promise := range []string{"echo", "large_echo", "long_chain", "owner_exit_frees"} {
		b.want("ok", "{nxvk_suite,run,[%s,%s]}", promise, n.device())
	}
	plain := startBEAM(t)
	if got := plain.call("{nxvk_client,connect,[%s]}", n.atom()); got == "ok" {
		t.Error("a BEAM without TLS could connect")
	}
}
