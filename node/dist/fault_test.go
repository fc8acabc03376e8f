package dist

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
	"nxvk/node/dist/control"
	"nxvk/node/dist/handshake"
	"nxvk/node/epmd"
)

func TestWrongCookie(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`erlang:set_cookie(N,wrong), io:format("~p~n",[net_adm:ping(N)]),
			erlang:set_cookie(N,'`+strings.ReplaceAll(testCookie, "'", "")+`'), io:format("~p~n",[net_adm:ping(N)])`, "-env", "X", "1")
		for {
			line := b.line()
			if line == "pang" {
				break
			}
			if line == "pong" || line == "(end)" {
				t.Fatalf("the BEAM says %q", line)
			}
		}
		if got := c.node.Counters().Refused.Load(); got != 1 {
			t.Errorf("refused %d peers, want 1", got)
		}
		b.expect("pong")
	})
}

// TestConnect dials BEAMs, by name through the port mapper.
func TestConnect(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`register(me,self()), io:format("ready~n"),
			receive {hello,P} -> io:format("~p~n",[nodes(hidden) =:= [node(P)]]), P ! hi end, timer:sleep(60000)`)
		b.expect("ready")
		if err := c.node.Connect(b.Name); err != nil {
			t.Fatal(err)
		}
		if err := c.node.Connect(b.Name); err != nil {
			t.Fatalf("again: %v", err)
		}
		got := make(chan any, 1)
		_, err := c.node.Spawn(func() gen.ProcessBehavior { return &once{to: b.Name, got: got} }, gen.ProcessOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.expect("true")
		if m, ok := (<-got).(Message); !ok || m.Term != etf.Term(etf.Atom("hi")) {
			t.Fatalf("got %v", m)
		}
		if err := c.node.Connect("nobody@127.0.0.1"); err == nil {
			t.Fatal("connected to nobody")
		}
	})
}

// once says hello to a registered process and passes on what comes back.
type once struct {
	act.Actor
	to  gen.Atom
	got chan any
}

func (o *once) Init(...any) error { return o.Send(o.PID(), "go") }

func (o *once) HandleMessage(_ gen.PID, message any) error {
	if message == any("go") {
		hello := etf.Tuple{etf.Atom("hello"), o.PID()}
		return o.Send(gen.ProcessID{Name: "me", Node: o.to}, hello)
	}
	o.got <- message
	return gen.TerminateReasonNormal
}

// TestSimultaneous has both sides dial at the same time, again and again.
func TestSimultaneous(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`io:format("ready~n"), L = fun(L) ->
			net_adm:ping(N), timer:sleep(rand:uniform(5)), erlang:disconnect_node(N), L(L) end, L(L)`)
		b.expect("ready")
		for connected := 0; connected < 100; {
			if c.node.Connect(b.Name) != nil {
				continue
			}
			connected++
			if up := c.node.connection(b.Name); up != nil {
				<-up.gone
			}
		}
		b.kill()
		await(t, "the connection is gone", func() bool { return c.node.Counters().Connections.Load() == 0 })
		b2 := c.start(`io:format("~p~n",[net_adm:ping(N)])`)
		b2.expect("pong")
	})
}

// TestBothDial starts one attempt on either side at once and wants one
// connection out of it.
func TestBothDial(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		for range 5 {
			b := c.start(`io:format("ready~n"), io:format("~p~n",[net_adm:ping(N)]), timer:sleep(60000)`)
			b.expect("ready")
			if err := c.node.Connect(b.Name); err != nil {
				t.Error(err)
			}
			b.expect("pong")
			b.kill()
		}
	})
}

// TestSilentPeer stops a BEAM for longer than the net tick time.
func TestSilentPeer(t *testing.T) {
	for name, root := range roots(t) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, root, Options{NetTickTime: 2 * time.Second})
			c.args = []string{"-kernel", "net_ticktime", "2"}
			b := c.start(`net_adm:ping(N), io:format("up~n"), timer:sleep(6000), io:format("~p~n",[nodes(hidden)]), timer:sleep(60000)`)
			b.expect("up")
			// An idle connection lives on ticks alone, both ways.
			b.expect("['" + string(c.node.Name()) + "']")
			if up := c.node.Counters().Connections.Load(); up != 1 {
				t.Fatalf("%d connections after idling, want 1", up)
			}
			b.signal(syscall.SIGSTOP)
			since := time.Now()
			await(t, "the silent peer is given up", func() bool { return c.node.Counters().Silent.Load() == 1 })
			if took := time.Since(since); took < time.Second {
				t.Errorf("gave up after %v", took)
			}
			b.signal(syscall.SIGCONT)
		})
	}
}

// TestKilledPeer kills a BEAM in the middle of an upload.
func TestKilledPeer(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`net_adm:ping(N), io:format("up~n"), B = binary:copy(<<1>>, 100000000),
			L = fun(L) -> gen_server:call({echo,N},{echo,B},infinity), L(L) end, L(L)`)
		b.expect("up")
		await(t, "the upload runs", func() bool { return c.node.Counters().BytesIn.Load() > 50_000_000 })
		b.kill()
		await(t, "the connection is gone", func() bool { return c.node.Counters().Connections.Load() == 0 })
		if n := c.node.Counters().Silent.Load(); n != 0 {
			t.Error("the end was noticed by silence")
		}
		c.start(`io:format("~p~n",[gen_server:call({echo,N},{echo,1})])`).expect("1")
	})
}

// TestReconnectSameName replaces a connection whose end we have not seen.
func TestReconnectSameName(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`[begin pong = net_adm:ping(N), 1 = gen_server:call({echo,N},{echo,1}),
			erlang:disconnect_node(N) end || _ <- lists:seq(1,200)], io:format("done~n")`)
		b.expect("done")
	})
}

// TestBadPackets connects properly and then sends what is no message.
func TestBadPackets(t *testing.T) {
	c := newCluster(t, "/", Options{})
	good := dialRaw(t, c, "good@127.0.0.1")
	defer good.Close()
	atom := func(s string) []byte { p, _ := etf.Append(nil, etf.Atom(s)); return p }
	message := func(t etf.Term, rest ...byte) []byte {
		p, _ := etf.Append([]byte{etf.Version, 'D', 0}, t)
		return append(p, rest...)
	}
	me := etf.Pid{Node: "bad@127.0.0.1", ID: 1}
	bad := [][]byte{
		{0}, {etf.Version}, {etf.Version, 1, 2, 3}, {etf.Version, 'D'}, {etf.Version, 'D', 0},
		{etf.Version, 'D', 200, 1, 2}, {etf.Version, 'D', 1, 0x08, 0, 0}, {etf.Version, 'D', 1, 0, 7},
		append([]byte{etf.Version, 'D', 0}, atom("x")...),
		message(etf.Tuple{}), message(etf.Tuple{99}), message(etf.Tuple{etf.Atom("x")}), message(etf.Tuple{control.OpSend}),
		message(etf.Tuple{control.OpRegSend, me, etf.Atom(""), 7}), message(etf.Tuple{control.OpRegSend, me, etf.Atom(""), etf.Atom("echo")}, 255),
		message(etf.Tuple{control.OpMonitor, me, 1, 2}), message(etf.Tuple{control.OpLink, 1, 2}), message(etf.Tuple{control.OpExit, me}),
		message(etf.Tuple{control.OpRegSend, me, etf.Atom(""), etf.Atom("echo")}, 109, 255, 255, 255, 255),
		append([]byte{etf.Version, 'F'}, make([]byte, 16)...),
		append([]byte{etf.Version, 'E'}, make([]byte, 17)...),
		{'p'}, {'p', 131, 97}, {'p', 131, 104, 255},
	}
	for i := range 200 {
		p := make([]byte, 1+rand.IntN(100))
		for j := range p {
			p[j] = byte(rand.Uint32())
		}
		if i%2 == 0 && len(p) > 2 {
			p[0], p[1] = etf.Version, 'D'
		}
		bad = append(bad, p)
	}
	for _, p := range bad {
		s := dialRaw(t, c, "bad@127.0.0.1")
		s.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...))
		s.SetReadDeadline(time.Now().Add(waitTime))
		if _, err := s.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("% x: the connection stays (%v)", p, err)
		}
		s.Close()
	}
	if c.node.connection("good@127.0.0.1") == nil {
		t.Error("another connection was closed too")
	}
	await(t, "the bad connections are gone", func() bool { return c.node.Counters().Connections.Load() == 1 })
}

// dialRaw connects as a peer that speaks the handshake properly.
func dialRaw(t *testing.T, c *cluster, name string) net.Conn {
	t.Helper()
	s, err := net.Dial("tcp", c.node.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	h := handshake.Side{Self: handshake.Identity{Name: name, Flags: handshake.FlagsOffered, Creation: 1}, Cookie: testCookie}
	if _, err := h.Start(s, string(c.node.Name())); err != nil {
		t.Fatal(err)
	}
	await(t, "the connection is entered", func() bool { return c.node.connection(gen.Atom(name)) != nil })
	return s
}

// TestBrokenHandshakes sends every prefix of a good handshake, and random
// bytes, while another peer works on.
func TestBrokenHandshakes(t *testing.T) {
	c := newCluster(t, "/", Options{})
	good := dialRaw(t, c, "good@127.0.0.1")
	defer good.Close()
	id := handshake.Identity{Name: "bad@127.0.0.1", Flags: handshake.FlagsOffered, Creation: 1}
	name := introduction(id)
	full := append(binary.BigEndian.AppendUint16(nil, uint16(len(name))), name...)
	full = append(full, 0, 21, 'r')
	full = append(full, make([]byte, 20)...) // a digest that is wrong
	var all sync.WaitGroup
	try := func(p []byte) {
		s, err := net.Dial("tcp", c.node.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		s.Write(p)
		s.(*net.TCPConn).CloseWrite()
		s.SetReadDeadline(time.Now().Add(waitTime))
		for err == nil {
			_, err = s.Read(make([]byte, 100))
		}
		if strings.Contains(err.Error(), "timeout") {
			t.Errorf("% x: the socket stays", p)
		}
		s.Close()
	}
	for n := range len(full) + 1 {
		all.Go(func() { try(full[:n]) })
	}
	for range 100 {
		p := make([]byte, rand.IntN(200))
		for j := range p {
			p[j] = byte(rand.Uint32())
		}
		all.Go(func() { try(p) })
	}
	all.Wait()
	if c.node.connection("good@127.0.0.1") == nil || c.node.Counters().Connections.Load() != 1 {
		t.Error("the good connection suffered")
	}
}

// TestOurEnd stops our node under a BEAM that watches it.
func TestOurEnd(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		b := c.start(`pong = net_adm:ping(N), monitor_node(N,true), R = monitor(process,{echo,N}), pong = net_adm:ping(N), io:format("up~n"),
			receive {'DOWN',R,_,_,W} -> io:format("~p~n",[W]) end,
			receive {nodedown,N} -> io:format("nodedown~n") end`)
		b.expect("up")
		c.node.Close()
		b.expect("shutdown")
		b.expect("nodedown")
	})
}

// TestPortMapperRestarts runs Erlang's own epmd, ends it and starts it again.
func TestPortMapperRestarts(t *testing.T) {
	if _, err := exec.LookPath("epmd"); err != nil {
		t.Skip("no epmd on this machine")
	}
	address := freeAddress(t)
	mapper := func() *exec.Cmd {
		cmd := exec.Command("epmd", "-port", strconv.Itoa(port(address)), "-address", "127.0.0.1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	first := mapper()
	n, err := Start(Options{Name: "mapped@127.0.0.1", Cookie: testCookie, Epmd: address})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	known := func() bool {
		got, err := epmd.Lookup(t.Context(), address, "mapped")
		return err == nil && int(got.Port) == n.Addr().(*net.TCPAddr).Port
	}
	await(t, "the node is registered", known)
	first.Process.Kill()
	first.Wait()
	mapper()
	await(t, "the node is registered again", known)
	b := (&cluster{t: t, node: n, root: "/", epmd: address}).start(`
		Ping = fun Ping() -> case net_adm:ping(N) of pong -> io:format("pong~n"); pang -> Ping() end end, Ping()`)
	b.expect("pong")
}

// TestNoListener is a BEAM that was not distributed and becomes so without
// opening a port.
func TestNoListener(t *testing.T) {
	withBEAMs(t, func(t *testing.T, c *cluster) {
		c.anonymous = true
		b := c.start(`{ok,_} = net_kernel:start(list_to_atom("late@127.0.0.1"),#{name_domain => longnames, dist_listen => false, hidden => true}),
			erlang:set_cookie(list_to_atom("` + testCookie + `")),
			io:format("~p~n",[net_adm:ping(N)]), io:format("~p~n",[gen_server:call({echo,N},{echo,1})])`)
		b.expect("pong")
		b.expect("1")
	})
}

// TestNothingIsKept counts the blocks after traffic of all kinds, to those who
// read it and to those who do not exist.
func TestNothingIsKept(t *testing.T) {
	for name, root := range roots(t) {
		t.Run(name, func(t *testing.T) {
			blocks := &etftest.Blocks{Max: 1 << 30}
			c := newCluster(t, root, Options{Allocator: blocks})
			b := c.start(`B = binary:copy(<<1>>,500000), P = gen_server:call({echo,N},{pid,x}),
				[B = gen_server:call({echo,N},{echo,B}) || _ <- lists:seq(1,50)],
				[{nobody,N} ! B || _ <- lists:seq(1,50)],
				M = monitor(process,P), {echo,N} ! stop, receive {'DOWN',M,_,_,_} -> ok end,
				[P ! B || _ <- lists:seq(1,50)], io:format("~p~n",[net_adm:ping(N)])`)
			b.expect("pong")
			await(t, "all blocks are freed", func() bool { return blocks.Live() == 0 })
			if got := c.node.Counters().Dropped.Load(); got < 100 {
				t.Errorf("%d messages dropped, want 100", got)
			}
		})
	}
}

// introduction is the packet with which a peer gives its name.
func introduction(id handshake.Identity) []byte {
	p := binary.BigEndian.AppendUint64([]byte{'N'}, id.Flags)
	p = binary.BigEndian.AppendUint32(p, id.Creation)
	return append(binary.BigEndian.AppendUint16(p, uint16(len(id.Name))), id.Name...)
}
