package server

import (
	"errors"
	"fmt"
	"sync"

	"ergo.services/ergo/gen"

	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/link"
	"nxvk/gen/wire"
	"nxvk/ops/terms"
)

// peers are the meshes of other nodes, over the links of this one. It implements mesh.Peers.
type peers struct {
	links *link.Links

	cut func(node gen.Atom) // ends a connection that a node has made to this one

	mu      sync.Mutex
	talks   map[string]gen.Atom     // by node: the name by which its links talk to this one
	clients map[string]*link.Client // by node: what is told and asked of a node goes through one, in order
}

// client returns the process that talks to a node.
func (p *peers) client(node string) (*link.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[node]; c != nil && !c.Ended() {
		return c, nil
	}
	for name, c := range p.clients { // a client may name nodes that are not there, and always others
		if c.Ended() {
			c.Close()
			delete(p.clients, name)
		}
	}
	c, err := p.links.Client(node)
	if err != nil {
		return nil, err
	}
	p.clients[node] = c
	return c, nil
}

// heard notes by which name a node talks to this one. It reports false where that name is of another host: the
// links of a node have its host.
func (p *peers) heard(node string, from gen.Atom) bool {
	if gen.Atom(node).Host() != from.Host() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.talks[node]; !known && len(p.talks) >= wire.MaxRanks {
		for one := range p.talks { // a mesh has no more nodes; others are not cut off, and end by themselves
			delete(p.talks, one)
			break
		}
	}
	p.talks[node] = from
	return true
}

// Cut implements mesh.Peers: answers on their way to a node that hangs hold memory of values.
func (p *peers) Cut(node string) {
	p.mu.Lock()
	from, ok := p.talks[node]
	delete(p.talks, node)
	p.mu.Unlock()
	if ok && p.cut != nil {
		p.cut(from)
	}
}

// Self implements mesh.Peers.
func (p *peers) Self() string { return string(p.links.Self()) }

// Watch implements mesh.Peers.
func (p *peers) Watch(node string, ended func(error)) (stop func()) {
	return p.links.Watch(node, ended)
}

// Meet implements mesh.Peers.
func (p *peers) Meet(node string, done func(error)) {
	c, err := p.client(node)
	if err != nil {
		done(err)
		return
	}
	c.Call(string(link.ServerName), etf.Tuple{etf.Atom("meet"), Version(), terms.Digest()}, func(_ etf.Term, err error) { done(err) })
}

// Tell implements mesh.Peers.
func (p *peers) Tell(node string, n mesh.Notice) {
	c, err := p.client(node)
	if err != nil {
		return // whoever waits for the node watches it
	}
	failure := etf.Term(etf.Atom("nil"))
	if n.Err != nil {
		failure = wire.ErrorTerm(n.Err)
	}
	c.Send(string(link.ServerName), etf.Tuple{etf.Atom("nxvk_mesh"), int(n.Event), whereTerm(n.Where), etf.Atom(n.Node), n.Rank, n.What, failure})
}

// Ask implements mesh.Peers.
func (p *peers) Ask(node string, a mesh.Ask, done func(devcopy.Chunk, error)) {
	c, err := p.client(node)
	if err != nil {
		done(devcopy.Chunk{}, err)
		return
	}
	c.Call(string(link.ServerName), etf.Tuple{etf.Atom("chunk"), whereTerm(a.Where), a.At, a.Chunk}, func(reply etf.Term, err error) {
		if err != nil {
			done(devcopy.Chunk{}, err)
			return
		}
		done(link.Bytes(reply))
	})
}

// whereTerm is {Mesh, Named, Turn, Seq, Group}.
func whereTerm(w mesh.Where) etf.Term {
	group := make(etf.List, len(w.Group))
	for i, r := range w.Group {
		group[i] = r
	}
	return etf.Tuple{[]byte(w.Mesh), w.Named, w.Turn, w.Seq, group}
}

var errNotMesh = &wire.Fault{Kind: wire.BadRequest, Err: errors.New("no message of a mesh of this version")}

// number reads an integer that is not negative.
func number(t etf.Term) int {
	if n, ok := t.(int64); ok && n >= 0 {
		return int(n)
	}
	return -1
}

// readWhere reads what whereTerm makes.
func readWhere(t etf.Term) (w mesh.Where, ok bool) {
	tuple, ok := t.(etf.Tuple)
	if !ok || len(tuple) != 5 {
		return w, false
	}
	id, ok := tuple[0].([]byte)
	named, err := wire.Key(tuple[1])
	turn, err2 := wire.Key(tuple[2])
	seq := number(tuple[3])
	list, ok2 := tuple[4].(etf.List)
	if !ok || !ok2 || err != nil || err2 != nil || seq < 0 || len(id) > wire.MaxKey || len(list) == 0 || len(list) > wire.MaxRanks {
		return w, false
	}
	w = mesh.Where{Mesh: string(id), Named: named, Turn: turn, Seq: seq}
	for _, r := range list {
		n := number(r)
		if n < 0 || n >= wire.MaxRanks {
			return w, false
		}
		w.Group = append(w.Group, n)
	}
	return w, true
}

// readNotice reads what Tell sends. Rounds of ranks that end have no group.
func readNotice(t etf.Term) (n mesh.Notice, ok bool) {
	tuple, isTuple := t.(etf.Tuple)
	if !isTuple || len(tuple) != 7 || tuple[0] != etf.Term(etf.Atom("nxvk_mesh")) {
		return n, false
	}
	event := mesh.Event(number(tuple[1]))
	where, isWhere := tuple[2].(etf.Tuple)
	if isWhere && len(where) == 5 && (event == mesh.Ended || event == mesh.Left) {
		where = append(etf.Tuple{}, where...)
		where[4] = etf.List{int64(0)}
	}
	n.Where, ok = readWhere(where)
	node, isAtom := tuple[3].(etf.Atom)
	what, isText := tuple[5].([]byte)
	if !ok || !isAtom || !isText || event < mesh.Entered || event > mesh.Left {
		return n, false
	}
	n.Event, n.Node, n.Rank, n.What = event, string(node), number(tuple[4]), string(what)
	if event != mesh.Entered {
		n.Err = wire.ReadError(tuple[6])
	}
	return n, true
}

// meet answers a node that wants to have a mesh with this one.
func meet(t etf.Tuple) etf.Term {
	version, ok := t[1].([]byte)
	digest, ok2 := t[2].([]byte)
	if !ok || !ok2 || string(version) != Version() || string(digest) != terms.Digest() {
		return wire.Failure(&wire.Fault{Kind: wire.BadArgument, Err: fmt.Errorf(
			"this nxvk-node is %s with the op table %s, the other one %s with %s: install the same version on all nodes of a mesh",
			Version(), terms.Digest(), version, digest)})
	}
	return wire.OK
}
