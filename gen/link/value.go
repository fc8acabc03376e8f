package link

import (
	"errors"
	"sync"

	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/wire"
	"nxvk/ops"
)

var errSize = errors.New("another node has sent a chunk of another size than it was asked for")

const (
	// chunkBytes is the size of the chunks in which a value is downloaded.
	chunkBytes = 4 << 20
	// window is how many of them are asked for at a time.
	window = 4
)

// Value is a value of another node on its way here. It is read as any client reads it, by a process of its own, whose
// session there imports it.
type Value struct {
	client *Client
	server string
	typ    ops.Type

	mu      sync.Mutex
	deliver func(devcopy.Chunk, error)
	next    int // the element that is asked for next
	left    int // elements that have not come
	over    bool
}

// its is the id of the value in the session of the client.
const its = int64(1)

// Import asks another node for a value of a type. offered is called once, on any goroutine, when the value is made, or
// with an error.
func (l *Links) Import(s *wire.Shared, t ops.Type, offered func(*Value, error)) {
	c, err := l.Client(s.Node)
	if err != nil {
		go offered(nil, err)
		return
	}
	v := &Value{client: c, server: s.Server, typ: t, left: t.Size()}
	shape := make(etf.Tuple, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = n
	}
	shared := etf.Tuple{etf.Atom("shared"), etf.Atom(s.Server), s.Incarnation, s.Owner, s.Key, uint64(s.ID)}
	c.Send(s.Server, etf.Tuple{etf.Atom("nxvk"), etf.List{etf.Tuple{
		etf.Atom("import"), etf.List{etf.Tuple{its, etf.Atom(t.DType.String()), shape}}, etf.List{shared}, etf.List(nil)}}})
	c.Call(s.Server, etf.Tuple{etf.Atom("describe"), its}, func(_ etf.Term, err error) {
		if err != nil {
			c.Close()
			offered(nil, err)
			return
		}
		offered(v, nil)
	})
}

// Start sends the value. deliver gets all its chunks, in any order and on any goroutine, or an error, after which nothing
// comes.
func (v *Value) Start(_ bool, deliver func(devcopy.Chunk, error)) {
	v.mu.Lock()
	v.deliver = deliver
	v.mu.Unlock()
	for range window {
		v.ask()
	}
}

// ask asks for the next chunk.
func (v *Value) ask() {
	size := v.typ.DType.Size()
	v.mu.Lock()
	at, n := v.next, min(max(1, chunkBytes/size), v.typ.Size()-v.next)
	if v.over || n <= 0 {
		v.mu.Unlock()
		return
	}
	v.next += n
	v.mu.Unlock()
	v.client.Call(v.server, etf.Tuple{etf.Atom("download"), its, at, n}, func(reply etf.Term, err error) {
		var c devcopy.Chunk
		if err == nil {
			c, err = Bytes(reply)
		}
		if c.Offset = at * size; err == nil && len(c.Bytes) != n*size {
			c.Release()
			err = &wire.Fault{Kind: wire.Internal, Err: errSize}
		}
		v.arrived(c, n, err)
	})
}

// arrived passes a chunk on.
func (v *Value) arrived(c devcopy.Chunk, n int, err error) {
	v.mu.Lock()
	over := v.over
	v.left -= n
	v.over = over || err != nil || v.left == 0
	ended := v.over
	v.mu.Unlock()
	switch {
	case over && err == nil:
		c.Release()
		return
	case over:
		return
	}
	if ended {
		v.client.Close()
	}
	if err == nil {
		free := c.Release
		c.Release = func() {
			free()
			v.ask()
		}
	}
	v.deliver(c, err)
}

// Stop ends the sending. What is on its way is dropped.
func (v *Value) Stop() {
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	v.client.Close()
}
