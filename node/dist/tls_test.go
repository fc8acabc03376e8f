package dist

import (
	"testing"

	"nxvk/node/dist/tlstest"
)

// TestTLS talks to BEAMs that were started with -proto_dist inet_tls, in both
// directions, with certificates checked on both sides.
func TestTLS(t *testing.T) {
	for name, root := range roots(t) {
		t.Run(name, func(t *testing.T) {
			if root != "/" {
				t.Skip("the certificates are outside of this root")
			}
			f := tlstest.New(t)
			c := newCluster(t, root, Options{TLS: &TLSConfig{CertFile: f.Cert, KeyFile: f.Key, CAFile: f.CA, Verify: true}})
			c.args = []string{"-proto_dist", "inet_tls", "-ssl_dist_optfile", f.Options}
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
