package dist

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/etf/etftest"
	"nxvk/node/dist/control"
	"nxvk/node/dist/packet"
	"nxvk/node/epmd"
)

// slowPeer is a connected peer that has read nothing of count large messages.
func slowPeer(t *testing.T, count int, release func()) (*cluster, *Connection, net.Conn) {
	t.Helper()
	c := newCluster(t, "/", Options{})
	s := dialRaw(t, c, "slow@127.0.0.1")
	t.Cleanup(func() { s.Close() })
	to := gen.PID{Node: "slow@127.0.0.1", ID: 1, Creation: 1}
	for range count {
		if err := c.node.Send(to, etf.Outside{Bytes: etftest.Pattern(1 << 20), Release: release}); err != nil {
			t.Fatal(err)
		}
	}
	return c, c.node.connection(to.Node), s
}

// TestCloseSends closes the node while messages wait for a peer that is slow:
// it gets them all, and then the end.
func TestCloseSends(t *testing.T) {
	const count = 50
	c, connection, s := slowPeer(t, count, nil)
	c.node.linger = waitTime // the peer may be slow to read all that
	var done atomic.Bool
	go func() { c.node.Close(); done.Store(true) }()
	await(t, "the connection is about to end", connection.writer.Closed)
	blocks := &etftest.Blocks{Max: 1 << 20}
	got := 0
	r := packet.Reader{Source: s, Allocator: blocks, MaxTerm: 1 << 20,
		Deliver: func(packet.Message) (bool, error) {
			got++
			return false, nil
		}}
	if err := r.Run(); err != io.EOF {
		t.Fatal(err)
	}
	if got != count || blocks.Live() != 0 {
		t.Errorf("got %d messages, want %d; %d blocks are left", got, count, blocks.Live())
	}
	if done.Load() {
		t.Error("the node is closed before the peer has seen the end")
	}
	s.Close()
	await(t, "the node is closed", done.Load)
}

// TestCloseIsBounded closes the node while messages wait for a peer that reads
// nothing. Their memory is released nevertheless.
func TestCloseIsBounded(t *testing.T) {
	const count = 50
	var released atomic.Int32
	c, connection, s := slowPeer(t, count, func() { released.Add(1) })
	since := time.Now()
	c.node.Close()
	if took := time.Since(since); took < lingerTime {
		t.Errorf("took %v, want %v at least", took, lingerTime)
	}
	if n := released.Load(); n != count {
		t.Errorf("%d messages are released, want %d", n, count)
	}
	if err := connection.send(gen.PID{}, etf.Tuple{control.OpSend}, nil, false); !errors.Is(err, ErrClosed) {
		t.Errorf("sending afterwards: %v", err)
	}
	if n, err := io.Copy(io.Discard, s); n >= count<<20 {
		t.Errorf("the peer got everything (%v)", err)
	}
}

// TestSendDialsNobody sends to a node that is not connected, though the port
// mapper knows it and it listens: the sender, which may serve a device, gets
// an error at once.
func TestSendDialsNobody(t *testing.T) {
	c := newCluster(t, "/", Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	known := make(chan uint32, 1)
	k := epmd.Keeper{
		Address:    c.epmd,
		Node:       epmd.Node{Name: "down", Port: uint16(l.Addr().(*net.TCPAddr).Port)},
		Report:     func(error) {},
		Registered: func(creation uint32) { known <- creation },
	}
	go k.Run(ctx)
	<-known
	pid := gen.PID{Node: "down@127.0.0.1", ID: 1, Creation: 1}
	name := gen.ProcessID{Node: "down@127.0.0.1", Name: "x"}
	for _, to := range []any{pid, name} {
		if err := c.node.Send(to, etf.Atom("hello")); !errors.Is(err, gen.ErrNoRoute) {
			t.Errorf("send to %v: %v, want %v", to, err, gen.ErrNoRoute)
		}
	}
	if err := c.node.Monitor(gen.PID{}, pid); !errors.Is(err, gen.ErrNoConnection) {
		t.Errorf("monitor: %v, want %v", err, gen.ErrNoConnection)
	}
	l.(*net.TCPListener).SetDeadline(time.Now().Add(100 * time.Millisecond))
	if s, err := l.Accept(); err == nil {
		s.Close()
		t.Error("the node was dialled")
	}
}
