package dist

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ergo.services/ergo"
	"ergo.services/ergo/gen"
	"ergo.services/ergo/node"
	"golang.org/x/time/rate"

	"nxvk/gen/etf"
	"nxvk/node/dist/adapt"
	"nxvk/node/dist/gate"
	"nxvk/node/dist/handshake"
	"nxvk/node/dist/inbox"
	"nxvk/node/dist/quota"
	"nxvk/node/dist/signals"
	"nxvk/node/dist/socket"
	"nxvk/node/epmd"
)

// Bounds where Options have none, in bytes.
const (
	DefaultMaxTerm  = 512 << 20
	DefaultMaxQueue = 256 << 20
	DefaultMaxHeld  = 1 << 30
)

// TLSConfig says how connections are encrypted: see socket.TLS.
type TLSConfig = socket.TLS

// Options say how a Node joins a cluster.
type Options struct {
	// Name is the node's full name, "nxvk@host".
	Name gen.Atom
	// Cookie is the secret that all nodes of the cluster share.
	Cookie string
	// Listen is the address to accept peers on; "127.0.0.1:0" where empty.
	Listen string
	// NoListen makes a node that only connects, and is not in epmd.
	NoListen bool
	// Epmd is the port mapper's address; epmd.DefaultAddress where empty.
	Epmd string
	// NoEpmd leaves the node unregistered. Peers then need to know the port.
	NoEpmd bool
	// ServeEpmd serves the port mapper here while nobody else does, at Epmd, and at
	// EpmdListen unless that is empty. Peers ask the port mapper of the
	// host in the node's name, so both must be reachable under that.
	ServeEpmd  bool
	EpmdListen string
	// TLS makes all connections those of -proto_dist inet_tls.
	TLS *TLSConfig
	// NetTickTime is after how long a silent peer is given up; 60 s where
	// zero, as in Erlang, and best the same as the peers'.
	NetTickTime time.Duration
	// MaxTerm bounds a message without its large binaries; 512 MiB where zero. A
	// longer one is Refused.
	MaxTerm int
	// MaxQueue bounds what waits for a peer that does not read; 256 MiB where
	// zero. Replies may exceed it by their large binaries. A peer for whom more
	// of their terms wait is cut off.
	MaxQueue int
	// MaxHeld bounds what a connection may have this node hold, large binaries
	// apart: arriving messages, decoded terms until they are handled, replies,
	// monitors and links; 1 GiB where zero. A message that goes beyond is Refused,
	// and a peer that does in another way is cut off.
	MaxHeld int64
	// Budget pays for what all connections hold. No bound where nil.
	Budget quota.Budget
	// Allocator provides the memory for large binaries. A pool that keeps
	// 256 MiB where nil.
	Allocator etf.Allocator
	// Ergo configures the rest of Ergo's node. Its Network is replaced.
	Ergo gen.NodeOptions
}

// Node is a running Ergo node on the Erlang distribution.
type Node struct {
	gen.Node

	options  Options
	counters Counters
	warnings *rate.Limiter // of what others can cause
	unsaid   atomic.Uint64 // warnings that were left out
	side     handshake.Side
	network  gen.Network   // Ergo's
	linger   time.Duration // lingerTime
	listener net.Listener
	gate     gate.Gate
	cancel   context.CancelFunc
	stopped  context.Context
	running  sync.WaitGroup

	registered chan error // the outcome of the first attempt

	inboxes inbox.Directory

	mu       sync.Mutex
	peers    map[gen.Atom]*peer
	adopting map[string]*adoption
}

// peer is one other node: at most one connection with it, and perhaps an attempt of ours
// to make one.
type peer struct {
	connection *Connection
	dialling   net.Conn // our attempt's socket
	attempt    bool
}

// Start starts an Ergo node called options.Name, listens and registers.
func Start(options Options) (*Node, error) {
	options.setDefaults()
	if err := handshake.CheckName(string(options.Name)); err != nil {
		return nil, err
	}
	if options.TLS != nil {
		if err := options.TLS.Load(); err != nil {
			return nil, err
		}
	}
	n := &Node{
		options:    options,
		linger:     lingerTime,
		warnings:   rate.NewLimiter(logRate, logBurst),
		registered: make(chan error, 1),
		peers:      make(map[gen.Atom]*peer),
		adopting:   make(map[string]*adoption),
	}
	n.stopped, n.cancel = context.WithCancel(context.Background())
	if !options.NoListen {
		l, err := net.Listen("tcp", options.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen for peers: %w", err)
		}
		n.listener = l
	}
	options.Ergo.Network = gen.NetworkOptions{
		Mode:      gen.NetworkModeHidden,
		Cookie:    options.Cookie,
		Registrar: adapt.Registrar{},
	}
	adapt.AwaitMinute()
	// Not ergo.StartNode: that adds an application that reports the node's
	// name and machine to a server of Ergo's makers every five minutes.
	started, err := node.Start(options.Name, options.Ergo, ergo.FrameworkVersion)
	if err != nil {
		if n.listener != nil {
			n.listener.Close()
		}
		return nil, fmt.Errorf("start node %s: %w", options.Name, err)
	}
	n.Node = started
	if err := n.open(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// open lets peers connect to the node that has started.
func (n *Node) open() error {
	if err := adapt.OrderCron(n.stopped, n.Node, n.running.Go); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	_, err := n.Spawn(func() gen.ProcessBehavior { return &drain{node: n} }, gen.ProcessOptions{})
	if err != nil {
		return fmt.Errorf("start node %s: %w", n.options.Name, err)
	}
	id := handshake.Identity{Name: string(n.options.Name), Flags: handshake.FlagsOffered, Creation: uint32(n.Creation())}
	n.side = handshake.Side{Self: id, Cookie: n.options.Cookie, Open: &handshake.Challenges{}}
	if n.network = n.Network(); n.network == nil { // stopped by a signal
		return ErrClosed
	}
	n.network.RegisterHandshake(adopter{n})
	n.network.RegisterProto(proto{n})
	if n.listener != nil {
		n.running.Go(n.accept)
		if !n.options.NoEpmd {
			n.running.Go(n.register)
		}
	}
	return nil
}

func (o *Options) setDefaults() {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Epmd == "" {
		o.Epmd = epmd.DefaultAddress()
	}
	if o.NetTickTime == 0 {
		o.NetTickTime = 60 * time.Second
	}
	if o.MaxTerm == 0 {
		o.MaxTerm = DefaultMaxTerm
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = DefaultMaxQueue
	}
	if o.MaxHeld == 0 {
		o.MaxHeld = DefaultMaxHeld
	}
	if o.Allocator == nil {
		o.Allocator = etf.NewPool(256 << 20)
	}
}

// register keeps the node registered with the port mapper, serving that too
// if asked, until the node is closed.
func (n *Node) register() {
	serve := ""
	if n.options.ServeEpmd {
		serve = cmp.Or(n.options.EpmdListen, n.options.Epmd)
	}
	short, _, _ := strings.Cut(string(n.options.Name), "@")
	k := epmd.Keeper{
		Address: n.options.Epmd,
		Serve:   serve,
		Node:    epmd.Node{Name: short, Port: uint16(n.Addr().(*net.TCPAddr).Port)},
		Report: func(err error) {
			n.warn("%v", err)
			n.setOutcome(err)
		},
		Registered: func(uint32) { n.setOutcome(nil) },
	}
	k.Run(n.stopped)
}

// setOutcome keeps the outcome of the first attempt to register.
func (n *Node) setOutcome(err error) {
	select {
	case n.registered <- err:
	default:
	}
}

// AwaitRegistered waits for the first attempt to register with the port
// mapper and returns why it failed. The node goes on trying either way. It is
// for one caller.
func (n *Node) AwaitRegistered(ctx context.Context) error {
	if n.listener == nil || n.options.NoEpmd {
		return nil
	}
	select {
	case err := <-n.registered:
		return err
	case <-n.stopped.Done():
		return net.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("register %s with epmd at %s: %w", n.options.Name, n.options.Epmd, ctx.Err())
	}
}

// Addr is the address that peers connect to, nil where there is none.
func (n *Node) Addr() net.Addr {
	if n.listener == nil {
		return nil
	}
	return n.listener.Addr()
}

// Counters returns the node's counters, which go on counting.
func (n *Node) Counters() *Counters { return &n.counters }

// Monitor has owner told by a gen.MessageDownPID when target, a process of a
// connected peer, ends or its node goes. Once for each pair.
func (n *Node) Monitor(owner, target gen.PID) error {
	c := n.connection(target.Node)
	if c == nil {
		return gen.ErrNoConnection
	}
	return c.addMonitor(signals.Outgoing{Owner: owner, Target: target})
}

// Demonitor undoes Monitor. It is no error when target is gone already.
func (n *Node) Demonitor(owner, target gen.PID) error {
	c := n.connection(target.Node)
	if c == nil {
		return nil
	}
	return c.removeMonitor(signals.Outgoing{Owner: owner, Target: target})
}

// Direct has messages of peers to a process of this node, by its pid or its
// name, put into an Inbox instead of the process's mailbox. Where the inbox is
// idle, the goroutine that has read the message from the socket handles it. The
// connection is read on meanwhile if that takes long.
//
// Messages have the forms of message.go. The inbox calls Handled for each message once
// it has been handled. The process stays what peers link to and monitor. stop undoes
// it; the inbox may be in use a moment longer.
func (n *Node) Direct(pid gen.PID, name gen.Atom, in Inbox) (stop func()) {
	return n.inboxes.Add(pid, name, in)
}

// Moved returns how many bytes have come from a peer, and gone to it. It reports false where there is no connection.
func (n *Node) Moved(name gen.Atom) (in, out uint64, connected bool) {
	c := n.connection(name)
	if c == nil {
		return 0, 0, false
	}
	return c.bytes.Load(), c.sent.Load(), true
}

// Cut ends the connection with a peer at once, and drops what waits for it: the memory of replies to a peer that hangs
// returns.
func (n *Node) Cut(name gen.Atom) {
	if c := n.connection(name); c != nil {
		c.close(ErrClosed)
	}
}

func (n *Node) connection(name gen.Atom) *Connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peers[name]; p != nil {
		return p.connection
	}
	return nil
}

// Close takes no more connections, has all processes end and peers told of it, and
// leaves the cluster. Messages that the processes have sent go out while peers read
// them, for two seconds at most. To stop Ergo's node is the same: see drain.
func (n *Node) Close() {
	n.shut()
	n.Node.Stop()
	n.running.Wait()
}

// shut keeps new connections from being made, and breaks off handshakes under way.
func (n *Node) shut() {
	n.cancel()
	if n.listener != nil {
		n.listener.Close()
	}
	n.gate.Shut()
}

// connections returns the connections that are not forgotten.
func (n *Node) connections() []*Connection {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*Connection
	for _, p := range n.peers {
		if p.connection != nil {
			all = append(all, p.connection)
		}
	}
	return all
}
