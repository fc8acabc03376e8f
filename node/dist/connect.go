package dist

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/node/dist/handshake"
	"nxvk/node/epmd"
)

// Connect connects to the node called name, which the port mapper of its host
// knows, and returns when that is done. It is nil at once where a connection
// is up already.
func (n *Node) Connect(name gen.Atom) error {
	short, host, ok := strings.Cut(string(name), "@")
	if !ok {
		return fmt.Errorf("%w: node name %q", handshake.ErrMalformed, string(name))
	}
	_, port, err := net.SplitHostPort(n.options.Epmd)
	if err != nil {
		return fmt.Errorf("port mapper's address: %w", err)
	}
	found, err := epmd.Lookup(n.stopped, net.JoinHostPort(host, port), short)
	if err != nil {
		return fmt.Errorf("look up %s: %w", name, err)
	}
	return n.ConnectTo(name, net.JoinHostPort(host, strconv.Itoa(int(found.Port))))
}

// ConnectTo is Connect for a node whose address is known.
func (n *Node) ConnectTo(name gen.Atom, address string) error {
	if !n.gate.Enter() {
		return ErrClosed
	}
	defer n.gate.Leave()
	done, err := n.beginAttempt(name)
	if done || err != nil {
		return err
	}
	defer n.endAttempt(name)
	dialer := net.Dialer{Timeout: handshakeTime}
	raw, err := dialer.DialContext(n.stopped, "tcp", address)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", name, err)
	}
	n.mu.Lock()
	n.peers[name].dialling = raw
	n.mu.Unlock()
	_, err = n.introduce(raw, func() (*Connection, handshake.Identity, error) {
		c, err := n.options.TLS.Client(raw, name.Host())
		if err != nil {
			return nil, handshake.Identity{}, err
		}
		id, err := n.side.Start(c, string(name))
		if err != nil {
			return nil, id, err
		}
		made, err := n.adopt(id, c)
		return made, id, err
	})
	if err != nil {
		raw.Close()
		if n.awaitPeer(name, err) {
			return nil
		}
		return fmt.Errorf("connect to %s: %w", name, err)
	}
	return nil
}

// beginAttempt marks that we dial a peer. done says that there is a connection already.
func (n *Node) beginAttempt(name gen.Atom) (done bool, err error) {
	if name == n.options.Name {
		return false, fmt.Errorf("%w: connect to itself", gen.ErrNotAllowed)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peers[name]
	switch {
	case p == nil:
		n.peers[name] = &peer{attempt: true}
	case p.connection != nil:
		return true, nil
	case p.attempt:
		return false, handshake.ErrSimultaneous
	default:
		p.attempt = true
	}
	return false, nil
}

func (n *Node) endAttempt(name gen.Atom) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peers[name]
	p.attempt, p.dialling = false, nil
	if p.connection == nil {
		delete(n.peers, name)
	}
}

// awaitPeer waits for the connection that the peer makes where its attempt goes first.
func (n *Node) awaitPeer(name gen.Atom, err error) bool {
	if !errors.Is(err, handshake.ErrSimultaneous) && !errors.Is(err, net.ErrClosed) {
		return false
	}
	for range 70 {
		if n.connection(name) != nil {
			return true
		}
		select {
		case <-n.stopped.Done():
			return false
		case <-time.After(handshakeTime / 70):
		}
	}
	return false
}
