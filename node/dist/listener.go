package dist

import (
	"errors"
	"io"
	"net"
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
// its own goroutine, so a peer that stalls holds up nobody; while too many
// stall, new ones wait in the kernel's queue.
func (n *Node) accept() {
	slots := make(chan struct{}, maxHandshakes)
	for {
		slots <- struct{}{}
		c, err := n.listener.Accept()
		if err != nil {
			if n.stopped.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, most likely. Others may be given back.
			n.warn("accept a peer: %v", err)
			time.Sleep(100 * time.Millisecond)
			<-slots
			continue
		}
		n.counters.Accepted.Add(1)
		go func() {
			defer func() { <-slots }()
			n.welcome(c)
		}()
	}
}

// welcome does the handshake with a peer that dialled us.
func (n *Node) welcome(raw net.Conn) {
	raw.SetDeadline(time.Now().Add(handshakeTime))
	c, err := n.options.TLS.server(raw)
	if err != nil {
		n.failed(raw, "", err)
		return
	}
	id, err := n.handshake.accept(c, n.decide, n.replace)
	if err != nil {
		n.failed(c, id.name, err)
		return
	}
	c.SetDeadline(time.Time{})
	if _, err := n.adopt(id, c); err != nil {
		n.failed(c, id.name, err)
	}
}

// failed closes a socket whose handshake did not succeed and says so, except
// of those that never said a word: port scanners and health checks.
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
	if name == "" && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
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
	}
}

// closed says whether the connection is ending.
func (c *Connection) closed() bool {
	c.writer.mu.Lock()
	defer c.writer.mu.Unlock()
	return c.writer.closed || c.writer.ending
}
