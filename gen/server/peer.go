package server

import (
	"errors"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"github.com/rs/zerolog"

	"nxvk/gen/etf"
	"nxvk/gen/exec/devcopy"
	"nxvk/gen/exec/mesh"
	"nxvk/gen/link"
	"nxvk/gen/wire"
	"nxvk/node/dist"
)

var errNotPeer = errors.New("nxvk_peer answers other nxvk-nodes; clients call nxvk and the device servers")

// Peer is the gen_server that answers other nodes: package link calls it. It answers on the goroutine that has read the
// call, however busy the devices are.
type Peer struct {
	act.Actor
	direct  func(pid gen.PID, name gen.Atom, in dist.Inbox) (stop func())
	stop    func()
	servers *Servers // of this node
	log     zerolog.Logger
}

// NewPeer returns a factory of the actor for Ergo. servers are those of its node, which reach others; direct and cut are Direct
// and Cut of it.
func NewPeer(servers *Servers, direct func(gen.PID, gen.Atom, dist.Inbox) (stop func()), cut func(gen.Atom), log zerolog.Logger) gen.ProcessFactory {
	servers.meshesOn(nil)
	servers.peers.cut = cut
	return func() gen.ProcessBehavior { return &Peer{direct: direct, servers: servers, log: log} }
}

// Init begins to answer.
func (p *Peer) Init(...any) error {
	p.SetTrapExit(true)
	p.stop = p.direct(p.PID(), link.ServerName, peerInbox{p})
	return nil
}

// HandleMessage answers the calls of processes of this node.
func (p *Peer) HandleMessage(_ gen.PID, message any) error {
	p.handle(message)
	return nil
}

// Terminate ends the answers.
func (p *Peer) Terminate(error) { p.stop() }

// peerInbox receives the messages of other nodes.
type peerInbox struct{ *Peer }

// Put implements dist.Inbox.
func (f peerInbox) Put(message any) (run bool) {
	f.handle(message)
	return false
}

// Run implements dist.Inbox.
func (f peerInbox) Run() {}

func (p *Peer) handle(message any) {
	defer dist.Handled(message)
	defer func() {
		if r := recover(); r != nil {
			failure := internalFailure(p.log, r)
			if c, ok := message.(dist.Call); ok {
				p.reply(c, failure)
			}
		}
	}()
	switch m := message.(type) {
	case dist.Refused:
		if c, ok := m.Call(); ok {
			p.reply(c, wire.Failure(tooLong(m)))
		}
	case dist.Message:
		if n, ok := readNotice(m.Term); ok {
			meshes := p.servers.meshesOn(nil)
			if p.servers.peers.heard(n.Node, m.Sender.Node) {
				meshes.Notify(n)
			}
		}
	case dist.Call:
		p.answer(m)
	}
}

// reply answers a call. The caller may be gone.
func (p *Peer) reply(c dist.Call, result etf.Term) (sent bool) {
	return p.Send(c.From, dist.NewReply(c, result)) == nil
}

func (p *Peer) answer(c dist.Call) {
	if c.Request == etf.Term(link.Alive) {
		p.reply(c, wire.OK)
		return
	}
	t, ok := c.Request.(etf.Tuple)
	switch {
	case ok && len(t) == 3 && t[0] == etf.Term(etf.Atom("meet")):
		p.reply(c, meet(t))
	case ok && len(t) == 4 && t[0] == etf.Term(etf.Atom("chunk")):
		p.serve(c, t)
	default:
		p.reply(c, wire.Failure(&wire.Fault{Kind: wire.BadRequest, Err: errNotPeer}))
	}
}

// serve answers a node that asks for a chunk, once there is one.
func (p *Peer) serve(c dist.Call, t etf.Tuple) {
	where, ok := readWhere(t[1])
	at, isNumber := t[2].(int64)
	chunk := number(t[3])
	if !ok || !isNumber || at < mesh.All || chunk < 0 {
		p.reply(c, wire.Failure(errNotMesh))
		return
	}
	p.servers.meshesOn(nil).Serve(mesh.Ask{Where: where, At: int(at), Chunk: chunk}, func(k devcopy.Chunk, err error) {
		if err != nil {
			p.reply(c, wire.Failure(err))
			return
		}
		out := etf.NewOutside(k.Bytes, k.Release)
		if !p.reply(c, wire.Success(out)) {
			out.Release()
		}
	})
}
