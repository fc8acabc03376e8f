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
	"nxvk/node/dist/adapt"
	"nxvk/node/dist/control"
	"nxvk/node/dist/handshake"
	"nxvk/node/dist/inbox"
	"nxvk/node/dist/packet"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
	"nxvk/node/dist/socket"
)

// Connection is a connection with one peer after the handshake. Ergo calls it
// as a gen.Connection for what actors do; its reader calls Ergo's core for
// what the peer does.
type Connection struct {
	adapt.Connection // messages without a counterpart in Erlang

	node *Node
	core gen.Core
	peer handshake.Identity
	name gen.Atom // of the peer
	sock net.Conn
	from io.Reader // the socket, see socket.SpinReader
	up   time.Time

	account *quota.Account
	reader  packet.Reader
	to      addressee // of the message that is being read
	writer  *packet.Writer
	bytes   atomic.Uint64 // received
	sent    atomic.Uint64 // bytes

	signals *signals.Table
	leader  inbox.Leader

	begun chan struct{} // closed when the handshake is over
	why   sync.Once     // sets cause
	cause error         // why it was closed
	slow  sync.Once     // counts that it was cut off
	once  sync.Once     // closes the socket
	gone  chan struct{} // closed when Ergo has forgotten it
	freed sync.Once     // closes gone
}

// lingerTime is how long a connection that we end goes on writing messages that were
// sent before, and waits until the peer has seen them. Node.linger has it; tests change
// that.
const lingerTime = 2 * time.Second

func newConnection(n *Node, core gen.Core, peer handshake.Identity, sock net.Conn) *Connection {
	c := &Connection{
		node: n,
		core: core,
		peer: peer,
		name: gen.Atom(peer.Name),
		sock: sock,
		up:   time.Now(),
		gone: make(chan struct{}),

		begun:   make(chan struct{}),
		account: quota.NewAccount(n.options.Budget, n.options.MaxHeld),
		signals: signals.NewTable(),
	}
	c.from = socket.SpinReader(sock, &c.sent)
	c.writer = packet.NewWriter(sock, packet.WriterOptions{
		Header:    peer.Flags&handshake.FlagDistHdrAtomCache != 0,
		Fragments: peer.Flags&handshake.FlagFragments != 0,
		MaxQueue:  n.options.MaxQueue,
		Account:   c.account,
		Sent: func(bytes int) {
			c.sent.Add(uint64(bytes))
			n.counters.BytesOut.Add(uint64(bytes))
		},
	})
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
		switch err := c.writer.Run(); {
		case err == nil:
			c.closeWrite()
		case !errors.Is(err, ErrClosed):
			c.close(fmt.Errorf("write: %w", err))
		}
		c.writer.Drain()
	})
	stop := make(chan struct{})
	running.Go(func() { c.keepAlive(stop) })

	c.reader = packet.Reader{
		Source:    c,
		Allocator: c.node.options.Allocator,
		MaxTerm:   c.node.options.MaxTerm,
		Lost:      &c.node.counters.Lost,
		Account:   c.account,
		Wanted:    c.wanted,
		Deliver:   c.deliver,
		Refuse:    c.refuse,
	}
	ended := make(chan error, 1)
	c.leader.Start(func() {
		if err := c.reader.Run(); err != inbox.ErrPromoted {
			ended <- err
		}
	})
	err := <-ended
	switch {
	case errors.Is(err, ErrOverLimit):
		c.node.counters.Exhausted.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	case errors.Is(err, packet.ErrMalformed), errors.Is(err, control.ErrMalformed), errors.Is(err, ErrTooLarge), errors.Is(err, control.ErrSender):
		c.node.counters.Malformed.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	}
	if err == io.EOF {
		err = fmt.Errorf("%w by the peer", ErrClosed)
	}
	c.close(err)
	close(stop)
	running.Wait()
	c.tellLoss()
	c.account.Close()
	return c.cause
}

// keepAlive sends a tick every quarter of the net tick time, unless something waits to be
// sent anyway. It closes the connection when nothing came for the whole net tick time. It
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
		c.writer.Tick()
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
	c.setCause(cause)
	c.once.Do(func() {
		c.writer.Close()
		c.sock.Close()
	})
}

// cutOff ends the connection with a peer that does not read, and so cannot be told.
func (c *Connection) cutOff(err error) {
	c.slow.Do(func() {
		c.node.counters.Slow.Add(1)
		c.node.warn("close the connection with %s: %v", c.name, err)
	})
	c.close(err)
}

// finish ends the connection once all messages that were sent have gone out. The writer
// tells the peer then that nothing more comes, and the reader sees that the peer has
// closed its side. To close the socket before that might lose bytes on their way.
func (c *Connection) finish(cause error) {
	c.setCause(cause)
	c.sock.SetDeadline(time.Now().Add(c.node.linger))
	c.writer.Finish()
}

// setCause keeps the first cause of the end.
func (c *Connection) setCause(cause error) {
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
	c.freed.Do(func() {
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
func (c *Connection) send(from gen.PID, message etf.Tuple, payload etf.Term, bounded bool) error {
	e := encoders.Get().(*etf.Encoder)
	defer encoders.Put(e)
	e.Reset()
	err := c.encode(e, message)
	if err == nil && payload != nil {
		err = c.encode(e, payload)
	}
	if err != nil {
		e.Drop()
		return fmt.Errorf("encode a message to %s: %w", c.name, err)
	}
	if err := c.writer.Queue(Pid(from), e, bounded); err != nil {
		e.Drop()
		if errors.Is(err, packet.ErrSlow) {
			c.cutOff(err)
		}
		return err
	}
	c.node.counters.MessagesOut.Add(1)
	return nil
}

func (c *Connection) encode(e *etf.Encoder, t etf.Term) error {
	if !c.writer.Header {
		e.Raw(etf.Version)
	}
	return e.Encode(t)
}
