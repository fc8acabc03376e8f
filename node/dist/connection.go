package dist

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
)

// Connection is a connection with one peer after the handshake. Ergo calls it
// as a gen.Connection for what actors do; its reader calls Ergo's core for
// what the peer does.
type Connection struct {
	unsupported // what Erlang has no counterpart for

	node *Node
	core gen.Core
	peer identity
	name gen.Atom // of the peer
	sock net.Conn
	from io.Reader // the socket, see lookout
	up   time.Time

	account *account
	reader  reader
	to      addressee // of the message that is being read
	writer  *writer
	bytes   atomic.Uint64 // received

	signals signals
	relay   relay

	begun chan struct{} // closed when the handshake is over
	why   sync.Once     // sets cause
	cause error         // why it was closed
	slow  sync.Once     // counts that it was cut off
	once  sync.Once     // closes the socket
	gone  chan struct{} // closed when Ergo has forgotten it
	gate  sync.Once     // closes gone
}

// lingerTime is for how long a connection that we end goes on writing what was
// sent before, and waits for the peer to have seen it. It is Node.linger, which
// tests change.
const lingerTime = 2 * time.Second

func newConnection(n *Node, core gen.Core, peer identity, sock net.Conn) *Connection {
	c := &Connection{
		node: n,
		core: core,
		peer: peer,
		name: gen.Atom(peer.name),
		sock: sock,
		from: lookout(sock),
		up:   time.Now(),
		gone: make(chan struct{}),

		begun:   make(chan struct{}),
		account: newAccount(n.options.Budget, n.options.MaxHeld),
	}
	c.writer = newWriter(sock, peer.flags, n.options.MaxQueue, func(bytes int) {
		n.counters.BytesOut.Add(uint64(bytes))
	})
	c.writer.account = c.account
	c.signals.init()
	return c
}

// Read counts what comes from the socket, for the ticker and the metrics.
func (c *Connection) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes.Add(uint64(n))
	c.node.counters.BytesIn.Add(uint64(n))
	return n, err
}

// serve runs the connection until it ends and says why. Ergo calls it before the peer
// has the last word of the handshake: a peer is told that it is connected when it is.
func (c *Connection) serve() error {
	<-c.begun
	c.node.counters.Connections.Add(1)
	defer c.node.counters.Connections.Add(-1)
	var running sync.WaitGroup
	running.Go(func() {
		switch err := c.writer.run(); {
		case err == nil:
			c.closeWrite()
		case !errors.Is(err, ErrClosed):
			c.close(fmt.Errorf("write: %w", err))
		}
		c.writer.drain()
	})
	stop := make(chan struct{})
	running.Go(func() { c.keepAlive(stop) })

	c.reader = reader{
		src:       c,
		allocator: c.node.options.Allocator,
		maxTerm:   c.node.options.MaxTerm,
		lost:      &c.node.counters.Lost,
		account:   c.account,
		wanted:    c.wanted,
		deliver:   c.deliver,
		refuse:    c.refuse,
	}
	ended := make(chan error, 1)
	c.relay.start(func() {
		if err := c.reader.run(); err != errRelieved {
			ended <- err
		}
	})
	err := <-ended
	switch {
	case errors.Is(err, ErrOverLimit):
		c.node.counters.Exhausted.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrTooLarge), errors.Is(err, ErrSender):
		c.node.counters.Malformed.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	}
	if err == io.EOF {
		err = fmt.Errorf("%w by the peer", ErrClosed)
	}
	c.close(err)
	close(stop)
	running.Wait()
	c.signals.down(c)
	c.account.close()
	return c.cause
}

// keepAlive sends a tick every quarter of the net tick time, unless something
// waits to be sent anyway, and closes when nothing came for all of it. It
// depends on no other goroutine, so it goes on whatever they are busy with.
func (c *Connection) keepAlive(stop chan struct{}) {
	period := c.node.options.NetTickTime / 4
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	seen, silent := c.bytes.Load(), 0
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		c.writer.tick()
		if now := c.bytes.Load(); now != seen {
			seen, silent = now, 0
			continue
		}
		if silent++; silent >= 4 {
			c.node.counters.Silent.Add(1)
			c.close(ErrTick)
			return
		}
	}
}

// close ends the connection; the reader and the writer notice.
func (c *Connection) close(cause error) {
	c.because(cause)
	c.once.Do(func() {
		c.writer.close()
		c.sock.Close()
	})
}

// cutOff ends the connection with a peer that does not read. It cannot be told: what
// it would have to read first is what it does not read.
func (c *Connection) cutOff(err error) {
	c.slow.Do(func() {
		c.node.counters.Slow.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	})
	c.close(err)
}

// finish ends the connection once what was sent has gone out: the writer says
// so to the peer when that is done, and the reader sees the peer's end of the
// connection. To close the socket before might take back what is on its way.
func (c *Connection) finish(cause error) {
	c.because(cause)
	c.sock.SetDeadline(time.Now().Add(c.node.linger))
	c.writer.finish()
}

func (c *Connection) because(cause error) {
	c.why.Do(func() { c.cause = cause })
}

// closeWrite tells the peer that nothing more comes.
func (c *Connection) closeWrite() {
	half, ok := c.sock.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		c.close(ErrClosed)
	}
}

// Terminate ends the connection. Ergo calls it when it has forgotten a
// connection that is no longer served, and when the node stops by force.
func (c *Connection) Terminate(reason error) {
	c.close(cmp.Or(reason, ErrClosed))
	c.gate.Do(func() {
		c.node.forget(c)
		close(c.gone)
	})
}

// Join is called once when Ergo has the connection in its table, before it is
// served. The socket is only what Ergo dialled to get there.
func (c *Connection) Join(net.Conn, string, gen.NetworkDial, []byte) error {
	c.node.enter(c)
	return nil
}

// Node describes the peer.
func (c *Connection) Node() gen.RemoteNode { return (*remoteNode)(c) }

// encoders are shared by all connections; encoding takes place in the
// sender's goroutine.
var encoders = sync.Pool{New: func() any { return &etf.Encoder{Convert: convert} }}

// send encodes and queues a control message and, unless it is nil, a payload.
func (c *Connection) send(from gen.PID, control etf.Tuple, payload etf.Term, bounded bool) error {
	e := encoders.Get().(*etf.Encoder)
	defer encoders.Put(e)
	e.Reset()
	err := c.encode(e, control)
	if err == nil && payload != nil {
		err = c.encode(e, payload)
	}
	if err != nil {
		e.Drop()
		return fmt.Errorf("encode a message to %s: %w", c.name, err)
	}
	if err := c.writer.queue(from, e, bounded); err != nil {
		e.Drop()
		if errors.Is(err, ErrSlow) {
			c.cutOff(err)
		}
		return err
	}
	c.node.counters.MessagesOut.Add(1)
	return nil
}

func (c *Connection) encode(e *etf.Encoder, t etf.Term) error {
	if !c.writer.header {
		e.Raw(etf.Version)
	}
	return e.Encode(t)
}
