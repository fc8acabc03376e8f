package dist

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/node/dist/handshake"
	"nxvk/node/dist/socket/sockettest"
)

// stranger is a peer that speaks the handshake properly.
var stranger = handshake.Side{
	Self:   handshake.Identity{Name: "stranger@127.0.0.1", Flags: handshake.FlagsOffered, Creation: 1},
	Cookie: testCookie,
}

// TestNothingIsAdopted has peers connect with a node that has stopped, in both
// directions. They are refused and their sockets closed.
func TestNothingIsAdopted(t *testing.T) {
	for name, stop := range map[string]func(*Node){
		"closed":  (*Node).Close,
		"stopped": func(n *Node) { n.Node.Stop() },
		"killed":  func(n *Node) { n.Node.StopForce() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "/", Options{})
			network := c.node.Network()
			stop(c.node)
			ours, theirs := sockettest.Pair(t)
			if err := c.node.offer(&adoption{peer: stranger.Self, sock: ours}); err == nil {
				t.Error("a connection is adopted")
			}
			go stranger.Start(theirs, string(c.node.Name()))
			c.node.welcome(ours)
			if _, err := ours.Write([]byte{0}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("writing to a socket that is refused: %v", err)
			}
			if err := c.node.ConnectTo(gen.Atom(stranger.Self.Name), accepting(t)); err == nil {
				t.Error("connected")
			}
			if _, err := network.GetNode("nobody@127.0.0.1"); !errors.Is(err, gen.ErrNoRoute) {
				t.Errorf("a node that is not connected: %v, want %v", err, gen.ErrNoRoute)
			}
		})
	}
}

// accepting is the address of the stranger.
func accepting(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			go stranger.Accept(s, func(string) string { return handshake.StatusOK }, func(handshake.Identity, string) error { return nil })
		}
	}()
	return l.Addr().String()
}

// TestCloseEndsHandshakes closes the node while a peer that it has accepted says
// nothing, and one that it has dialled.
func TestCloseEndsHandshakes(t *testing.T) {
	c := newCluster(t, "/", Options{})
	in, err := net.Dial("tcp", c.node.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	await(t, "the peer is accepted", func() bool { return c.node.Counters().Accepted.Load() == 1 })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := make(chan error)
	go func() { out <- c.node.ConnectTo("mute@127.0.0.1", l.Addr().String()) }()
	mute, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	await(t, "the peer is dialled", func() bool {
		c.node.mu.Lock()
		defer c.node.mu.Unlock()
		return c.node.peers["mute@127.0.0.1"].dialling != nil
	})
	since := time.Now()
	c.node.Close()
	if err := <-out; !errors.Is(err, ErrClosed) {
		t.Errorf("connecting: %v, want %v", err, ErrClosed)
	}
	for _, s := range []net.Conn{in, mute} {
		if _, err := io.Copy(io.Discard, s); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(since); took >= handshakeTime {
		t.Errorf("took %v, as long as handshakes may", took)
	}
}

// TestCloseEndsAdoptions closes the node while a connection is between Ergo's table
// and being served: it ends before the node is closed.
func TestCloseEndsAdoptions(t *testing.T) {
	hold := &stall{at: "new connection with"}
	c := stalled(t, hold)
	closing := c.node.gate.IsShut
	hold.until.Store(&closing)
	s, err := net.Dial("tcp", c.node.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := stranger.Start(s, string(c.node.Name()))
		s.Close()
		ended <- err
	}()
	await(t, "the connection is in Ergo's table", func() bool { return len(c.node.Network().Nodes()) == 1 })
	c.node.Close()
	if n := c.node.connections(); len(n) > 0 {
		t.Errorf("%d connections are left", len(n))
	}
	if n := c.node.network.Nodes(); len(n) > 0 {
		t.Errorf("Ergo is left with %v", n)
	}
	if err := <-ended; err == nil {
		t.Error("the peer was told that it is connected")
	}
}

// TestAdoptedIsKnown wants a connection to be found as soon as it is adopted: what
// ends the connections of a node must miss none.
func TestAdoptedIsKnown(t *testing.T) {
	c := newCluster(t, "/", Options{})
	for range 50 {
		ours, theirs := sockettest.Pair(t)
		a := &adoption{peer: stranger.Self, sock: ours}
		if err := c.node.offer(a); err != nil {
			t.Fatal(err)
		}
		if got := c.node.connection(gen.Atom(stranger.Self.Name)); got != a.made {
			t.Fatalf("found %p, want %p", got, a.made)
		}
		close(a.made.begun)
		theirs.Close()
		<-a.made.gone
	}
}
