package dist

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"ergo.services/ergo/gen"
)

const (
	// handshakeTime is how long a peer may take to introduce itself; the same
	// as net_setuptime in Erlang.
	handshakeTime = 7 * time.Second
	// maxHandshakes bounds the sockets that have not introduced themselves.
	maxHandshakes = 256
)

// accept takes connections until the listener is closed. Each handshake has
// its own goroutine, so a peer that stalls holds up nobody.
func (n *Node) accept() {
	var l lobby
	for {
		c, err := n.listener.Accept()
		if err != nil {
			if n.stopped.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, most likely. Others may be given back.
			n.warn("accept a peer: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if !n.door.enter() {
			c.Close()
			return
		}
		n.counters.Accepted.Add(1)
		leave := l.enter(c)
		go func() {
			defer n.door.leave()
			defer leave()
			n.welcome(c)
		}()
	}
}

// lobby is the sockets that have not introduced themselves. There are never more
// than maxHandshakes: a new one takes the place of the oldest, which is the least
// likely to be a node, for those introduce themselves within milliseconds.
type lobby struct {
	mu      sync.Mutex
	waiting list.List // of net.Conn, the oldest first
}

// enter adds a socket. leave takes it out again.
func (l *lobby) enter(c net.Conn) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len() == maxHandshakes {
		l.waiting.Remove(l.waiting.Front()).(net.Conn).Close()
	}
	e := l.waiting.PushBack(c)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting.Remove(e)
	}
}

// welcome does the handshake with a peer that dialled us.
func (n *Node) welcome(raw net.Conn) {
	id, err := n.introduce(raw, func() (net.Conn, identity, error) {
		c, err := n.options.TLS.server(raw)
		if err != nil {
			return nil, identity{}, err
		}
		id, err := n.handshake.accept(c, n.decide, n.replace)
		return c, id, err
	})
	if err != nil {
		n.failed(raw, id.name, err)
	}
}

// introduce has a socket's handshake done, within handshakeTime and until the node
// is shut, and adopts the connection that comes of it. meet is the handshake; it
// returns what the connection goes over, which is the socket or TLS on it, and who
// the peer says it is, also beside an error. Whoever calls closes the socket then.
func (n *Node) introduce(raw net.Conn, meet func() (net.Conn, identity, error)) (identity, error) {
	raw.SetDeadline(time.Now().Add(handshakeTime))
	lift := context.AfterFunc(n.stopped, func() { raw.Close() })
	c, id, err := meet()
	if !lift() {
		return id, ErrClosed
	}
	if err != nil {
		return id, err
	}
	c.SetDeadline(time.Time{})
	return id, n.adopt(id, c)
}

// failed closes a socket whose handshake did not succeed and says so, except
// of those that never said a word, port scanners and health checks, and of those
// that had to give way to others.
func (n *Node) failed(c net.Conn, name string, err error) {
	c.Close()
	switch {
	case errors.Is(err, ErrSimultaneous), n.stopped.Err() != nil:
		return
	case errors.Is(err, ErrCookie):
		n.counters.Refused.Add(1)
		n.warn("refuse %s at %s: its cookie is not ours", name, c.RemoteAddr())
		return
	}
	n.counters.Failed.Add(1)
	silent := name == "" && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
	if silent || errors.Is(err, net.ErrClosed) {
		return
	}
	n.warn("handshake with %s at %s: %v", name, c.RemoteAddr(), err)
}

// decide answers a peer that introduced itself. Where both sides dial at the
// same time, the attempt of the node with the greater name counts.
func (n *Node) decide(name string) string {
	if name == string(n.options.Name) {
		return statusNotAllowed
	}
	n.mu.Lock()
	p := n.peers[gen.Atom(name)]
	var closing *Connection
	status := statusOK
	switch {
	case p == nil:
	case p.connection != nil:
		status = statusAlive
		if p.connection.closed() {
			closing = p.connection
		}
	case p.attempt && string(n.options.Name) > name:
		status = statusNok
	case p.attempt:
		status = statusSimultaneous
		if p.dialling != nil {
			p.dialling.Close()
		}
	}
	n.mu.Unlock()
	if closing != nil && n.awaitGone(closing) {
		return statusOK
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
		return ErrRefused
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

// closed says whether the connection is ending.
func (c *Connection) closed() bool {
	c.writer.mu.Lock()
	defer c.writer.mu.Unlock()
	return c.writer.closed || c.writer.ending
}
