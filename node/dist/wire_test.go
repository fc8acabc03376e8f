package dist

import (
	"crypto/md5"
	"testing"

	"nxvk/gen/etf"
)

func digest(t etf.Term) etf.Term {
	switch b := t.(type) {
	case []byte:
		sum := md5.Sum(b)
		return sum[:]
	case *etf.Binary:
		sum := md5.Sum(b.Bytes())
		return sum[:]
	}
	return etf.Atom("no_binary")
}

// pattern is n bytes that differ from place to place.
func pattern(n int64) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i * i >> 7)
	}
	return p
}

func TestPing(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`io:format("~p~n",[net_adm:ping(N)]),
			io:format("~p~n",[nodes()]), io:format("~p~n",[nodes(hidden) =:= [N]])`)
		b.expect("pong")
		b.expect("[]")
		b.expect("true")
	})
}

func TestCall(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`io:format("~p~n",[gen_server:call({echo,N},{echo,{hello,[1,2],#{a => 1.5}}})]),
			{echo,N} ! hi, receive {echo,hi} -> io:format("echo~n") end,
			io:format("~p~n",[catch gen_server:call({nobody,N},x)]),
			{nobody,N} ! x,
			P = gen_server:call({echo,N},{pid,x}), io:format("~p~n",[node(P) =:= N]),
			io:format("~p~n",[gen_server:call(P,{echo,self()}) =:= self()])`)
		b.expect("{hello,[1,2],#{a => 1.5}}")
		b.expect("echo")
		b.expect("{'EXIT',{noproc,{gen_server,call,[{nobody,'" + string(c.node.Name()) + "'},x]}}}")
		b.expect("true")
		b.expect("true")
	})
}
