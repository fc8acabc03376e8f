package dist

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/node/dist/gate"
	"nxvk/node/dist/handshake"
	"nxvk/node/dist/socket"
)

const (
	// handshakeTime is how long a peer may take to introduce itself; the same
	// as net_setuptime in Erlang.
	handshakeTime = 7 * time.Second
	// maxPending bounds the sockets that have not introduced themselves.
	maxPending = 256
)

// accept takes connections until the listener is closed. Each handshake has
// its own goroutine, so a peer that stalls holds up nobody.
func (n *Node) accept() {
	pending := gate.Pending{Max: maxPending}
	for {
		c, err := n.listener.Accept()
		if err != nil {
			if n.stopped.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, most likely. Others may be given back.
			n.warnSome("accept a peer: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if !n.gate.Enter() {
			c.Close()
			return
		}
		n.counters.Accepted.Add(1)
		remove := pending.Add(c)
		go func() {
			defer n.gate.Leave()
			defer remove()
			n.welcome(c)
		}()
	}
}

// welcome does the handshake with a peer that dialled us.
func (n *Node) welcome(raw net.Conn) {
	id, err := n.introduce(raw, func() (made *Connection, id handshake.Identity, err error) {
		c, err := n.options.TLS.Server(raw)
		if err != nil {
			return nil, id, err
		}
		var lacking error
		decide := func(peer string) string {
			if lacking = socket.CheckDescriptors(); lacking != nil {
				return handshake.StatusNotAllowed
			}
			return n.decide(peer)
		}
		id, err = n.side.Accept(c, decide, func(peer handshake.Identity, status string) (err error) {
			if made, err = n.admit(peer, status, c); err == nil && n.stopped.Err() != nil {
				err = ErrClosed // the socket may not be closed yet, and the peer would be told that it is connected
			}
			return err
		})
		return made, id, cmp.Or(lacking, err)
	})
	if err != nil {
		n.fail(raw, id.Name, err)
	}
}

// introduce does the handshake on a socket, within handshakeTime and before the node is
// shut, and begins the connection that comes of it. meet is the handshake. It returns the
// connection, which Ergo has by then, and who the peer says it is, both also beside an
// error. On an error the caller closes the socket.
func (n *Node) introduce(raw net.Conn, meet func() (*Connection, handshake.Identity, error)) (handshake.Identity, error) {
	raw.SetDeadline(time.Now().Add(handshakeTime))
	lift := context.AfterFunc(n.stopped, func() { raw.Close() })
	c, id, err := meet()
	if !lift() {
		err = ErrClosed
	}
	if c == nil {
		return id, err
	}
	if err != nil {
		c.close(err)
	} else {
		c.sock.SetDeadline(time.Time{})
	}
	close(c.begun)
	return id, err
}

// admit makes a connection of the socket of a peer that has proven itself. It replaces
// a connection that the peer has lost, and ends an attempt of ours where the peer's goes
// first.
func (n *Node) admit(id handshake.Identity, status string, c net.Conn) (*Connection, error) {
	switch status {
	case handshake.StatusAlive:
		if err := n.replace(id.Name); err != nil {
			return nil, err
		}
	case handshake.StatusSimultaneous:
		n.yield(id.Name)
	}
	return n.adopt(id, c)
}

// yield ends our attempt to connect to a peer.
func (n *Node) yield(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peers[gen.Atom(name)]; p != nil && p.dialling != nil {
		p.dialling.Close()
	}
}

// fail closes a socket whose handshake did not succeed, and counts and logs why. It
// does not log sockets that never said a word, such as those of port scanners and health
// checks, nor those that had to give way to others. The name is the peer's claim.
func (n *Node) fail(c net.Conn, name string, err error) {
	c.Close()
	if errors.Is(err, handshake.ErrSimultaneous) || n.stopped.Err() != nil {
		return
	}
	n.counters.handshakes[handshakeReason(err)].Add(1)
	if errors.Is(err, handshake.ErrCookie) {
		n.counters.Refused.Add(1)
		n.warnSome("refuse %.80q at %s: its cookie is not ours", name, c.RemoteAddr())
		return
	}
	n.counters.Failed.Add(1)
	silent := name == "" && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
	if silent || errors.Is(err, net.ErrClosed) {
		return
	}
	n.warnSome("handshake with %.80q at %s: %v", name, c.RemoteAddr(), err)
}

// decide answers a peer that introduced itself. It changes nothing, since anybody may
// give any name. Where both sides dial at the same time, the attempt of the node with
// the greater name counts.
func (n *Node) decide(name string) string {
	if name == string(n.options.Name) {
		return handshake.StatusNotAllowed
	}
	n.mu.Lock()
	p := n.peers[gen.Atom(name)]
	var closing *Connection
	status := handshake.StatusOK
	switch {
	case p == nil:
	case p.connection != nil:
		status = handshake.StatusAlive
		if p.connection.writer.Closed() {
			closing = p.connection
		}
	case p.attempt && string(n.options.Name) > name:
		status = handshake.StatusNok
	case p.attempt:
		status = handshake.StatusSimultaneous
	}
	n.mu.Unlock()
	if closing != nil && n.awaitGone(closing) {
		return handshake.StatusOK
	}
	return status
}

// replace ends the connection that a peer says it has lost.
func (n *Node) replace(name string) error {
	c := n.connection(gen.Atom(name))
	if c == nil {
		return nil
	}
	c.close(ErrReplaced)
	if !n.awaitGone(c) {
		return handshake.ErrRefused
	}
	return nil
}

// awaitGone waits until Ergo has forgotten a connection that is closed.
func (n *Node) awaitGone(c *Connection) bool {
	select {
	case <-c.gone:
		return true
	case <-time.After(handshakeTime / 2):
		return false
	case <-n.stopped.Done():
		return false
	}
}
