package link

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

const (
	// Silence is how long a node may say nothing, and take nothing, while something waits for it. A node that works says
	// something, however busy it is: a goroutine that reads the connection answers.
	Silence = 750 * time.Millisecond
	// much is how many bytes a node has to take to count as alive: a few go into the buffer of a socket. While a node takes
	// a large value, what it says may wait behind that.
	much = 64 << 10
	// tick is the time between two looks at a connection.
	tick = 75 * time.Millisecond
)

// ServerName is the registered name of the process that answers other nodes.
const ServerName = gen.Atom("nxvk_peer")

// Alive is the call that asks for a sign of life.
const Alive = etf.Atom("alive")

// Links are the connections of this node to others, by name. The methods may be called from any goroutine.
type Links struct {
	options dist.Options
	self    gen.Atom // the name of this node

	mu     sync.Mutex
	node   *dist.Node // that dials; nil before the first use
	failed error      // why it could not be started
	links  map[gen.Atom]*link
	slots  *devcopy.Slots
	closed bool
}

// New returns the links of a node. Of the options those of names and proof count: the name of the node that dials is
// made from options.Name.
func New(options dist.Options) *Links {
	l := &Links{options: options, self: options.Name, links: make(map[gen.Atom]*link), slots: devcopy.NewSlots()}
	l.options.NoListen, l.options.ServeEpmd = true, false
	if options.Allocator == nil {
		l.options.Allocator = etf.NewPool(64 << 20)
	}
	l.options.Allocator = &allocator{slots: l.slots, other: l.options.Allocator}
	return l
}

// Self is the name of this node.
func (l *Links) Self() gen.Atom { return l.self }

// Close ends the connections, and all that waits for an answer.
func (l *Links) Close() {
	l.mu.Lock()
	l.closed = true
	n, all := l.node, l.links
	l.links = nil
	l.mu.Unlock()
	for _, k := range all {
		k.end(down("this node stops"))
	}
	if n != nil {
		n.Close()
	}
	l.slots.Close()
}

// start starts the node that dials, once. mu is held.
func (l *Links) start() (*dist.Node, error) {
	switch {
	case l.closed:
		return nil, down("this node stops")
	case l.node != nil || l.failed != nil:
		return l.node, l.failed
	}
	var b [6]byte
	rand.Read(b[:])
	o := l.options
	o.Name = gen.Atom(fmt.Sprintf("nxvk_link_%s@%s", hex.EncodeToString(b[:]), l.self.Host()))
	o.Ergo.Log.DefaultLogger.Disable = true
	l.node, l.failed = dist.Start(o)
	return l.node, l.failed
}

// to returns the link to a node, and begins to connect where there is none.
func (l *Links) to(name gen.Atom) (*link, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.start()
	if err != nil {
		return nil, err
	}
	k := l.links[name]
	if k == nil {
		k = &link{all: l, node: n, name: name, calls: make(map[*call]bool), watchers: make(map[*watcher]bool)}
		l.links[name] = k
		go k.connect()
	}
	return k, nil
}

// Watch calls ended once, where the node ends or falls silent before stop is called.
func (l *Links) Watch(name string, ended func(error)) (stop func()) {
	w := &watcher{ended: ended}
	k, err := l.to(gen.Atom(name))
	if err != nil {
		go ended(err)
		return func() {}
	}
	if !k.add(func() { k.watchers[w] = true }) {
		go ended(k.reason())
		return func() {}
	}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.watchers, w)
	}
}

// down is the error of a node that cannot be reached any more.
func down(format string, args ...any) error {
	return &wire.Fault{Kind: wire.ServerDown, Err: fmt.Errorf(format, args...)}
}

// link is the connection to a node, from the attempt to make it on.
type link struct {
	all  *Links
	node *dist.Node
	name gen.Atom

	mu       sync.Mutex
	up       bool
	err      error    // why it has ended
	waiting  []func() // what is sent once it is up
	calls    map[*call]bool
	watchers map[*watcher]bool
	watched  bool // a goroutine looks after it
}

// watcher is told of the end of a link.
type watcher struct{ ended func(error) }

func (k *link) connect() {
	err := k.node.Connect(k.name)
	k.mu.Lock()
	if err != nil {
		k.mu.Unlock()
		k.end(down("cannot connect to the node %s: %w", k.name, err))
		return
	}
	k.up = true
	list := k.waiting
	k.waiting = nil
	for _, send := range list {
		send()
	}
	k.mu.Unlock()
}

// add has note take something down that waits for the node. It reports false where the link has ended.
func (k *link) add(note func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return false
	}
	note()
	if !k.watched {
		k.watched = true
		go k.watch()
	}
	return true
}

// reason is why the link has ended.
func (k *link) reason() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// send calls f once the link is up, with the lock, so that messages stay in order.
func (k *link) send(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.err != nil:
	case k.up:
		f()
	default:
		k.waiting = append(k.waiting, f)
	}
}

// watch looks after the connection while something waits for the node.
func (k *link) watch() {
	var pinger *Client
	defer func() {
		if pinger != nil {
			pinger.Close()
		}
	}()
	var seen, taken uint64
	heard := time.Now()
	asked, last := heard, heard
	for ; ; time.Sleep(tick) {
		k.mu.Lock()
		if k.err != nil || len(k.calls) == 0 && len(k.watchers) == 0 {
			k.watched = false
			k.mu.Unlock()
			return
		}
		up := k.up
		k.mu.Unlock()
		now := time.Now()
		if late := now.Sub(last) - tick; late > tick {
			heard = heard.Add(late) // this process has not run, so it could not hear
		}
		last = now
		if !up { // to connect has a time of its own
			heard = now
			continue
		}
		in, out, connected := k.node.Moved(k.name)
		switch {
		case !connected:
			k.end(down("the connection to the node %s has ended", k.name))
			return
		case in != seen || out-taken > much:
			seen, taken, heard = in, out, now
		case now.Sub(heard) > Silence:
			k.end(down("the node %s has said nothing for %v", k.name, Silence))
			k.node.Cut(k.name)
			return
		}
		if now.Sub(asked) < Silence/3 {
			continue
		}
		asked = now
		if pinger == nil {
			if pinger, _ = k.all.client(k); pinger == nil {
				continue
			}
		}
		pinger.send(gen.ProcessID{Name: ServerName, Node: k.name}, pinger.callTerm(0, Alive))
	}
}

// end ends the link: what waits for the node has the error.
func (k *link) end(err error) {
	k.all.mu.Lock()
	if k.all.links[k.name] == k {
		delete(k.all.links, k.name)
	}
	k.all.mu.Unlock()
	k.mu.Lock()
	if k.err != nil {
		k.mu.Unlock()
		return
	}
	k.err = err
	calls, watchers := k.calls, k.watchers
	k.calls, k.watchers, k.waiting = nil, nil, nil
	k.mu.Unlock()
	for c := range calls {
		c.finish(nil, err)
	}
	for w := range watchers {
		w.ended(err)
	}
}
