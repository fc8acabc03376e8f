package dist

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/node/dist/handshake"
	"nxvk/node/dist/socket"
)

// Ergo has no call to enter a connection into its table. It only makes connections
// itself, by dialling. So Ergo is made to dial the adoption socket, a listener that
// exists for that moment, and the handshake that it starts there returns the connection
// that is ready instead of talking.

var (
	handshakeVersion = gen.Version{Name: "nxvk-adopt", Release: "R1"}
	protoVersion     = gen.Version{Name: "erlang-dist", Release: "R6"}
)

// adoption is a connection on its way into Ergo's table.
type adoption struct {
	peer handshake.Identity
	sock net.Conn
	made *Connection
}

// adopt gives the socket of a peer that has proven itself to Ergo, which has the
// connection in its table then. It is served once it has begun.
func (n *Node) adopt(id handshake.Identity, sock net.Conn) (*Connection, error) {
	socket.Tune(sock)
	var err error
	for range 20 {
		a := &adoption{peer: id, sock: sock}
		if err = n.offer(a); err == nil {
			return a.made, nil
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			err = fmt.Errorf("%w: %w", socket.ErrDescriptors, err)
		}
		// An earlier connection with the peer is still being forgotten.
		select {
		case <-n.stopped.Done():
			return nil, ErrClosed
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil, err
}

func (n *Node) offer(a *adoption) error {
	adoptionSocket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("adopt a connection: %w", err)
	}
	defer adoptionSocket.Close()
	token := rand.Text()
	n.mu.Lock()
	n.adopting[token] = a
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.adopting, token)
		n.mu.Unlock()
	}()
	address := adoptionSocket.Addr().(*net.TCPAddr)
	remote, err := n.network.GetNodeWithRoute(gen.Atom(a.peer.Name), gen.NetworkRoute{
		Route: gen.Route{
			Host:             address.IP.String(),
			Port:             uint16(address.Port),
			HandshakeVersion: handshakeVersion,
			ProtoVersion:     protoVersion,
		},
		Cookie: token,
	})
	if err != nil {
		return fmt.Errorf("adopt a connection: %w", err)
	}
	if r, ok := remote.(*remoteNode); !ok || (*Connection)(r) != a.made {
		return fmt.Errorf("adopt a connection: %w", gen.ErrTaken)
	}
	return nil
}

// adopter is the handshake that Ergo starts.
type adopter struct {
	node *Node
}

func (a adopter) Version() gen.Version           { return handshakeVersion }
func (a adopter) NetworkFlags() gen.NetworkFlags { return gen.NetworkFlags{} }

func (a adopter) Start(_ gen.NodeHandshake, adoptionSocket net.Conn, options gen.HandshakeOptions) (gen.HandshakeResult, error) {
	adoptionSocket.Close()
	a.node.mu.Lock()
	offered := a.node.adopting[options.Cookie]
	a.node.mu.Unlock()
	if offered == nil {
		return gen.HandshakeResult{}, gen.ErrNotAllowed
	}
	return gen.HandshakeResult{
		HandshakeVersion: handshakeVersion,
		Peer:             gen.Atom(offered.peer.Name),
		PeerCreation:     int64(offered.peer.Creation),
		PeerVersion:      gen.Version{Name: "erlang"},
		Custom:           offered,
	}, nil
}

func (a adopter) Accept(gen.NodeHandshake, net.Conn, gen.HandshakeOptions) (gen.HandshakeResult, error) {
	return gen.HandshakeResult{}, gen.ErrUnsupported
}

func (a adopter) Join(gen.NodeHandshake, net.Conn, string, gen.HandshakeOptions) ([]byte, error) {
	return nil, gen.ErrUnsupported
}

// proto is the protocol that Ergo runs on an adopted connection.
type proto struct {
	node *Node
}

func (p proto) Version() gen.Version { return protoVersion }

func (p proto) NewConnection(core gen.Core, result gen.HandshakeResult, _ gen.Log) (gen.Connection, error) {
	offered, ok := result.Custom.(*adoption)
	if !ok {
		return nil, gen.ErrUnsupported
	}
	offered.made = newConnection(p.node, core, offered.peer, offered.sock)
	return offered.made, nil
}

// Serve runs after Ergo has entered the connection into its table.
func (p proto) Serve(connection gen.Connection, _ gen.NetworkDial) error {
	return connection.(*Connection).serve()
}

// enter makes the connection findable for Monitor and for later handshakes.
func (n *Node) enter(c *Connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peers[c.name]
	if p == nil {
		p = &peer{}
		n.peers[c.name] = p
	}
	p.connection = c
}

// forget removes it again.
func (n *Node) forget(c *Connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peers[c.name]
	if p == nil || p.connection != c {
		return
	}
	p.connection = nil
	if !p.attempt {
		delete(n.peers, c.name)
	}
}
