package link

import (
	"fmt"
	"sync"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

// Client is a process that calls servers of one other node. Its sessions there end with it.
type Client struct {
	link  *link
	actor *agent
	pid   gen.PID
	stop  func()

	mu     sync.Mutex
	serial int64
	calls  map[int64]*call
	closed bool
}

// call is one that waits for its answer.
type call struct {
	link *link
	once sync.Once
	done func(etf.Term, error)
}

// finish ends a call.
func (c *call) finish(reply etf.Term, err error) {
	c.once.Do(func() {
		c.link.mu.Lock()
		delete(c.link.calls, c)
		c.link.mu.Unlock()
		c.done(reply, err)
	})
}

// agent is the actor of a Client. Its messages go to the Client directly.
type agent struct{ act.Actor }

// Init survives the ends of others.
func (a *agent) Init(...any) error {
	a.SetTrapExit(true)
	return nil
}

// Client returns a process that calls servers of a node.
func (l *Links) Client(name string) (*Client, error) {
	k, err := l.to(gen.Atom(name))
	if err != nil {
		return nil, err
	}
	return l.client(k)
}

func (l *Links) client(k *link) (*Client, error) {
	c := &Client{link: k, actor: &agent{}, calls: make(map[int64]*call)}
	var err error
	if c.pid, err = k.node.Spawn(func() gen.ProcessBehavior { return c.actor }, gen.ProcessOptions{}); err != nil {
		return nil, fmt.Errorf("start a process for %s: %w", k.name, err)
	}
	c.stop = k.node.Direct(c.pid, gen.Atom(c.pid.String()), (*replies)(c))
	return c, nil
}

// Ended reports whether the link to the node has ended.
func (c *Client) Ended() bool { return c.link.reason() != nil }

// Close ends the process. Calls that wait get no answer.
func (c *Client) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()
	for _, x := range calls {
		c.link.mu.Lock()
		delete(c.link.calls, x)
		c.link.mu.Unlock()
	}
	c.stop()
	c.link.node.Kill(c.pid)
}

// Send sends a message to a server.
func (c *Client) Send(server string, message etf.Term) {
	c.send(gen.ProcessID{Name: gen.Atom(server), Node: c.link.name}, message)
}

// Call calls a server. done is called once, on any goroutine, with what the server answers as {ok, Reply}, or with the
// error; not after Close.
func (c *Client) Call(server string, request etf.Term, done func(etf.Term, error)) {
	x := &call{link: c.link, done: done}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.serial++
	serial := c.serial
	c.calls[serial] = x
	c.mu.Unlock()
	if !c.link.add(func() { c.link.calls[x] = true }) {
		x.finish(nil, c.link.reason())
		return
	}
	c.send(gen.ProcessID{Name: gen.Atom(server), Node: c.link.name}, c.callTerm(serial, request))
}

// callTerm is a call of gen_server.
func (c *Client) callTerm(serial int64, request etf.Term) etf.Term {
	return etf.Tuple{etf.Atom("$gen_call"), etf.Tuple{dist.Pid(c.pid), serial}, request}
}

func (c *Client) send(to gen.ProcessID, message etf.Term) {
	c.link.send(func() {
		if err := c.actor.Send(to, dist.Message{Term: message}); err != nil {
			go c.link.end(down("send to the node %s: %w", c.link.name, err))
		}
	})
}

// replies is a Client as the inbox of its process.
type replies Client

// Put implements dist.Inbox: an answer is handled by the goroutine that has read it.
func (r *replies) Put(message any) (run bool) {
	defer dist.Handled(message)
	c := (*Client)(r)
	m, ok := message.(dist.Message)
	if !ok {
		return false
	}
	t, ok := m.Term.(etf.Tuple)
	if !ok || len(t) != 2 {
		return false
	}
	serial, _ := t[0].(int64)
	c.mu.Lock()
	x := c.calls[serial]
	delete(c.calls, serial)
	c.mu.Unlock()
	if x == nil {
		drop(t[1])
		return false
	}
	x.finish(answer(t[1]))
	return false
}

// Run implements dist.Inbox.
func (r *replies) Run() {}

// answer is the reply of {ok, Reply}, or the error of {error, {Kind, Op, Operands, Message}}.
func answer(t etf.Term) (etf.Term, error) {
	if t == etf.Term(wire.OK) {
		return nil, nil
	}
	tuple, ok := t.(etf.Tuple)
	switch {
	case ok && len(tuple) == 2 && tuple[0] == etf.Term(etf.Atom("ok")):
		return tuple[1], nil
	case ok && len(tuple) == 2 && tuple[0] == etf.Term(etf.Atom("error")):
		return nil, wire.ReadError(tuple[1])
	}
	drop(t)
	return nil, &wire.Fault{Kind: wire.Internal, Err: fmt.Errorf("the answer of a server has no form that is known")}
}

// drop gives the memory of an answer back that nobody wants.
func drop(t etf.Term) {
	if tuple, ok := t.(etf.Tuple); ok && len(tuple) == 2 {
		if b, ok := tuple[1].(*etf.Binary); ok {
			b.Release()
		}
	}
}
