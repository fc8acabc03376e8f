package dist

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
			n.warnSome("accept a peer: %v", err)
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
	id, err := n.introduce(raw, func() (made *Connection, id identity, err error) {
		c, err := n.options.TLS.server(raw)
		if err != nil {
			return nil, id, err
		}
		var lacking error
		decide := func(peer string) string {
			if lacking = spareDescriptors(); lacking != nil {
				return statusNotAllowed
			}
			return n.decide(peer)
		}
		id, err = n.handshake.accept(c, decide, func(peer identity, status string) (err error) {
			made, err = n.admit(peer, status, c)
			return err
		})
		return made, id, cmp.Or(lacking, err)
	})
	if err != nil {
		n.failed(raw, id.name, err)
	}
}

// introduce has a socket's handshake done, within handshakeTime and until the node
// is shut, and begins the connection that comes of it. meet is the handshake; it
// returns the connection, which Ergo has by then, and who the peer says it is, both
// also beside an error. Whoever calls closes the socket then.
func (n *Node) introduce(raw net.Conn, meet func() (*Connection, identity, error)) (identity, error) {
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

// admit makes a connection of the socket of a peer that has proven itself, in the place
// of what there is with it: a connection that it has lost, an attempt of ours that it
// goes before.
func (n *Node) admit(id identity, status string, c net.Conn) (*Connection, error) {
	switch status {
	case statusAlive:
		if err := n.replace(id.name); err != nil {
			return nil, err
		}
	case statusSimultaneous:
		n.yield(id.name)
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

// leastDescriptors is how many file descriptors have to be left for another peer: a
// connection needs some for a moment, and the node does for what its peers ask.
const leastDescriptors = 4

// spareDescriptors says whether this process could open some more files.
func spareDescriptors() error {
	var err error
	var opened []*os.File
	for len(opened) < leastDescriptors && err == nil {
		var f *os.File
		if f, err = os.Open(os.DevNull); err == nil {
			opened = append(opened, f)
		}
	}
	for _, f := range opened {
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDescriptors, err)
	}
	return nil
}

// failed closes a socket whose handshake did not succeed, counts why and says so, except
// of those that never said a word, port scanners and health checks, and of those
// that had to give way to others. The name is what the peer claims.
func (n *Node) failed(c net.Conn, name string, err error) {
	c.Close()
	if errors.Is(err, ErrSimultaneous) || n.stopped.Err() != nil {
		return
	}
	n.counters.handshakes[handshakeReason(err)].Add(1)
	if errors.Is(err, ErrCookie) {
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
// give any name. Where both sides dial at the
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
