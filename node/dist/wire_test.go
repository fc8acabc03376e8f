package dist

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"testing"

	"nxvk/gen/etf"
	"nxvk/node/dist/control"
	"nxvk/node/dist/packet"
	"nxvk/node/dist/quota"
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

// BenchmarkCasts reads what a BEAM sends for gen_server:cast/2.
func BenchmarkCasts(b *testing.B) {
	me := etf.Pid{Node: "beam1@127.0.0.1", ID: 100, Creation: 7}
	var one []byte
	p, _ := etf.Append([]byte{etf.Version, 'D', 0}, etf.Tuple{control.OpRegSend, me, etf.Atom(""), etf.Atom("wire")})
	p, _ = etf.Append(p, etf.Tuple{etf.Atom("$gen_cast"), etf.Tuple{etf.Atom("add"), 1000, etf.List{1, 2}}})
	for range 1000 {
		one = binary.BigEndian.AppendUint32(one, uint32(len(p)))
		one = append(one, p...)
	}
	b.ReportAllocs()
	account := quota.NewAccount(nil, DefaultMaxHeld)
	for i := 0; i < b.N; i += 1000 {
		r := packet.Reader{Source: bytes.NewReader(one), MaxTerm: 1 << 20, Account: account,
			Deliver: func(m packet.Message) (bool, error) {
				f := control.NewMessage(m.Control)
				f.Op()
				Handled(received(PID(f.Pid(1)), m.Payload, m.Cost))
				return true, nil
			}}
		r.Run()
	}
}
